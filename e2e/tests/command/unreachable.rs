//! Unreachable blocks at a program's end: exactly those to which it has lost its pointers.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use profundo_formats::read_file;
use profundo_model::{Amount, Profile};
use profundo_testing::{profundo, skip, wait_for};
use serde_json::Value;

use crate::heap::{amount, line_of, marked};
use crate::program::{Program, empty_folder, number, wait, wait_for_number};
use crate::recording::Recording;
use crate::targets::{c, pythons_for, scratch, source};

fn record(mode: &str, options: &[&str]) -> Option<Recording> {
    let target = c("lost.c", &["-fno-builtin"])?;
    let program = Program::new(target).with(&[mode]).options(options);
    let recording = program.slack(5.0).run_both_ways();
    // On a busy machine the search may be given up.
    let notes = &recording.profile.meta.notes;
    let is_late = notes.iter().any(|note| note.ends_with("too long"));
    match is_late {
        true => {
            skip(&format!("{notes:?}"));
            None
        }
        false => Some(recording),
    }
}

/// The unreachable blocks, by line.
fn lost(profile: &Profile) -> Vec<(u32, Amount)> {
    let mut found: std::collections::BTreeMap<u32, Amount> = Default::default();
    for site in &profile.heap.sites {
        if site.unreachable.count > 0 {
            let line = line_of(profile, site.stack, "lost.c").unwrap_or(0);
            *found.entry(line).or_default() += site.unreachable;
        }
    }
    found.into_iter().collect()
}

#[test]
fn blocks_with_a_pointer_are_reachable() {
    let Some(recording) = record("keeps", &["--memory=exact"]) else {
        return;
    };
    let profile = &recording.profile;
    assert_eq!(profile.heap.searched.len(), 1, "{:?}", profile.meta.notes);
    assert_eq!(lost(profile), []);
}

#[test]
fn unreachable_blocks_are_found_to_the_byte() {
    let Some(recording) = record("loses", &["--memory=exact"]) else {
        return;
    };
    let profile = &recording.profile;
    let source = source("lost.c");
    let (lost_line, chained) = (marked(&source, "// lost"), marked(&source, "// chained"));
    let expected = [
        (chained, amount(20, 20 * 216)),
        (lost_line, amount(30, 30_000)),
    ];
    assert_eq!(lost(profile), expected);
}

/// The blocks that valgrind finds lost, directly or through others.
fn checked(target: &Path) -> Option<Amount> {
    let mut checker = Command::new("valgrind");
    checker
        .args(["--leak-check=full", "--undef-value-errors=no"])
        .arg(target)
        .arg("loses");
    let output = checker.stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let mut sum = Amount::default();
    for kind in ["definitely lost: ", "indirectly lost: "] {
        let (_, rest) = text.split_once(kind)?;
        let numbers = rest.lines().next()?.replace(',', "");
        let mut words = numbers.split_whitespace();
        sum.bytes += words.next()?.parse::<u64>().ok()?;
        sum.count += words.nth(2)?.parse::<u64>().ok()?;
    }
    Some(sum)
}

#[test]
fn a_leak_checker_finds_the_same() {
    let Some(target) = c("lost.c", &["-fno-builtin"]) else {
        return;
    };
    let Some(checked) = checked(&target) else {
        skip("there is no valgrind");
        return;
    };
    let Some(recording) = record("loses", &["--memory=exact"]) else {
        return;
    };
    let mut found = Amount::default();
    for (_, amount) in lost(&recording.profile) {
        found += amount;
    }
    assert_eq!(found, checked);
}

