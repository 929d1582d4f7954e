//! `export --to profundo`: each table of a part is what the same filter shows of the whole.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use profundo_testing::{profundo, pythons_for};
use serde_json::Value;

use crate::targets::{scratch, source};

fn run(words: &[&str]) -> Output {
    let mut command = Command::new(profundo());
    command.args(words).stdin(Stdio::null()).output().unwrap()
}

fn report(file: &str, what: &str, filter: &[&str]) -> Value {
    let words = ["report", file, what, "--json", "--no-config"];
    let output = run(&[&words, filter].concat());
    assert!(output.status.success(), "{what} {filter:?}: {output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The members that are not the same: what is said of the recording as a whole, the filter, and the
/// figures of the kernel, which are those of what is kept.
const OTHERS: [&str; 21] = [
    "profundo",
    "recording",
    "filter",
    "verdict",
    "process",
    "user_seconds",
    "system_seconds",
    "alive_seconds",
    "gil_wait_seconds",
    "spans_unplaced",
    // Whether anything waits.
    "has_waits",
    // Those of a stretch of time.
    "utilization",
    "started_seconds",
    "ended_seconds",
    "exit_code",
    "signal",
    // A span that began before it is known as a sum.
    "is_exact",
    "spans_summed",
    "length_median_seconds",
    "length_p95_seconds",
    "length_p99_seconds",
];

/// The paths of members that differ, with both values.
fn differences(whole: &Value, part: &Value, path: &str, found: &mut Vec<String>) {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            for name in whole.keys().chain(part.keys()) {
                // A thread's CPU time is the kernel's, and a call's is sampled.
                let is_counted = name == "cpu_seconds" && path.starts_with(".threads");
                if is_counted || OTHERS.contains(&name.as_str()) {
                    continue;
                }
                let (one, other) = (whole.get(name), part.get(name));
                let path = format!("{path}.{name}");
                match (one, other) {
                    (Some(one), Some(other)) => differences(one, other, &path, found),
                    _ => found.push(format!("{path}: {one:?} {other:?}")),
                }
            }
        }
        (Value::Array(whole), Value::Array(part)) if whole.len() == part.len() => {
            for (number, (one, other)) in whole.iter().zip(part).enumerate() {
                differences(one, other, &format!("{path}[{number}]"), found);
            }
        }
        _ => {
            let near = |(one, other): (f64, f64)| (one - other).abs() <= 1e-9 * one.abs().max(1.0);
            let are_alike = whole == part || whole.as_f64().zip(part.as_f64()).is_some_and(near);
            if !are_alike {
                found.push(format!("{path}: {whole} {part}"));
            }
        }
    }
}

/// A recording of the target with these options.
fn recorded(python: &Path, name: &str, options: &[&str]) -> PathBuf {
    let file = scratch().join(name);
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../python/src");
    let mut command = Command::new(profundo());
    command.args(["record", "--no-config", "-o"]).arg(&file);
    command.args(options).arg("--").arg(python);
    command.arg(source("parts.py")).arg(package).arg(scratch());
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    file
}

fn check(whole: &str, filter: &[&str], reports: &[&str]) {
    let part = format!("{whole}.part.profundo");
    let words = ["export", whole, "--no-config", "-o", &part];
    let output = run(&[&words, filter].concat());
    assert!(output.status.success(), "{filter:?}: {output:?}");
    for what in reports {
        let shown = report(whole, what, filter);
        let mut found = Vec::new();
        differences(&shown, &report(&part, what, &[]), "", &mut found);
        assert!(
            found.is_empty(),
            "{what} {filter:?}: {} differ, such as {:?}",
            found.len(),
            &found[..found.len().min(5)]
        );
    }
    let merged = format!("{part}.merged.profundo");
    let _ = fs::remove_file(&merged);
    assert!(
        run(&["merge", whole, &part, "-o", &merged])
            .status
            .success()
    );
    let cpu = |file: &str| report(file, "functions", &[])["selection"]["seconds"].as_f64();
    let sum = cpu(whole).unwrap() + cpu(&part).unwrap();
    assert!((cpu(&merged).unwrap() - sum).abs() < 1e-3, "{filter:?}");
    fs::remove_file(&part).unwrap();
    fs::remove_file(&merged).unwrap();
}

const FILTERS: [&[&str]; 9] = [
    &[],
    &["--span", "job"],
    &["--span", "name=a"],
    &["--span", "io", "--from", "0.1"],
    &["--thread", "b"],
    &["--function", "burn"],
    &["--ignore", "burn"],
    &["--hide", "reads"],
    &["--from", "0.2", "--to", "0.6"],
];

#[test]
fn a_part_of_a_recording_has_the_tables_of_its_filter() {
    let Some(python) = pythons_for("parts.py").pop() else {
        return;
    };
    let file = recorded(&python.path, "parts.profundo", &[]);
    for filter in FILTERS {
        let reports = ["functions", "lines", "tree", "flat", "spans", "summary"];
        check(file.to_str().unwrap(), filter, &reports);
    }
    fs::remove_file(&file).unwrap();
}

#[test]
fn a_part_has_its_waits_its_calls_and_its_bytes() {
    let Some(python) = pythons_for("parts.py, --syscalls").pop() else {
        return;
    };
    let file = recorded(&python.path, "parts-waits.profundo", &["--syscalls"]);
    for filter in FILTERS {
        // Calls are looked at as recorded, and have no `--hide`.
        let has_calls = filter.first() != Some(&"--hide");
        let reports = ["functions", "lines", "io", "syscalls"];
        check(
            file.to_str().unwrap(),
            filter,
            &reports[..if has_calls { 4 } else { 2 }],
        );
    }
    fs::remove_file(&file).unwrap();
}
