//! `diff` of real recordings of a program, before and after one known change to its text. The
//! changes are such that a busy machine cannot hide them, nor make them up.

use profundo_testing::{python, skip};
use serde_json::Value;

use crate::machine::Folder;

/// A function for each change, and work that stays.
const PROGRAM: &str = r#"
import sys
import time

KEPT = []
TEXT = "the quick brown fox jumps over the lazy dog " * 8


def allocate(count):
    for i in range(count):
        block = bytearray(100_000)
        block[0] = 1


def words(count):
    total = 0
    for _ in range(count):
        total += len(TEXT.split())
    return total


def store(count):
    with open("out.data", "wb") as out:
        for _ in range(count):
            out.seek(0)
            out.write(b"x" * 65536)
        # The name of a file is looked up while it is open.
        time.sleep(0.5)


def numbers(count):
    best = 0
    for i in range(count):
        best = i * i % 97 or best
    return best


def main(what):
    if what == "memory":
        allocate(300)
    elif what == "calls":
        for _ in range(20):
            words(3)
    elif what == "bytes":
        store(3000)
    else:
        words(40_000)
        numbers(1_000_000)


main(sys.argv[1])
"#;

/// The comparison of the program with what `change` makes of it.
fn difference(
    what: &str,
    record: &[&str],
    change: impl Fn(&str) -> String,
    options: &[&str],
) -> Option<Value> {
    let python = python()?;
    let python = python.to_str().unwrap();
    let folder = Folder::new();
    for (name, text) in [
        ("before.profundo", PROGRAM.to_owned()),
        ("after.profundo", change(PROGRAM)),
    ] {
        folder.file("app.py", &text);
        let (verb, own) = record.split_first().unwrap();
        let words = [
            &[*verb][..],
            own,
            &["-o", name, "--", python, "app.py", what],
        ]
        .concat();
        let outcome = folder.run(&words);
        if outcome.err.contains("not permitted") {
            skip(&outcome.err);
            return None;
        }
        outcome.succeeded();
    }
    let words = [
        &["diff", "before.profundo", "after.profundo", "--json"][..],
        options,
    ]
    .concat();
    let outcome = folder.run(&words);
    Some(serde_json::from_str(&outcome.succeeded().out).unwrap())
}

fn replaced(from: &'static str, to: &'static str) -> impl Fn(&str) -> String {
    move |text| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    }
}

/// The changed rows of a table.
fn rows<'a>(difference: &'a Value, by: &str) -> Vec<&'a Value> {
    let tables = difference["tables"].as_array().unwrap();
    let table = tables.iter().find(|table| table["by"] == by).unwrap();
    table["rows"].as_array().unwrap().iter().collect()
}

fn line_of(text: &str) -> u64 {
    let lines = PROGRAM.lines().position(|line| line.contains(text));
    lines.unwrap() as u64 + 1
}

#[test]
fn a_leak_is_the_line_that_allocates_what_is_kept() {
    let change = replaced("block[0] = 1", "KEPT.append(block)");
    let Some(found) = difference("memory", &["record", "--memory"], change, &["--of", "live"])
    else {
        return;
    };
    let first = rows(&found, "line")[0];
    let place = &first["place_after"];
    assert_eq!(place["line"], line_of("bytearray(100_000)"), "{found:#}");
    // It is there before, and keeps nothing.
    assert_eq!(first["what"], "same", "{found:#}");
    let grown = first["self_change"].as_f64().unwrap();
    assert!((15e6..60e6).contains(&grown), "{found:#}");
}

#[test]
fn one_more_allocation_is_exactly_its_bytes() {
    let change = replaced("block[0] = 1", "more = bytes(50_000)");
    let Some(found) = difference(
        "memory",
        &["record", "--memory=exact"],
        change,
        &["--of", "allocated"],
    ) else {
        return;
    };
    let first = rows(&found, "line")[0];
    assert_eq!(
        first["place_after"]["line"],
        line_of("block[0] = 1"),
        "{found:#}"
    );
    let grown = first["self_change"].as_f64().unwrap();
    // With the header of each.
    assert!(
        (300.0 * 50_000.0..300.0 * 50_200.0).contains(&grown),
        "{found:#}"
    );
    let whole = &found["whole"]["change"];
    assert!(
        (whole.as_f64().unwrap() - grown).abs() < 0.02 * grown,
        "{found:#}"
    );
}

#[test]
fn twice_the_calls_are_counted() {
    let change = replaced("range(20)", "range(40)");
    let Some(found) = difference("calls", &["trace"], change, &["--by", "calls"]) else {
        return;
    };
    let changed = rows(&found, "calls");
    let words = changed.iter().find(|row| row["name"] == "words");
    let words = words.unwrap_or_else(|| panic!("{found:#}"));
    assert_eq!(
        [&words["self_before"], &words["self_after"]].map(Value::as_f64),
        [Some(20.0), Some(40.0)]
    );
    for row in changed {
        // The methods that it calls, and nothing else.
        let name = row["name"].as_str().unwrap();
        assert!(
            ["words", "split", "len"].iter().any(|of| name.contains(of)),
            "{found:#}"
        );
    }
}

#[test]
fn ten_times_the_bytes_are_those_of_the_file() {
    let change = replaced("store(3000)", "store(30_000)");
    let Some(found) = difference("bytes", &["record", "--wall"], change, &["--by", "io"]) else {
        return;
    };
    let rows = rows(&found, "io");
    let row = rows.iter().find(|row| {
        let name = row["name"].as_str().unwrap();
        name.ends_with("out.data")
    });
    let row = row.unwrap_or_else(|| panic!("{found:#}"));
    let figure = |key: &str| row[key].as_f64().unwrap();
    // Few samples may be near the bytes of other files.
    let wanted = 27_000.0 * 65_536.0;
    assert!(
        (figure("self_change_low")..figure("self_change_high")).contains(&wanted),
        "{found:#}"
    );
}

#[test]
fn a_function_that_stands_elsewhere_is_the_same() {
    let change = |text: &str| {
        let at = text.find("def numbers").unwrap();
        let end = text.find("def main").unwrap();
        let function = &text[at..end];
        let rest = text.replacen(function, "", 1);
        rest.replacen("def allocate", &format!("{function}def allocate"), 1)
    };
    let Some(found) = difference("time", &["record"], change, &["--by", "line,function"]) else {
        return;
    };
    for row in [rows(&found, "line"), rows(&found, "function")].concat() {
        let what = row["what"].as_str().unwrap();
        assert!(!["new", "gone"].contains(&what), "{found:#}");
    }
}
