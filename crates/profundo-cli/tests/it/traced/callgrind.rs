//! `callgrind_annotate`, which reads what KCachegrind reads.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use profundo_testing::skip;
use serde_json::Value;

use super::tools::{callgrind_annotate, printed};
use super::{exported, saved};
use crate::machine::Folder;

/// The figures of functions by what `callgrind_annotate` calls them: `file:name`.
fn annotated(program: &Path, file: &Path, inclusive: &str) -> BTreeMap<String, u64> {
    let mut command = Command::new(program);
    command.args(["--threshold=100", "--show-percs=no", inclusive]);
    let text = printed(command.arg(file));
    let (_, table) = text.split_once("file:function").expect("a table");
    let rows = table
        .lines()
        .skip(2)
        .take_while(|row| !row.trim().is_empty());
    rows.map(|row| {
        let (figure, name) = row.trim().split_once(' ').expect("a figure and a name");
        let name = name.trim().strip_suffix(" []").unwrap_or(name.trim());
        (name.to_owned(), figure.replace(',', "").parse().unwrap())
    })
    .collect()
}

/// The JSON of `report trace`.
fn trace_report(folder: &Folder) -> Value {
    let json = folder.run(&["report", "app.profundo", "trace", "--json"]);
    serde_json::from_str(&json.out).unwrap()
}

#[test]
fn callgrind_annotate_finds_the_same_times() {
    let Some(program) = callgrind_annotate() else {
        return skip("callgrind_annotate is not installed (apt install valgrind)");
    };
    let (folder, _) = saved();
    let file = exported(&folder, "callgrind");
    let json = trace_report(&folder);
    let functions = json["groups"][0]["functions"].as_array().unwrap();
    // Names that one file has twice go with their line.
    let name = |function: &Value| {
        let name = function["function"].as_str().unwrap();
        let file = function["file"].as_str();
        let same = |other: &&Value| {
            other["function"] == function["function"] && other["file"] == function["file"]
        };
        match (file, functions.iter().filter(same).count()) {
            (None, _) => format!("???:<{name}>"),
            (Some(file), 1) => format!("{file}:{name}"),
            (Some(file), _) => format!("{file}:{name}:{}", function["line"]),
        }
    };
    let nanos =
        |function: &Value, key: &str| (function[key].as_f64().unwrap() * 1e9).round() as u64;
    for (option, key) in [
        ("--inclusive=no", "self_seconds"),
        ("--inclusive=yes", "total_seconds"),
    ] {
        let mut ours: BTreeMap<String, u64> = (functions.iter())
            .map(|function| (name(function), nanos(function, key)))
            .collect();
        let mut theirs = annotated(program, &file, option);
        // The entry for the callers of the roots.
        let all = theirs.remove("???:<program>");
        let whole = nanos(&json["groups"][0]["all"], "self_seconds");
        assert!([None, Some(0), Some(whole)].contains(&all), "{all:?}");
        ours.retain(|_, figure| *figure > 0);
        theirs.retain(|_, figure| *figure > 0);
        assert_eq!(ours, theirs, "{option}");
    }
}

#[test]
fn calls_have_the_counts_of_the_report() {
    let (folder, _) = saved();
    let text = std::fs::read_to_string(exported(&folder, "callgrind")).unwrap();
    let json = trace_report(&folder);
    let functions = json["groups"][0]["functions"].as_array().unwrap();
    let mut theirs: Vec<u64> = (text.lines())
        .filter_map(|line| line.strip_prefix("calls="))
        .map(|line| line.split_once(' ').unwrap().0.parse().unwrap())
        .collect();
    let mut ours: Vec<u64> = functions
        .iter()
        .flat_map(|function| function["callees"].as_array().unwrap())
        .map(|callee| callee["calls"].as_u64().unwrap() + callee["resumes"].as_u64().unwrap())
        .collect();
    // `<module>` has no caller in some calls, and has one in others.
    let roots: u64 = functions
        .iter()
        .map(|function| {
            let count = |callee: &Value| {
                callee["calls"].as_u64().unwrap() + callee["resumes"].as_u64().unwrap()
            };
            count(function)
                - function["callers"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(count)
                    .sum::<u64>()
        })
        .sum();
    ours.push(roots);
    ours.sort_unstable();
    theirs.sort_unstable();
    assert_eq!(ours, theirs);
}
