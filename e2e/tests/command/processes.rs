//! Programs that start programs.

use std::time::Duration;

use profundo_testing::tool;

use crate::program::Program;
use crate::targets::{c, pythons_for, source};

#[test]
fn a_storm_of_forks() {
    let Some(target) = c("fork_storm.c", &[]) else {
        return;
    };
    let recording = Program::new(target).slack(6.0).run_both_ways();
    recording
        .assert_one_root()
        .assert_processes("fork_storm", 300);
    recording.assert_share("burn_in_child", 20.0);
}

/// Children without a ring are sampled from outside, or their time is at least known.
#[test]
fn children_of_a_stopped_recorder() {
    /// Forty children take 0.2 s each, and twelve in Python 0.4 s each.
    const WORK: f64 = 8.0;
    const WORK_IN_PYTHON: f64 = 4.8;
    let Some(target) = c("starved_forks.c", &[]) else {
        return;
    };
    let recorded = |program: Program, work: f64| {
        let (recording, _) = program.slack(5.0).run_both_ways_with(|mut outcome| {
            outcome.files.clear();
            outcome
        });
        let (user, system) = recording.profile.cpu_used().unwrap();
        let used = Duration::from_nanos(user.0 + system.0).as_secs_f64();
        assert!(used > work * 0.9, "{used} s; {}", recording.outline());
        recording
    };
    let native = || Program::new(target.clone()).without_recorder();
    let recording = recorded(native(), WORK);
    let seconds = recording.assert_processes("starved_forks", 41).seconds();
    assert!(seconds > WORK * 0.4, "{seconds} s");
    let inside = native().options(&["--engine", "cpu-timer"]);
    recorded(inside, WORK).assert_processes("starved_forks", 41);
    let path = source("starved_forks.py");
    for python in pythons_for("starved_forks.py") {
        let program = Program::new(&python.path).with(&[&path]);
        let recording = recorded(program.without_recorder(), WORK_IN_PYTHON);
        let seconds = recording.assert_processes("starved_forks", 13).seconds();
        assert!(seconds > WORK_IN_PYTHON * 0.6, "{seconds} s");
        // A thread that has to wait for a CPU is not held until it gets one, so not all of it can
        // be read.
        recording.assert_share("burn_in_child", 25.0);
    }
}

#[test]
fn a_chain_of_programs() {
    let Some(target) = c("exec_chain.c", &[]) else {
        return;
    };
    let program = Program::new(target).with(&["0", "open"]).bare();
    let recording = program.env("HELD", "first").slack(3.0).run_both_ways();
    recording
        .assert_one_root()
        .assert_processes("exec_chain", 13);
    recording
        .assert_share("burn_in_chain", 80.0)
        .assert_share("burn_unblocked", 3.0);
}

#[test]
fn a_chain_of_programs_that_block_all_signals() {
    let Some(target) = c("exec_chain.c", &[]) else {
        return;
    };
    let program = Program::new(target).with(&["0", "blocked"]).bare();
    let recording = program.env("HELD", "first").slack(3.0).run_both_ways();
    recording
        .assert_one_root()
        .assert_processes("exec_chain", 13);
    recording
        .assert_share("burn_unblocked", 3.0)
        .assert_share("burn_in_chain", 40.0);
}

#[test]
fn children_in_every_way_there_is() {
    let (Some(target), Some(child)) = (c("spawns.c", &[]), c("surroundings.c", &[])) else {
        return;
    };
    let program = Program::new(target).with(&[child]).bare();
    let program = program.env("PATH", "/usr/bin:/bin").env("GIVEN", "yes");
    let recording = program.slack(4.0).run_both_ways();
    recording
        .assert_one_root()
        .assert_processes("surroundings", 14);
}

#[test]
fn a_shell_at_work() {
    let (Some(hot), Some(shell)) = (c("hot.c", &[]), tool("bash")) else {
        return;
    };
    let program = Program::new(shell).with(&[source("shell.sh"), hot]);
    let recording = program.slack(6.0).run_both_ways();
    recording
        .assert_one_root()
        .assert_processes("hot 0.2", 2)
        .assert_processes("xargs", 1);
    recording.assert_share("six_parts", 20.0);
}

#[test]
fn make_and_its_children() {
    let (Some(hot), Some(make)) = (c("hot.c", &[]), tool("make")) else {
        return;
    };
    let file = source("Makefile.txt");
    let variable = format!("HOT={}", hot.display());
    let program = Program::new(make).with(&[
        "-j2".into(),
        "-f".into(),
        file.into_os_string(),
        variable.into(),
    ]);
    let recording = program.slack(3.0).run_both_ways_with(|mut outcome| {
        // Two run at a time, so the order of the lines is undefined.
        let mut lines: Vec<&str> = outcome.stdout.lines().collect();
        lines.sort_unstable();
        outcome.stdout = lines.join("\n");
        outcome
    });
    recording
        .0
        .assert_one_root()
        .assert_processes("hot 0.1", 4)
        .assert_share("six_parts", 30.0);
}
