//! The prose of comments: the field's own words, docs that say something, lines of 100 columns.
//!
//! The rule holds everywhere but for [`HELP_TEXTS`].

mod comments;

use self::comments::{Comment, blocks};
use super::Finding;
use crate::tree::Text;

/// Options of commands: their docs are the help texts, which clap wraps and users read.
const HELP_TEXTS: &[&str] = &[
    "crates/profundo-bench-command/src/options.rs",
    "crates/profundo-cli/src/options/",
    "crates/profundo-console/src/options/",
    "crates/profundo-top/src/options.rs",
];

/// The width of code, by rustfmt.
const MOST_COLUMNS: usize = 100;

/// Words for people in place of the thing that acts, each with a better one.
const PEOPLE: &[(&str, &str)] = &[
    ("nobody", "name the thing that is missing"),
    ("whoever", "name the caller, the reader, the process"),
];

/// Pronouns that make a person of `who`.
const HE: &[&str] = &["he", "him", "his"];

/// Words that say nothing of an item by themselves.
const HOLLOW: &[&str] = &[
    "a", "above", "after", "again", "all", "also", "an", "and", "any", "are", "as", "at", "be",
    "before", "below", "both", "by", "each", "either", "for", "from", "here", "how", "in", "is",
    "it", "its", "more", "neither", "no", "none", "not", "of", "on", "one", "ones", "or", "other",
    "others", "same", "see", "so", "some", "such", "that", "the", "theirs", "them", "there",
    "these", "they", "this", "those", "to", "too", "was", "were", "what", "when", "where", "which",
    "who", "whose", "why", "with",
];

/// Comments use the field's words, say something, and fit the width.
pub fn check(source: &Text, findings: &mut Vec<Finding>) {
    if HELP_TEXTS.iter().any(|path| source.path.starts_with(path)) {
        return;
    }
    for block in blocks(&source.text) {
        check_block(&source.path, &block, findings);
    }
}

fn check_block(path: &str, block: &[Comment<'_>], findings: &mut Vec<Finding>) {
    let mut find = |line, what: String| findings.push(Finding::new(path, line, what));
    for paragraph in paragraphs(block) {
        let words = words(&paragraph);
        for &(line, ref word) in &words {
            if let Some((_, better)) = PEOPLE.iter().find(|(bad, _)| bad == word) {
                find(line, format!("`{word}` in a comment: {better}"));
            }
        }
        if let Some(line) = who_he(&words) {
            find(
                line,
                "`who … he` in a comment: name the thing that acts".into(),
            );
        }
        for line in paragraph {
            if line.width() > MOST_COLUMNS && !line.text.contains("://") {
                let what = format!("{} columns are more than {MOST_COLUMNS}", line.width());
                find(line.line, what);
            }
        }
    }
    if block[0].marker == "///" && block.iter().all(|line| is_hollow(line.text)) {
        find(
            block[0].line,
            "a doc line without a noun: name the thing".into(),
        );
    }
}

/// The paragraphs of a block: adjacent lines of prose, without code, tables and drawings.
fn paragraphs<'a, 'b>(block: &'b [Comment<'a>]) -> Vec<Vec<&'b Comment<'a>>> {
    let mut paragraphs = vec![Vec::new()];
    let mut is_code = false;
    for line in block {
        let text = line.text.trim();
        let is_fence = text.starts_with("```");
        is_code ^= is_fence;
        if is_code || is_fence || text.is_empty() || text.starts_with('|') || is_drawn(text) {
            paragraphs.push(Vec::new());
        } else if let Some(paragraph) = paragraphs.last_mut() {
            paragraph.push(line);
        }
    }
    paragraphs.retain(|paragraph| !paragraph.is_empty());
    paragraphs
}

/// True if a line is a part of a drawing.
fn is_drawn(text: &str) -> bool {
    text.contains(|c| ('\u{2500}'..='\u{257F}').contains(&c))
}

