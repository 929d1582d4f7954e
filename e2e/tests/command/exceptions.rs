//! Exceptions of Python programs: each is counted where its mark in the source says, and the
//! program does what it does without the profiler.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use profundo_testing::{profundo, pythons};
use serde_json::Value;

use crate::calls::{report, run, text, traced};
use crate::program::alone;
use crate::targets::{c, pythons_for, scratch, source};

/// A line that raises, a type, and an end: the number of a line, or a word.
type Row = (u64, String, String);

/// The exceptions by the marks of a source file.
fn marked(file: &Path, goal: &str) -> BTreeMap<Row, u64> {
    let source = std::fs::read_to_string(file).unwrap();
    let marks = || {
        let lines = (1_u64..).zip(source.lines());
        let marked = lines.filter_map(|(number, line)| Some((number, line.split_once("#: ")?.1)));
        marked.flat_map(|(number, marks)| marks.split("; ").map(move |mark| (number, mark)))
    };
    let places: BTreeMap<&str, u64> = marks()
        .filter_map(|(number, mark)| Some((mark.strip_prefix("at ")?, number)))
        .collect();
    let mut rows = BTreeMap::new();
    for (number, mark) in marks().filter(|(_, mark)| !mark.starts_with("at ")) {
        let (count, rest) = mark.split_once(' ').unwrap();
        let (kind, end) = rest.split_once(" -> ").unwrap();
        // Some are for one way to call the program.
        let (end, is_meant) = match end.split_once(" if ") {
            Some((end, of)) => (end, of == goal),
            None => (end, true),
        };
        if is_meant {
            let end = places.get(end).map_or(end.to_owned(), u64::to_string);
            *rows.entry((number, kind.to_owned(), end)).or_default() +=
                count.parse::<u64>().unwrap();
        }
    }
    rows
}

/// The exceptions of a file by a report.
fn counted(report: &Value, file: &str) -> BTreeMap<Row, u64> {
    let is_of = |place: &Value| place["file"].as_str().unwrap_or_default().ends_with(file);
    let mut rows = BTreeMap::new();
    for row in report["exceptions"].as_array().unwrap() {
        let raised = &row["raised_by"];
        if !is_of(raised) {
            continue;
        }
        let end = match (row["end"].as_str().unwrap(), &row["caught_by"]) {
            ("caught", caught) if is_of(caught) => caught["line"].to_string(),
            ("caught", _) => "elsewhere".to_owned(),
            (end, _) => end.to_owned(),
        };
        let kind = row["type"].as_str().unwrap().to_owned();
        let key = (raised["line"].as_u64().unwrap(), kind, end);
        *rows.entry(key).or_default() += row["count"].as_u64().unwrap();
    }
    rows
}

/// The rows of one that the other has not.
fn differences(expected: &BTreeMap<Row, u64>, counted: &BTreeMap<Row, u64>) -> Vec<String> {
    let all: std::collections::BTreeSet<&Row> = expected.keys().chain(counted.keys()).collect();
    let differs = all.into_iter().filter_map(|row| {
        let (expected, counted) = (expected.get(row), counted.get(row));
        (expected != counted).then(|| format!("{row:?}: {counted:?}, not {expected:?}"))
    });
    differs.collect()
}

fn check(python: &Path, options: &[&str], words: &[&str]) -> Value {
    let mut all = vec!["--exceptions"];
    all.extend(options);
    let (recording, _) = traced(python, &all, words);
    let report = report(&recording, "exceptions");
    let expected = marked(&source(words[0]), words.get(1).copied().unwrap_or_default());
    let counted = counted(&report, words[0]);
    assert!(expected.len() >= 5);
    let differences = differences(&expected, &counted);
    let python = python.display();
    assert!(differences.is_empty(), "{python}: {differences:#?}");
    report
}

#[test]
fn exceptions_are_counted_as_they_are_marked() {
    // Each version reports them in its own way.
    for version in pythons() {
        let _alone = alone();
        let report = check(&version.path, &["--limit", "1"], &["exceptions.py", "exit"]);
        let sum = |name: &str| report[name].as_u64().unwrap();
        assert_eq!(sum("raised"), sum("caught") + sum("left") + sum("unseen"));
        assert_eq!(report["rows_left_out"], 0);
    }
}

