//! Names as users know them: of functions of C's, of programs, of command lines.

use std::os::unix::fs::symlink;
use std::process::Command;

use profundo_testing::python;
use serde_json::Value;

use crate::machine::{Folder, SPIN_C, c_program};

const SORT: &str = "
import time
def sort(values):
    return sorted(values)
values = [str(it) for it in range(100000)]
until = time.process_time() + 0.5
while time.process_time() < until:
    sort(values)
    ','.join(values)
";

fn json(folder: &Folder, words: &[&str]) -> Value {
    serde_json::from_str(&folder.run(words).succeeded().out).unwrap()
}

#[test]
fn functions_of_c_have_the_names_that_python_code_calls_them_by() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    folder.file("sort.py", SORT);
    let python = python.to_str().unwrap();
    folder
        .run(&["record", "-o", "x.profundo", python, "sort.py"])
        .succeeded();
    for name in ["sorted", "builtin_sorted"] {
        let words = ["report", "x.profundo", "functions", "--function", name];
        let report = json(&folder, &[&words[..], &["--json"]].concat());
        let rows = report["functions"].as_array().unwrap();
        let is_sorted = |row: &&Value| row["function"] == "sorted (builtin_sorted)";
        let row = rows
            .iter()
            .find(is_sorted)
            .unwrap_or_else(|| panic!("{report:#}"));
        assert!(row["total_share"].as_f64().unwrap() > 0.99, "{row}");
    }
    for report in ["callers", "callees", "calls", "annotate"] {
        let unknown = folder.run(&["report", "x.profundo", report, "sotred"]);
        assert_eq!(unknown.code, Some(4), "{report}: {unknown:#?}");
    }
    let callers = folder.run(&["report", "x.profundo", "callers", "sorted"]);
    assert!(
        callers.succeeded().out.contains("sort.py:4"),
        "{callers:#?}"
    );
    let folded = folder.run(&["export", "x.profundo", "--to", "collapsed", "-o", "-"]);
    let folded = &folded.succeeded().out;
    assert!(folded.contains(";sorted (builtin_sorted)"), "{folded}");
    // Either the method, or what it does nothing but jump to.
    let is_join = |line: &&str| line.contains("str.join (");
    assert!(folded.lines().any(|line| is_join(&line)), "{folded}");
}

#[test]
fn a_program_has_the_name_by_which_it_was_started() {
    let folder = Folder::new();
    let Some(program) = c_program(&folder, "spin", SPIN_C) else {
        return;
    };
    // Without lines, functions are known only by their module.
    let stripped = Command::new("strip").arg("-g").arg(&program).status();
    assert!(stripped.unwrap().success());
    let link = folder.path().join("whirl");
    symlink(&program, &link).unwrap();
    let words = [
        "record",
        "-o",
        "x.profundo",
        "./whirl",
        "0.3",
        "a b",
        "c\nd",
    ];
    folder.run(&words);
    let report = json(&folder, &["report", "x.profundo", "--json"]);
    let command = &report["recording"]["command"];
    assert_eq!(command, "./whirl 0.3 'a b' $'c\\nd'");
    let functions = folder.run(&["report", "x.profundo", "functions"]).out;
    let hot = functions.lines().find(|line| line.contains("  hot  "));
    assert!(
        hot.is_some_and(|line| line.ends_with("  whirl")),
        "{functions}"
    );
}