/// The words of a paragraph with their lines, in lower case, without code; `.` ends a sentence.
fn words(paragraph: &[&Comment<'_>]) -> Vec<(usize, String)> {
    let mut words = Vec::new();
    let mut is_code = false;
    for comment in paragraph {
        for (index, part) in comment.text.split('`').enumerate() {
            is_code ^= index > 0;
            if is_code {
                continue;
            }
            for word in part.split_whitespace() {
                let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
                words.push((comment.line, bare.to_lowercase()));
                if word.ends_with(['.', ';', '?', ')']) {
                    words.push((comment.line, ".".into()));
                }
            }
        }
    }
    words
}

/// The line of a `who` that a pronoun of the same sentence takes up.
fn who_he(words: &[(usize, String)]) -> Option<usize> {
    words.split(|(_, word)| word == ".").find_map(|sentence| {
        let at = sentence.iter().position(|(_, word)| word == "who")?;
        let is_he = |(_, word): &(usize, String)| HE.contains(&word.as_str());
        sentence[at..].iter().any(is_he).then_some(sentence[at].0)
    })
}

/// True if a line has pronouns and the like only.
fn is_hollow(text: &str) -> bool {
    let is_inner = |c: char| c.is_alphanumeric() || "`[".contains(c);
    let mut words = text.split(|c| !is_inner(c)).filter(|word| !word.is_empty());
    words.all(|word| HOLLOW.contains(&word.to_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(path: &str, text: &str) -> Vec<(usize, String)> {
        let source = Text {
            path: path.into(),
            text: text.into(),
        };
        let mut findings = Vec::new();
        check(&source, &mut findings);
        findings
            .into_iter()
            .map(|finding| (finding.line, finding.what))
            .collect()
    }

    fn lines(text: &str) -> Vec<usize> {
        at("xtask/src/a.rs", text)
            .into_iter()
            .map(|(line, _)| line)
            .collect()
    }

    #[test]
    fn words_for_people_are_found() {
        assert_eq!(lines("//! Blocks that nobody\n//! frees.\n"), [1]);
        assert_eq!(lines("f(); // Nobody waits.\n"), [1]);
        assert_eq!(lines("//\n// Held by whoever\n// asks.\n"), [2]);
        assert_eq!(lines("// Who waits\n// is woken by his lock.\n"), [1]);
        // Not in code, in strings, in other words, or in the next sentence.
        assert_eq!(lines("// The user `nobody`.\nf(\"// nobody\");\n"), [0; 0]);
        assert_eq!(lines("//! ```\n//! nobody(); // nobody\n//! ```\n"), [0; 0]);
        assert_eq!(lines("// Nobodys. Who waits. He is.\n"), [0; 0]);
    }

    #[test]
    fn a_doc_line_says_something() {
        for text in [
            "Which.",
            "The same.",
            "As above.",
            "It.",
            "Both of them.",
            "",
        ] {
            assert_eq!(lines(&format!("/// {text}\nfn f() {{}}\n")), [1], "{text}");
        }
        for text in [
            "Its size.",
            "As [`f`].",
            "`None`.",
            "31.",
            "The same.\n/// Words.",
        ] {
            assert_eq!(
                lines(&format!("/// {text}\nfn f() {{}}\n")),
                [0; 0],
                "{text}"
            );
        }
        // Comments that are no docs may be as short as they like.
        assert_eq!(lines("// These.\n"), [0; 0]);
    }

    #[test]
    fn comments_fit_the_width_of_code() {
        let long = "word ".repeat(20);
        let fits = "w".repeat(97);
        assert_eq!(
            lines(&format!("// {fits}\n/// {fits}\n//! {fits}\n")),
            [2, 3]
        );
        assert_eq!(lines(&format!("f(); // {fits}\n")), [1]);
        // But for addresses, tables, code and drawings.
        assert_eq!(
            lines(&format!("// https://{long}\n// | {long} |\n")),
            [0; 0]
        );
        assert_eq!(
            lines(&format!("//! ```text\n//! {long}\n//! ```\n")),
            [0; 0]
        );
        assert_eq!(lines(&format!("// ├── {long}\n")), [0; 0]);
    }

    #[test]
    fn help_texts_are_not_checked() {
        let text = "// Nobody.\n";
        assert_eq!(at("crates/profundo/src/lib.rs", text).len(), 1);
        for path in HELP_TEXTS {
            assert_eq!(at(path, text).len(), 0);
        }
    }
}
