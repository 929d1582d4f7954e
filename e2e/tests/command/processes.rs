//! Programs that start programs.

use crate::program::Program;
use crate::targets::{c, source, tool};

#[test]
fn a_storm_of_forks() {
    let Some(target) = c("fork_storm.c", &[]) else {
        return;
    };
    let recording = Program::new(target).slack(6.0).same();
    recording.is_tree().processes("fork_storm", 300);
    recording.hot("burn_in_child", 20.0);
}

#[test]
fn a_chain_of_programs() {
    let Some(target) = c("exec_chain.c", &[]) else {
        return;
    };
    let program = Program::new(target).with(&["0", "open"]).bare();
    let recording = program.env("HELD", "first").slack(3.0).same();
    recording.is_tree().processes("exec_chain", 13);
    recording
        .hot("burn_in_chain", 80.0)
        .hot("burn_unblocked", 3.0);
}

#[test]
fn a_chain_of_programs_that_block_all_signals() {
    let Some(target) = c("exec_chain.c", &[]) else {
        return;
    };
    let program = Program::new(target).with(&["0", "blocked"]).bare();
    let recording = program.env("HELD", "first").slack(3.0).same();
    recording.is_tree().processes("exec_chain", 13);
    recording
        .hot("burn_unblocked", 3.0)
        .hot("burn_in_chain", 40.0);
}

#[test]
fn children_in_every_way_there_is() {
    let (Some(target), Some(child)) = (c("spawns.c", &[]), c("surroundings.c", &[])) else {
        return;
    };
    let program = Program::new(target).with(&[child]).bare();
    let program = program.env("PATH", "/usr/bin:/bin").env("GIVEN", "yes");
    let recording = program.slack(4.0).same();
    recording.is_tree().processes("surroundings", 14);
}

#[test]
fn a_shell_at_work() {
    let (Some(hot), Some(shell)) = (c("hot.c", &[]), tool("bash")) else {
        return;
    };
    let program = Program::new(shell).with(&[source("shell.sh"), hot]);
    let recording = program.slack(6.0).same();
    recording
        .is_tree()
        .processes("hot 0.2", 2)
        .processes("xargs", 1);
    recording.hot("six_parts", 20.0);
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
    let recording = program.slack(3.0).same_with(|mut outcome| {
        // Two at a time: whose line comes first, nobody promises.
        let mut lines: Vec<&str> = outcome.stdout.lines().collect();
        lines.sort_unstable();
        outcome.stdout = lines.join("\n");
        outcome
    });
    recording
        .0
        .is_tree()
        .processes("hot 0.1", 4)
        .hot("six_parts", 30.0);
}
