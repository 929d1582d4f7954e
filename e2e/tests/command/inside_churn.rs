//! `attach --memory=exact` beside programs that do little but allocate, in the ways of the programs
//! that `BENCHMARKS.md` quotes: blocks and bytes are what the programs have counted themselves.

use std::path::Path;
use std::process::Command;

use crate::attach::Running;
use crate::inside_memory::{Recorder, ask, compare};
use crate::program::alone;
use crate::targets::{pythons_for, rust, source};

/// Records a program for so many seconds, twice.
fn check(program: &Path, arguments: &[&Path], file: &str, seconds: &str, least: u64) {
    let _alone = alone();
    let mut command = Command::new(program);
    command.args(arguments);
    let mut running = Running::start(command);
    for _ in 0..2 {
        let Some(recorder) = Recorder::start(&running.pid(), &["--memory=exact"]) else {
            return;
        };
        let counted = ask(&mut running, seconds);
        let (recording, said) = recorder.end();
        compare(&recording, file, &counted);
        let blocks: u64 = counted.values().map(|&(blocks, _)| blocks).sum();
        assert!(blocks >= least, "{counted:?}");
        assert!(!said.contains("counted in no stack"), "{said}");
    }
    assert_eq!(running.end().1, Some(7));
}

fn check_native(seconds: &str, least: u64) {
    if let Some(program) = rust("late_churn.rs") {
        check(&program, &[], "late_churn.rs", seconds, least);
    }
}

fn check_python(seconds: &str, least: u64) {
    for version in pythons_for("late churn") {
        let source = source("late_churn.py");
        check(&version.path, &[&source], "late_churn.py", seconds, least);
    }
}

#[test]
fn four_threads_that_do_little_but_allocate_are_counted_to_the_byte() {
    check_native("1", 100_000);
}

#[test]
fn an_interpreter_that_does_little_but_allocate_is_counted_to_the_byte() {
    check_python("1", 5000);
}

#[test]
#[ignore = "long: half a minute of allocations, twice"]
fn half_a_minute_of_four_threads_is_counted_to_the_byte() {
    check_native("30", 10_000_000);
}

#[test]
#[ignore = "long: half a minute of allocations, twice"]
fn half_a_minute_of_an_interpreter_is_counted_to_the_byte() {
    check_python("30", 200_000);
}
