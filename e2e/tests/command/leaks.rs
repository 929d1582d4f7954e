//! Eight programs that keep memory, of which one loses it, in Python and in C: that one is named, and the others
//! are not.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::command::profundo;
use crate::program::number;
use crate::targets::{c, pythons_for, scratch, source};

const PROGRAMS: [&str; 8] = [
    "cache", "warm_up", "pool", "leak", "ring", "sessions", "table", "plateau",
];

/// The lines that are said to leak, of a program that is recorded.
fn leaks(program: &[&Path], mode: &str) -> Vec<u64> {
    let file = scratch().join(format!("leaks-{}.profundo", number()));
    let mut record = Command::new(profundo());
    record.args(["record", "--memory", "--memory-sample", "8K", "-o"]);
    record.arg(&file).arg("--").args(program).args([mode, "7"]);
    let recorded = record.stdout(Stdio::null()).output().unwrap();
    assert!(recorded.status.success(), "{recorded:?}");
    let mut report = Command::new(profundo());
    report.arg("report").arg(&file).args(["allocs", "--json"]);
    let output = report.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let _ = std::fs::remove_file(&file);
    let leaks = report["allocations"]["leaks"].as_array().unwrap().iter();
    leaks
        .map(|leak| leak["at"]["line"].as_u64().unwrap_or(0))
        .collect()
}

fn judge(program: &[&Path], source: &Path) {
    let text = std::fs::read_to_string(source).unwrap();
    let marked = text.lines().position(|line| line.contains("LEAK")).unwrap();
    let marked = marked as u64 + 1;
    let mut false_alarms = Vec::new();
    for mode in PROGRAMS {
        let found = leaks(program, mode);
        if mode == "leak" {
            assert_eq!(found.first(), Some(&marked), "{found:?}");
        }
        let others = found.into_iter().filter(|&line| line != marked);
        false_alarms.extend(others.map(|line| (mode, line)));
    }
    assert!(false_alarms.len() <= 1, "{false_alarms:?}");
}

#[test]
fn a_leak_is_named_in_python() {
    let target = source("leaks.py");
    for python in pythons_for("leaks.py") {
        judge(&[&python.path, &target], &target);
    }
}

#[test]
fn a_leak_is_named_in_c() {
    if let Some(program) = c("leaks.c", &["-fno-builtin-malloc"]) {
        judge(&[&program], &source("leaks.c"));
    }
}