#[test]
fn unreachable_blocks_are_found_among_samples() {
    let Some(recording) = record("loses", &["--memory", "--memory-sample", "64"]) else {
        return;
    };
    let profile = &recording.profile;
    assert_eq!(profile.heap.searched.len(), 1);
    let line = marked(&source("lost.c"), "// lost");
    let lost = profile
        .heap
        .blocks
        .iter()
        .filter(|block| block.is_unreachable);
    let at = |block: &profundo_model::Block| line_of(profile, block.stack, "lost.c");
    let (here, elsewhere): (Vec<_>, Vec<_>) = lost.partition(|block| at(block) == Some(line));
    // Nearly each is sampled, and stale words may point to a few. Of the chain, only the first
    // block may have no pointer to it.
    assert!((20..=30).contains(&here.len()), "{here:?}");
    let chained = Some(marked(&source("lost.c"), "// chained"));
    assert!(elsewhere.len() <= 1 && elsewhere.iter().all(|block| at(block) == chained));
}

#[test]
fn unreachable_blocks_are_reported_by_line() {
    let Some(target) = c("lost.c", &["-fno-builtin"]) else {
        return;
    };
    let file = scratch().join(format!("lost-{}.profundo", number()));
    let mut record = Command::new(profundo());
    record.args(["record", "--memory=exact", "-o"]).arg(&file);
    let recorded = record.arg("--").arg(target).arg("loses").output().unwrap();
    assert_eq!(recorded.status.code(), Some(5), "{recorded:?}");
    let report = |options: &[&str]| {
        let mut report = Command::new(profundo());
        let output = report
            .arg("report")
            .arg(&file)
            .arg("allocs")
            .args(options)
            .output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    let (text, json) = (report(&[]), report(&["--json"]));
    let _ = fs::remove_file(&file);
    if text.contains("taken too long") {
        skip("there was no time for the search");
        return;
    }
    let mut lines = text
        .lines()
        .skip_while(|line| !line.contains("Unreachable at exit"));
    let first = lines.nth(1).unwrap_or_default();
    assert!(
        first.contains("30.0 kB") && first.contains("lost.c:"),
        "{text}"
    );
    let json: Value = serde_json::from_str(&json).unwrap();
    let found = &json["allocations"]["unreachable"];
    assert_eq!(
        (&found["blocks"], &found["with_chains"]),
        (&50.into(), &true.into())
    );
    assert_eq!(found["lines"][0]["bytes"], 30_000, "{found}");
}

#[test]
fn a_program_does_not_wait_long_for_a_stopped_recorder() {
    let Some(target) = c("cleared.c", &["-fno-builtin-malloc"]) else {
        return;
    };
    let file = scratch().join(format!("{}.profundo", number()));
    let folder = empty_folder();
    let program = Program::new(&target).options(&["--memory=exact"]);
    let mut command = program.command(Some(&file));
    command.current_dir(&folder).stdin(Stdio::null());
    let mut child = command.stdout(Stdio::null()).spawn().unwrap();
    let pid = wait_for_number(&folder, "ready");
    let signal = |signal| {
        // SAFETY: a signal to a process of this test.
        assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
    };
    signal(libc::SIGSTOP);
    fs::write(folder.join("go"), "").unwrap();
    let began = Instant::now();
    wait_for("the program's end", || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
        stat.is_ok_and(|stat| stat.contains(") Z ")).then_some(())
    });
    let took = began.elapsed();
    signal(libc::SIGCONT);
    assert!(wait(&mut child, "profundo").success());
    assert!(took < Duration::from_secs(20), "{took:?}");
    let (profile, _) = read_file(&file).unwrap();
    let _ = fs::remove_file(&file);
    assert!(profile.heap.searched.is_empty());
    let notes = &profile.meta.notes;
    assert!(
        notes
            .iter()
            .any(|note| note.starts_with("it was not looked")),
        "{notes:?}"
    );
}

#[test]
fn the_heap_of_an_interpreter_is_not_searched() {
    let path = source("known_heap.py");
    for python in pythons_for("known_heap.py") {
        let program = Program::new(&python.path).with(&[&path]);
        let recording = program.options(&["--memory"]).slack(20.0).run_both_ways();
        assert!(recording.profile.heap.searched.is_empty(), "{python:?}");
    }
}
