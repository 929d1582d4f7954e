//! A process that executes several programs is one process in every number and table.

use std::fs;
use std::process::Command;

use profundo_testing::{profundo, pythons, skip};
use serde_json::Value;

use crate::program::{Program, alone};
use crate::targets::scratch;

const BUSY: &str = "s = 0\nfor i in range(1500000): s += i\n";

/// The report on a shell that becomes `env`, that becomes Python, and that becomes Python once
/// more; beside it a child of the shell. Nothing, and skipped, without a Python.
fn report() -> Option<Value> {
    let Some(version) = pythons().first() else {
        skip("there is no CPython from 3.8 to 3.15");
        return None;
    };
    let python = version.path.display();
    let second_program =
        format!("{BUSY}import os\nos.execv('{python}', ['python3', '-c', '''{BUSY}''', 'last'])");
    let script = "true & exec env \"$0\" -c \"$1\" first".to_owned();
    let arguments = ["-c".to_owned(), script, python.to_string(), second_program];
    let program = Program::new("/bin/sh").with(&arguments);
    let file = scratch().join("execs.profundo");
    let recorded = {
        let _alone = alone();
        program.command(Some(&file)).output().unwrap()
    };
    assert!(recorded.status.success(), "{recorded:?}");
    let output = Command::new(profundo())
        .arg("report")
        .arg(&file)
        .arg("--json")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    fs::remove_file(&file).unwrap();
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

fn rows<'a>(report: &'a Value, table: &str) -> &'a [Value] {
    report[table].as_array().unwrap()
}

fn seconds(row: &Value) -> f64 {
    row["seconds"].as_f64().unwrap()
}

fn sum(rows: &[Value]) -> f64 {
    rows.iter().map(seconds).sum()
}

#[test]
fn a_process_that_executes_others_is_one_row() {
    let Some(report) = report() else { return };
    check_numbers(&report);
    check_programs(&rows(&report, "processes")[0]);
    let by_process = sum(rows(&report, "processes"));
    let by_command = sum(rows(&report, "commands"));
    assert!(
        (by_process - by_command).abs() < 1e-6,
        "{by_process} {by_command}"
    );
}

/// Each table has as many rows as the report counts.
fn check_numbers(report: &Value) {
    let counted = |table: &str| report["recording"][table].as_u64().unwrap() as usize;
    let processes = rows(report, "processes").len();
    assert_eq!((processes, counted("processes")), (2, 2), "{report}");
    assert_eq!(
        rows(report, "threads").len(),
        counted("threads"),
        "{report}"
    );
    let of_commands: u64 = rows(report, "commands")
        .iter()
        .map(|row| row["processes"].as_u64().unwrap())
        .sum();
    assert_eq!(of_commands, 2, "{report}");
}

/// The row of a process is named after its last program, and has the time of all of them.
fn check_programs(process: &Value) {
    let command = |program: &Value| program["command"].as_str().unwrap().to_owned();
    assert!(command(process).ends_with(" last"), "{process}");
    let former = rows(process, "former_programs");
    let first = former
        .iter()
        .rfind(|program| command(program).ends_with(" first"));
    let first = first.unwrap_or_else(|| panic!("no first program: {process}"));
    assert!(seconds(first) > 0.01, "{process}");
    assert!(sum(former) < seconds(process), "{process}");
}
