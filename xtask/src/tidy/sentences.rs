//! Pages are for readers whose first language is another one: a page's sentences are short on
//! average, and the index of the pages links to each of them.

use super::Finding;
use crate::tree::Text;

/// Words in a sentence, on average over a page.
const MOST_WORDS: usize = 18;

/// Fewer sentences have no meaningful average.
const LEAST_SENTENCES: usize = 5;

const INDEX: &str = "docs/README.md";

/// True if a document is one of the pages for users.
pub fn is_page(path: &str) -> bool {
    path == "README.md"
        || path
            .strip_prefix("docs/")
            .is_some_and(|name| !name.contains('/') && name.ends_with(".md"))
}

pub fn check_length(page: &Text, findings: &mut Vec<Finding>) {
    let (mut words, mut sentences) = (0, 0);
    let mut longest = (0, 0);
    for paragraph in paragraphs(&page.text) {
        for sentence in paragraph.sentences() {
            words += sentence;
            sentences += 1;
            longest = longest.max((sentence, paragraph.line));
        }
    }
    if sentences >= LEAST_SENTENCES && words > sentences * MOST_WORDS {
        let average = words as f64 / sentences as f64;
        let (most, line) = longest;
        let what = format!(
            "{average:.1} words in a sentence, on average, are more than {MOST_WORDS}; the longest one has {most}"
        );
        findings.push(Finding::new(&page.path, line, what));
    }
}

/// The index of the pages links to all of them.
pub fn check_index(documents: &[Text], findings: &mut Vec<Finding>) {
    let Some(index) = documents.iter().find(|document| document.path == INDEX) else {
        return;
    };
    for document in documents {
        let name = document.path.strip_prefix("docs/");
        let Some(name) = name.filter(|_| is_page(&document.path) && document.path != INDEX) else {
            continue;
        };
        if !index.text.contains(&format!("]({name})")) {
            findings.push(Finding::new(
                INDEX,
                0,
                format!("{name} is not in the index"),
            ));
        }
    }
}

/// Prose: a paragraph, or an item of a list.
struct Paragraph {
    /// Its first line, from 1.
    line: usize,
    text: String,
}

impl Paragraph {
    /// The number of words of each sentence.
    fn sentences(&self) -> Vec<usize> {
        let mut all = Vec::new();
        let mut words = 0;
        for word in self.text.split_whitespace() {
            // A dash is not a word.
            words += usize::from(word.chars().any(char::is_alphanumeric));
            let bare = word.trim_end_matches(['*', '_', ')', '"', '”', '`']);
            if bare.ends_with(['.', '!', '?']) && words > 0 {
                all.push(words);
                words = 0;
            }
        }
        if words > 0 {
            all.push(words);
        }
        all
    }
}

/// The prose of a page: no blocks of code, tables, headings or comments. Code in a line is one
/// word, and a link is its text.
fn paragraphs(text: &str) -> Vec<Paragraph> {
    let mut all: Vec<Paragraph> = Vec::new();
    let (mut is_code, mut is_open) = (false, false);
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.starts_with("```") {
            is_code = !is_code;
            is_open = false;
            continue;
        }
        let is_other = ["#", "|", "<!--", "!["]
            .iter()
            .any(|start| line.starts_with(start));
        if is_code || line.is_empty() || is_other {
            is_open = false;
            continue;
        }
        let item = item(line);
        if item.is_some() || !is_open {
            all.push(Paragraph {
                line: index + 1,
                text: String::new(),
            });
            is_open = true;
        }
        if let Some(paragraph) = all.last_mut() {
            paragraph.text.push_str(item.unwrap_or(line));
            paragraph.text.push(' ');
        }
    }
    for paragraph in &mut all {
        paragraph.text = without_code(&without_targets(&paragraph.text));
    }
    all
}

/// The text of a list item.
fn item(line: &str) -> Option<&str> {
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = (number.len() < line.len()).then(|| number.strip_prefix(". "));
    line.strip_prefix("- ")
        .or_else(|| line.strip_prefix("* "))
        .or(numbered.flatten())
}

/// `[text](target)` is `text`.
fn without_targets(text: &str) -> String {
    let mut parts = text.split("](");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(part.split_once(')').map_or("", |(_, rest)| rest));
    }
    out.replace('[', "")
}

/// Code between two backticks is the word `code`.
fn without_code(text: &str) -> String {
    let parts = text.split('`').enumerate();
    parts
        .map(|(number, part)| if number % 2 == 0 { part } else { "code" })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(path: &str, text: &str) -> Text {
        Text {
            path: path.into(),
            text: text.into(),
        }
    }

    fn lengths(text: &str) -> Vec<usize> {
        let all = paragraphs(text);
        all.iter().flat_map(Paragraph::sentences).collect()
    }

    #[test]
    fn sentences_are_counted() {
        assert_eq!(lengths("One two. Three four\nfive!\n\nSix"), [2, 3, 1]);
        assert_eq!(lengths("- One two\n- three\n1. four five six\n"), [2, 1, 3]);
        assert_eq!(
            lengths("See [the other page](a.md#b) for `a b c`. (Well.)"),
            [6, 1]
        );
        assert_eq!(lengths("A – b, c: 1.5 times *more.* So"), [6, 1]);
    }

    #[test]
    fn only_prose_counts() {
        let text = "# A heading of five words\n\n| a | table |\n|---|---|\n\n```sh\nsome code. more\n```\n\
                    <!-- a comment -->\n![a picture](x.svg)\n\nTwo words\n";
        assert_eq!(lengths(text), [2]);
    }

    #[test]
    fn a_page_of_long_sentences_is_found() {
        let of = |words: usize| format!("{}.\n\n", vec!["word"; words].join(" ")).repeat(6);
        let mut findings = Vec::new();
        check_length(&page("docs/a.md", &of(18)), &mut findings);
        assert_eq!(findings, []);
        check_length(&page("docs/a.md", &of(19)), &mut findings);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].what.starts_with("19.0 words"), "{findings:?}");
    }

    #[test]
    fn each_page_is_in_the_index() {
        let index = page("docs/README.md", "[a](a.md)");
        let pages = [
            index,
            page("docs/a.md", ""),
            page("docs/b.md", ""),
            page("README.md", ""),
        ];
        let mut findings = Vec::new();
        check_index(&pages, &mut findings);
        let found: Vec<&str> = findings.iter().map(|finding| &*finding.what).collect();
        assert_eq!(found, ["b.md is not in the index"]);
    }
}