#[test]
fn an_exception_that_ends_the_program_has_left_it() {
    for version in pythons_for("exceptions.py, an end") {
        let _alone = alone();
        check(&version.path, &[], &["exceptions.py", "error"]);
    }
}

/// Up to 3.9 nothing shows that the outer one gets an exception from the inner one.
#[test]
fn of_two_withs_the_one_that_suppresses_catches() {
    for version in pythons().iter().filter(|python| python.version >= (3, 10)) {
        let _alone = alone();
        check(&version.path, &[], &["exceptions.py", "nested"]);
    }
}

/// Lines are counted as well, as without exceptions.
#[test]
fn exceptions_and_lines_are_counted_together() {
    for version in pythons_for("exceptions.py, with lines") {
        let _alone = alone();
        let lines_of = |options: &[&str]| {
            let (recording, _) = traced(&version.path, options, &["calls.py"]);
            report(&recording, "lines")["functions"].clone()
        };
        let hits = |functions: &Value| -> Vec<(Value, Vec<(Value, Value)>)> {
            let functions = functions.as_array().unwrap().iter();
            functions
                .map(|function| {
                    let lines = function["lines"].as_array().unwrap().iter();
                    let lines = lines.map(|line| (line["line"].clone(), line["hits"].clone()));
                    (function["function"].clone(), lines.collect())
                })
                .collect()
        };
        let alone = lines_of(&["--lines"]);
        let both = lines_of(&["--lines", "--exceptions"]);
        assert!(hits(&alone).len() > 10);
        assert_eq!(hits(&alone), hits(&both));
        check(&version.path, &["--lines"], &["exceptions.py", "exit"]);
    }
}

#[test]
fn groups_of_exceptions_count() {
    for version in pythons().iter().filter(|python| python.version >= (3, 11)) {
        let _alone = alone();
        check(&version.path, &[], &["exception_groups.py"]);
    }
}

#[test]
fn a_native_program_is_told_that_only_python_counts() {
    let Some(program) = c("exits.c", &[]) else {
        return;
    };
    let recording = scratch().join("exceptions.native.profundo");
    let mut command = Command::new(profundo());
    command
        .args(["trace", "--exceptions", "-o"])
        .arg(&recording);
    let output = run(command.arg("--").arg(program));
    let said = text(&output.stderr);
    assert!(
        said.contains("only Python's exceptions are counted"),
        "{said}"
    );
    assert!(said.contains("No exceptions were counted."), "{said}");
}

/// A shell before, between and after: it has no interpreter, and its children begin as forks.
#[test]
fn exceptions_are_counted_below_a_shell() {
    const SCRIPT: &str = r#"true; "$0" "$1" exit; first=$?
"$0" "$1" exit | cat >&2; (exit 5); echo "$first $?""#;
    for version in pythons_for("exceptions.py below a shell") {
        let _alone = alone();
        let file = source("exceptions.py");
        let recording = scratch().join("exceptions.shell.profundo");
        let words = ["sh".as_ref(), "-c".as_ref(), SCRIPT.as_ref()];
        let words = words.into_iter().chain([version.path.as_path(), &file]);
        let words: Vec<&Path> = words.collect();
        let plain = run(Command::new(words[0]).args(&words[1..]));
        let mut command = Command::new(profundo());
        command.args(["trace", "--exceptions", "--limit", "1", "-o"]);
        let output = run(command.arg(&recording).arg("--").args(&words));
        assert_eq!(
            (output.status, &output.stdout),
            (plain.status, &plain.stdout)
        );
        let expected = marked(&file, "exit");
        let twice: BTreeMap<Row, u64> = (expected.into_iter())
            .map(|(row, count)| (row, 2 * count))
            .collect();
        let counted = counted(&report(&recording, "exceptions"), "exceptions.py");
        let differences = differences(&twice, &counted);
        assert!(differences.is_empty(), "{version:?}: {differences:#?}");
    }
}
