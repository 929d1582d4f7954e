//! Eight programs that keep memory, of which one leaks, in Python and in C: the report names that
//! one only.

use std::path::Path;
use std::process::{Command, Stdio};

use profundo_testing::profundo;
use serde_json::Value;

use crate::program::number;
use crate::targets::{c, pythons_for, scratch, source};

const PROGRAMS: [&str; 8] = [
    "cache", "warm_up", "pool", "leak", "ring", "sessions", "table", "plateau",
];

/// Records a program, and returns the lines that the report names as leaks.
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

/// The report names the marked line first, and others at most once.
fn check_leaks(program: &[&Path], source: &Path) {
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
        check_leaks(&[&python.path, &target], &target);
    }
}

#[test]
fn a_leak_is_named_in_c() {
    if let Some(program) = c("leaks.c", &["-fno-builtin-malloc"]) {
        check_leaks(&[&program], &source("leaks.c"));
    }
}
