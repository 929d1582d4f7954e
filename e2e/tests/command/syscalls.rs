//! System calls and their errors are counted: as many as the program is known to make, and as many
//! as `strace` counts.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use profundo_testing::{profundo, skip};
use serde_json::Value;

use crate::program::{Program, alone, number};
use crate::targets::{c, pythons_for, scratch, source};

/// Calls of each kind, and failed ones by their error.
type Counts = BTreeMap<String, (u64, BTreeMap<String, u64>)>;

/// The calls that the loader makes to load our library: it opens, reads, maps and closes it.
const LOADING: u64 = 25;

/// The most files that the loader looks for in vain.
const SEARCHING: u64 = 400;

/// The report on system calls.
fn report(file: &Path) -> Value {
    let mut command = Command::new(profundo());
    let command = command.arg("report").arg(file).args(["syscalls", "--json"]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn counts_of(report: &Value) -> Counts {
    let rows = report["calls"].as_array().unwrap().iter();
    let counted = rows.filter(|row| row["count"].as_u64().is_some_and(|calls| calls > 0));
    let of = |row: &Value| {
        let errors = row["errors"].as_array().unwrap().iter();
        let errors = errors.map(|error| {
            let name = error["error"].as_str().unwrap().to_owned();
            (name, error["count"].as_u64().unwrap())
        });
        let call = row["call"].as_str().unwrap().to_owned();
        (call, (row["count"].as_u64().unwrap(), errors.collect()))
    };
    counted.map(of).collect()
}

/// The recording's counts. `None`: this machine does not permit them.
fn recorded(program: &Program) -> Option<(Value, Counts)> {
    let file = scratch().join(format!("syscalls-{}.profundo", number()));
    let mut command = program.command(Some(&file));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let report = report(&file);
    if report["is_counted"] == false {
        let notes = report["recording"]["notes"].to_string();
        assert!(notes.contains("system calls are not counted"), "{report:#}");
        skip("this machine does not permit counting system calls");
        return None;
    }
    let counts = counts_of(&report);
    Some((report, counts))
}

fn failed(counts: &Counts, call: &str, error: &str) -> u64 {
    let errors = counts.get(call).map(|(_, errors)| errors);
    errors
        .and_then(|errors| errors.get(error))
        .copied()
        .unwrap_or(0)
}

#[test]
fn calls_of_a_c_program_are_counted() {
    let Some(target) = c("known_syscalls.c", &["-pthread"]) else {
        return;
    };
    let _alone = alone();
    let program = Program::new(&target).options(&["--syscalls"]);
    let Some((report, counts)) = recorded(&program) else {
        return;
    };
    for (call, error, known) in [
        ("close", "EBADF", 30_000 + 700),
        ("read", "EAGAIN", 2000),
        ("openat", "ENOENT", 500),
        ("lseek", "ESPIPE", 400),
    ] {
        let found = failed(&counts, call, error);
        // The loader looks for files that are not there, in each folder that a variable names.
        let more = if error == "ENOENT" { SEARCHING } else { 0 };
        assert!(
            (known..=known + more).contains(&found),
            "{call}: {found}: {report:#}"
        );
    }
    assert_eq!(counts["getpgid"], (1000, BTreeMap::new()), "{report:#}");
    let calls: u64 = counts.values().map(|(calls, _)| calls).sum();
    assert_eq!(report["count"], calls, "{report:#}");
}

#[test]
fn calls_of_a_python_program_are_counted() {
    for python in pythons_for("known_syscalls.py") {
        let target = source("known_syscalls.py");
        let _alone = alone();
        let program = Program::new(&python.path)
            .with(&[target.as_os_str()])
            .options(&["--syscalls"]);
        let Some((report, counts)) = recorded(&program) else {
            return;
        };
        let stats: u64 = ["newfstatat", "stat"]
            .map(|call| failed(&counts, call, "ENOENT"))
            .into_iter()
            .sum();
        // The interpreter looks for its modules.
        assert!((2000..2400).contains(&stats), "{stats}: {report:#}");
        assert_eq!(counts["fsync"].0, 1000, "{report:#}");
        assert_eq!(failed(&counts, "fsync", "EBADF"), 1000, "{report:#}");
        assert_eq!(counts["getpgid"].0, 1500, "{report:#}");
    }
}

#[test]
fn lines_have_their_part_of_the_calls() {
    const ROUNDS: f64 = 100_000.0;
    for python in pythons_for("known_syscall_lines.py") {
        let target = source("known_syscall_lines.py");
        let text = std::fs::read_to_string(&target).unwrap();
        let text: Vec<&str> = text.lines().collect();
        let _alone = alone();
        let program = Program::new(&python.path)
            .with(&[target.as_os_str()])
            .options(&["--syscalls"]);
        let Some((report, counts)) = recorded(&program) else {
            return;
        };
        // On a busy machine some are lost, and a note says so.
        let notes = report["recording"]["notes"].to_string();
        let least = match notes.contains("were not counted: they came faster") {
            true => ROUNDS * 0.8,
            false => ROUNDS,
        };
        let pgids = counts["getpgid"].0 as f64;
        assert!((least..=ROUNDS).contains(&pgids), "{pgids}: {report:#}");
        let made = pgids / ROUNDS;
        let lines = report["lines"].as_array().unwrap();
        let sum = |of: &dyn Fn(&Value) -> bool, member: &str| -> f64 {
            let rows = lines.iter().filter(|row| of(row));
            rows.filter_map(|row| row[member].as_f64()).sum()
        };
        for (name, known, failed) in [
            (" # often", 3.0 * ROUNDS, 3.0 * ROUNDS),
            (" # seldom", ROUNDS, ROUNDS),
            (" # works", ROUNDS, 0.0),
        ] {
            let is_line = |row: &Value| {
                let line = row["at"]["line"].as_u64().unwrap_or(0) as usize;
                row["at"]["file"] == target.to_str().unwrap()
                    && line > 0
                    && text[line - 1].ends_with(name)
            };
            let (known, failed) = (known * made, failed * made);
            let found = sum(&is_line, "count");
            let range = sum(&is_line, "count_plus_minus").max(known / 50.0);
            // Twice the range: one run in ten thousand is further off.
            let what = format!(
                "{:?}: {name}: {found} ± {range}: {report:#}",
                python.version
            );
            assert!((found - known).abs() <= 2.0 * range, "{what}");
            assert!(sum(&is_line, "sampled_calls") >= 20.0, "{what}");
            let found = sum(&is_line, "failed_count");
            assert!(
                (found - failed).abs() <= 2.0 * range,
                "{found} failed: {what}"
            );
        }
    }
}

#[test]
fn strace_counts_the_same() {
    let has_strace = Command::new("strace")
        .arg("-V")
        .stdout(Stdio::null())
        .status();
    if !has_strace.is_ok_and(|status| status.success()) {
        return skip("there is no strace");
    }
    let Some(target) = c("known_syscalls.c", &["-pthread"]) else {
        return;
    };
    let _alone = alone();
    let program = Program::new(&target).options(&["--syscalls"]);
    let Some((report, counts)) = recorded(&program) else {
        return;
    };
    let output = Command::new("strace")
        .args(["-f", "-c"])
        .arg(&target)
        .output();
    let table = String::from_utf8(output.unwrap().stderr).unwrap();
    let theirs = strace_counts(&table);
    assert!(theirs.len() > 10, "{table}");
    for (call, (calls, errors)) in theirs {
        // Whether a thread has to wait for another one differs from run to run.
        if call == "futex" {
            continue;
        }
        let more = LOADING;
        let known = calls..=calls + more;
        let found = counts.get(&call).map_or(0, |(calls, _)| *calls);
        assert!(
            known.contains(&found),
            "{call}: {found}: {table} {report:#}"
        );
        let failed: u64 = counts
            .get(&call)
            .map_or(0, |(_, errors)| errors.values().sum());
        let known = errors..=errors + more;
        assert!(
            known.contains(&failed),
            "{call}: {failed} failed: {table} {report:#}"
        );
    }
}

/// The numbers of calls and of errors in a table of `strace -c`.
fn strace_counts(table: &str) -> BTreeMap<String, (u64, u64)> {
    let rows = table.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| words.get(at)?.parse::<u64>().ok();
        words.first()?.parse::<f64>().ok()?;
        let call = (*words.last()?).to_owned();
        let errors = if words.len() == 6 { number(4)? } else { 0 };
        (call != "total").then_some((call, (number(3)?, errors)))
    });
    rows.collect()
}
