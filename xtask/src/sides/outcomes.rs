//! The outcomes of tests, from the XML file of CPython's runner or of pytest.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;
use std::process::ExitStatus;

/// The name of the module as a whole, for a difference that no test explains.
pub const THE_WHOLE: &str = "the whole";

/// Outcomes by the tests' names, and the end of their runner.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcomes {
    tests: BTreeMap<String, String>,
    end: ExitStatus,
}

impl Outcomes {
    /// From the file's text, empty if the runner died, and the runner's exit status.
    pub fn new(xml: &str, end: ExitStatus) -> Self {
        Self::of_tests(tests(xml), end)
    }

    /// From the file, which is not there if the runner died, and the runner's exit status.
    pub fn of_file(xml: &Path, end: ExitStatus) -> Self {
        Self::new(&fs::read_to_string(xml).unwrap_or_default(), end)
    }

    /// From outcomes by the tests' names, and the runner's exit status.
    pub fn of_tests(tests: BTreeMap<String, String>, end: ExitStatus) -> Self {
        Self { tests, end }
    }

    /// The runner's exit status.
    pub fn end(&self) -> ExitStatus {
        self.end
    }

    /// The names of the tests that ran.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tests.keys().map(String::as_str)
    }

    /// True if the runner wrote the file.
    pub fn is_whole(&self) -> bool {
        !self.tests.is_empty()
    }

    /// True if the runner timed out.
    pub fn is_out_of_time(&self) -> bool {
        const BY_TERM: i32 = 124;
        const BY_KILL: i32 = 137;
        [Some(BY_TERM), Some(BY_KILL)].contains(&self.end.code())
    }

    /// The outcome of a test that ran.
    pub fn of(&self, name: &str) -> Option<String> {
        if name == THE_WHOLE {
            return Some(self.end.to_string());
        }
        self.tests.get(name).cloned()
    }

    /// Tests with two outcomes, and both of them; the runner's own exit is among them if no test
    /// explains it.
    pub fn differences(&self, other: &Self) -> BTreeMap<String, (String, String)> {
        let mut differences = BTreeMap::new();
        for name in self.tests.keys().chain(other.tests.keys()) {
            let of = |outcomes: &Self| outcomes.of(name).unwrap_or("did not run".to_owned());
            if of(self) != of(other) {
                differences.insert(name.clone(), (of(self), of(other)));
            }
        }
        if differences.is_empty() && self.end != other.end {
            differences.insert(
                THE_WHOLE.to_owned(),
                (self.end.to_string(), other.end.to_string()),
            );
        }
        differences
    }
}

impl fmt::Display for Outcomes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for outcome in self.tests.values() {
            *counts.entry(outcome).or_default() += 1;
        }
        for (outcome, count) in counts {
            write!(f, "{count} {outcome}, ")?;
        }
        write!(f, "{}", self.end)
    }
}

/// An element without content has passed; a test may occur several times, for its parts.
fn tests(xml: &str) -> BTreeMap<String, String> {
    let mut tests: BTreeMap<String, String> = BTreeMap::new();
    for case in xml.split("<testcase").skip(1) {
        let Some((head, body)) = case.split_once('>') else {
            continue;
        };
        let Some(name) = attribute(head, "name") else {
            continue;
        };
        let name = match attribute(head, "classname") {
            Some(class) => node(&class, &name),
            None => name,
        };
        let outcome = if head.ends_with('/') {
            "passed"
        } else if body.contains("<error") {
            "error"
        } else if body.contains("<failure") {
            "failed"
        } else if body.contains("<skipped") {
            "skipped"
        } else {
            "passed"
        };
        // The worst part counts, by the order of the words.
        let known = tests.entry(name).or_insert(outcome.to_owned());
        if rank(outcome) > rank(known) {
            outcome.clone_into(known);
        }
    }
    tests
}

/// The value of an attribute. Its text has no `>` of its own.
fn attribute(head: &str, name: &str) -> Option<String> {
    let (_, rest) = head.split_once(&format!(" {name}=\""))?;
    let (value, _) = rest.split_once('"')?;
    Some(unescaped(value))
}

/// The name that pytest takes for a test, `tests/test_a.py::TestB::test_c`, of the class
/// `tests.test_a.TestB`. Files of tests have names in small letters, and classes have not.
fn node(class: &str, name: &str) -> String {
    let is_class = |part: &&str| part.starts_with(|it: char| it.is_ascii_uppercase());
    let parts: Vec<&str> = class.split('.').collect();
    let of_file = parts.iter().take_while(|part| !is_class(part)).count();
    let (file, classes) = parts.split_at(of_file);
    let mut node = format!("{}.py", file.join("/"));
    for part in classes.iter().chain([&name]) {
        node.push_str("::");
        node.push_str(part);
    }
    node
}

fn rank(outcome: &str) -> usize {
    let order = ["passed", "skipped", "failed", "error"];
    order
        .iter()
        .position(|known| *known == outcome)
        .unwrap_or(0)
}

fn unescaped(name: &str) -> String {
    let name = name.replace("&lt;", "<").replace("&gt;", ">");
    let name = name.replace("&#10;", "\n").replace("&#9;", "\t");
    name.replace("&quot;", "\"").replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    const XML: &str = r#"<testsuites tests="3"><testsuite tests="3"><testcase name="a.B.test_one" status="run" result="completed" time="0.1" /><testcase name="a.B.test_two" status="run" result="completed" time="0.1"><skipped>why</skipped></testcase><testcase name="a.B.test_&lt;three&gt;" status="run"><failure type="x">no</failure></testcase></testsuite></testsuites>"#;

    #[test]
    fn outcomes_are_read() {
        let outcomes = Outcomes::new(XML, ExitStatus::from_raw(0));
        let words: Vec<(&str, &str)> = (outcomes.tests.iter())
            .map(|(name, outcome)| (name.as_str(), outcome.as_str()))
            .collect();
        assert_eq!(
            words,
            [
                ("a.B.test_<three>", "failed"),
                ("a.B.test_one", "passed"),
                ("a.B.test_two", "skipped")
            ]
        );
        assert!(outcomes.differences(&outcomes).is_empty());
    }

    #[test]
    fn pytest_names_a_test_by_its_file() {
        let xml = r#"<testsuites name="pytest tests"><testcase classname="tests.test_a.TestB" name="test_c[&lt;x&gt;]" time="0.1" /><testcase classname="tests.test_a" name="test_d" time="0.1"><failure message="no">no</failure></testcase></testsuites>"#;
        let outcomes = Outcomes::new(xml, ExitStatus::from_raw(0));
        let names: Vec<&str> = outcomes.names().collect();
        let expected = [
            "tests/test_a.py::TestB::test_c[<x>]",
            "tests/test_a.py::test_d",
        ];
        assert_eq!(names, expected);
        assert_eq!(outcomes.of(expected[1]).as_deref(), Some("failed"));
    }

    #[test]
    fn differences_are_found() {
        let before = Outcomes::new(XML, ExitStatus::from_raw(0));
        let changed = XML.replace("<failure type=\"x\">no</failure>", "");
        let after = Outcomes::new(&changed, ExitStatus::from_raw(0));
        let differences = before.differences(&after);
        let expected = ("failed".to_owned(), "passed".to_owned());
        assert_eq!(
            differences.into_iter().next(),
            Some(("a.B.test_<three>".to_owned(), expected))
        );
        let died = Outcomes::new("", ExitStatus::from_raw(11));
        assert!(!died.is_whole());
        assert_eq!(before.differences(&died).len(), 3);
    }
}
