//! A page of questions names for each what to search for: the search finds the file that answers,
//! and hardly anything else.

use super::Finding;
use crate::tree::Text;

const PAGE: &str = "docs/design/questions.md";

/// A search with more hits than this answers nothing.
const MOST_HITS: usize = 2;

pub fn check(documents: &[Text], sources: &[Text], findings: &mut Vec<Finding>) {
    let Some(page) = documents.iter().find(|page| page.path == PAGE) else {
        return;
    };
    for (index, line) in page.text.lines().enumerate() {
        let Some((pattern, answer)) = row(line) else {
            continue;
        };
        let hits: Vec<&str> = sources
            .iter()
            .flat_map(|source| {
                let lines = source.text.lines().filter(|line| matches(line, pattern));
                lines.map(|_| source.path.as_str())
            })
            .collect();
        let is_answered = hits.iter().any(|path| path.ends_with(answer));
        if !is_answered || hits.len() > MOST_HITS {
            let what = format!("`{pattern}` is found {} times, in {hits:?}", hits.len());
            findings.push(Finding::new(PAGE, index + 1, what));
        }
    }
}

/// The pattern and the file of a row of the table.
fn row(line: &str) -> Option<(&str, &str)> {
    let (_, rest) = line.split_once("| `rg '")?;
    let (pattern, rest) = rest.split_once("'` | `")?;
    Some((pattern, rest.split_once('`')?.0))
}

/// True if a line has the pattern in it, in which `.` is any one letter and `.*` anything.
fn matches(line: &str, pattern: &str) -> bool {
    let line: Vec<char> = line.chars().collect();
    let pattern: Vec<char> = pattern.chars().collect();
    (0..=line.len()).any(|start| begins_with(line.get(start..).unwrap_or_default(), &pattern))
}

fn begins_with(line: &[char], pattern: &[char]) -> bool {
    match pattern {
        [] => true,
        ['.', '*', rest @ ..] => (0..=line.len())
            .any(|skipped| begins_with(line.get(skipped..).unwrap_or_default(), rest)),
        [wanted, rest @ ..] => match line {
            [found, behind @ ..] if wanted == found || *wanted == '.' => begins_with(behind, rest),
            _ => false,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(path: &str, text: &str) -> Text {
        Text {
            path: path.into(),
            text: text.into(),
        }
    }

    #[test]
    fn a_search_finds_its_answer_and_hardly_anything_else() {
        let page = |rows: &str| [text(PAGE, rows)];
        let sources = [
            text(
                "crates/profundo-a/src/lib.rs",
                "pub fn turn(&mut self)\nfn other()",
            ),
            text("crates/profundo-b/src/lib.rs", "fn other()\nfn other()"),
        ];
        let found = |rows: &str| {
            let mut findings = Vec::new();
            check(&page(rows), &sources, &mut findings);
            findings.len()
        };
        assert_eq!(found("| question | search | answer |\n|---|---|---|"), 0);
        assert_eq!(found("| what? | `rg 'fn turn.&mut'` | `a/src/lib.rs` |"), 0);
        assert_eq!(found("| what? | `rg 'fn t.*self'` | `a/src/lib.rs` |"), 0);
        assert_eq!(found("| what? | `rg 'fn turn'` | `b/src/lib.rs` |"), 1);
        assert_eq!(found("| what? | `rg 'fn gone'` | `a/src/lib.rs` |"), 1);
        assert_eq!(found("| what? | `rg 'fn other'` | `a/src/lib.rs` |"), 1);
    }
}
