//! The form of a source file: it opens with its idea, holds one idea, and is finished.

use std::fs;
use std::path::Path;

use super::Finding;
use crate::tree::Text;

/// More lines than this mean two ideas in a file.
const MOST_LINES: usize = 800;

/// Files that may be longer, each with the reason: a table of constants, or tests of one subject.
const MAY_BE_LONG: &[(&str, &str)] = &[];

/// Marks of unfinished work, assembled here so that this file has none.
const UNFINISHED: &[&str] = &[
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("dbg", "!("),
];

/// Every Rust file opens with `//!`.
pub fn check_header(source: &Text, findings: &mut Vec<Finding>) {
    if !source.text.starts_with("//!") {
        findings.push(Finding::new(
            &source.path,
            1,
            "a file opens with its idea, in //!",
        ));
    }
}

pub fn check_length(source: &Text, findings: &mut Vec<Finding>) {
    let lines = source.text.lines().count();
    if lines > MOST_LINES && !MAY_BE_LONG.iter().any(|(path, _)| *path == source.path) {
        let what = format!(
            "{lines} lines are more than {MOST_LINES}: split the file, or list it with a reason in \
             xtask/src/tidy/sources.rs"
        );
        findings.push(Finding::new(&source.path, 0, what));
    }
}

/// The list of exemptions names only existing files that need one.
pub fn check_exemptions(root: &Path, findings: &mut Vec<Finding>) {
    for (path, _) in MAY_BE_LONG {
        let lines = fs::read_to_string(root.join(path)).map_or(0, |text| text.lines().count());
        if lines <= MOST_LINES {
            let what = format!("{path} needs no exemption any more: it has {lines} lines");
            findings.push(Finding::new("xtask/src/tidy/sources.rs", 0, what));
        }
    }
}

pub fn check_unfinished(text: &Text, findings: &mut Vec<Finding>) {
    for (index, line) in text.text.lines().enumerate() {
        for word in UNFINISHED {
            if has_word(line, word) {
                let what = format!("{word} is unfinished business: finish it, or leave it out");
                findings.push(Finding::new(&text.path, index + 1, what));
            }
        }
    }
}

/// A test that is not run every day is a long one whose subject has a shorter test, and says so:
/// `cargo xtask test --long` runs all that are ignored.
pub fn check_ignored(source: &Text, findings: &mut Vec<Finding>) {
    for (index, line) in source.text.lines().enumerate() {
        let line = line.trim_start();
        if line.starts_with("#[ignore") && !line.starts_with("#[ignore = \"long: ") {
            let what = "a test is ignored only as `long: ` and what it does for how long";
            findings.push(Finding::new(&source.path, index + 1, what));
        }
    }
}

fn has_word(line: &str, word: &str) -> bool {
    let is_inner = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(is_inner) && (word.ends_with('(') || !after.is_some_and(is_inner))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Text {
        Text {
            path: "a.rs".into(),
            text: text.into(),
        }
    }

    fn lines(check: impl Fn(&Text, &mut Vec<Finding>), source: &str) -> Vec<usize> {
        let mut findings = Vec::new();
        check(&text(source), &mut findings);
        findings.into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_file_opens_with_its_idea() {
        assert_eq!(lines(check_header, "//! An idea.\n"), [0; 0]);
        assert_eq!(lines(check_header, "use std::fs;\n"), [1]);
        assert_eq!(lines(check_header, ""), [1]);
    }

    #[test]
    fn a_file_is_not_too_long() {
        assert_eq!(lines(check_length, &"\n".repeat(800)), [0; 0]);
        assert_eq!(lines(check_length, &"\n".repeat(801)), [0]);
    }

    #[test]
    fn only_long_tests_are_ignored() {
        let source =
            "#[ignore = \"long: forks for a minute\"]\n    #[ignore]\n#[ignore = \"flaky\"]\n";
        assert_eq!(lines(check_ignored, source), [2, 3]);
    }

    #[test]
    fn unfinished_business_is_found() {
        let [later, wrong, mark, print] = UNFINISHED else {
            panic!("four words")
        };
        let source = format!("fine\n// {later}: more\nlet a = {print}b);\n{wrong} {mark}\n");
        assert_eq!(lines(check_unfinished, &source), [2, 3, 4, 4]);
        // Not inside a word.
        assert_eq!(
            lines(check_unfinished, &format!("MA{later} {later}S _{mark}")),
            [0; 0]
        );
    }
}
