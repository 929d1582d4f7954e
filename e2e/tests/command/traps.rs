//! SIGTRAP, which the profiler uses unless the program or a debugger needs it. The program does not
//! notice.

use std::cell::RefCell;
use std::process::Command;

use profundo_model::Engine;
use profundo_testing::{skip, tool};

use crate::program::{Outcome, Program, wait_for_number};
use crate::recording::Recording;
use crate::targets::{c, scratch};

/// True if the clocks of a recording could have sent SIGTRAP; skipped where they could not.
fn could_send_traps(recording: &Recording) -> bool {
    let engine = recording.profile.meta.engine;
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release
        .split(['.', '-'])
        .map(|number| number.parse().unwrap_or(0));
    let version: (u32, u32) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    let could = engine == Engine::PerfSignal && version >= (5, 18);
    if !could {
        skip(&format!("no clock sends SIGTRAP: {engine:?}, {release}"));
    }
    could
}

#[test]
fn traps_are_used_until_the_program_handles_them() {
    let Some(target) = c("taken_signals.c", &[]) else {
        return;
    };
    let seen = RefCell::new(Vec::new());
    let (recording, _) = Program::new(target).run_both_ways_with(|mut outcome| {
        let (waits, rest): (Vec<&str>, Vec<&str>) =
            (outcome.stdout.lines()).partition(|line| line.contains(" waits:"));
        let waits: Vec<bool> = waits.iter().map(|line| line.contains("SIGTRAP")).collect();
        seen.borrow_mut().push(waits);
        outcome.stdout = rest.join("\n");
        outcome
    });
    let seen = seen.into_inner();
    assert_eq!(seen[0], [false; 4], "without the profiler");
    if could_send_traps(&recording) {
        // The main thread and another one, before and after the program's own handler.
        // The last run is the recorded one, also where the agent has come and gone before.
        assert_eq!(seen[seen.len() - 1], [true, true, false, false]);
    }
    recording.assert_sampled(90.0);
    recording
        .assert_share("burn_before", 15.0)
        .assert_share("burn_after", 25.0);
}

#[test]
fn pending_signals_after_an_exec_are_those_that_were_sent() {
    let printer = c("exec_pending.c", &["-static", "-DPRINTS_PENDING"]);
    let (Some(target), Some(printer)) = (c("exec_pending.c", &[]), printer) else {
        return;
    };
    let arguments = [printer.into_os_string(), target.clone().into(), "0".into()];
    let program = Program::new(&target).with(&arguments).slack(10.0);
    let recording = program.run_both_ways();
    recording
        .assert_one_root()
        .assert_processes("exec_pending", 60);
    recording.assert_share("burn_blocked", 60.0);
}

#[test]
fn a_traced_child_stops_for_its_own_signals_only() {
    let Some(target) = c("traced_child.c", &[]) else {
        return;
    };
    let recording = Program::new(target).run_both_ways();
    recording
        .assert_share("burn_untraced", 20.0)
        .assert_share("burn_traced", 40.0);
}

#[test]
fn a_program_that_restricts_itself() {
    let Some(target) = c("restricted.c", &[]) else {
        return;
    };
    for how in ["strict", "prctl", "seccomp", "_exit", "all"] {
        let recording = Program::new(&target).with(&[how]).run_both_ways();
        recording.assert_share("burn_free", 80.0);
    }
}

/// Numbers of processes and addresses differ from run to run.
fn without_numbers(outcome: Outcome) -> Outcome {
    let mut stdout = String::new();
    for letter in outcome.stdout.chars() {
        match letter {
            '0'..='9' if stdout.ends_with('#') => {}
            '0'..='9' => stdout.push('#'),
            letter => stdout.push(letter),
        }
    }
    Outcome { stdout, ..outcome }
}

#[test]
fn a_debugger_and_its_program_are_recorded() {
    let (Some(gdb), Some(hot)) = (tool("gdb"), c("hot.c", &[])) else {
        return;
    };
    let commands = ["-nx", "-batch", "-ex", "break one_part", "-ex", "run"];
    let then = ["-ex", "backtrace 1", "-ex", "delete", "-ex", "continue"];
    let program = Program::new(gdb).with(&commands).with(&then);
    let program = program
        .with(&["--args"])
        .with(&[hot.into_os_string(), "0.4".into()]);
    let (recording, outcome) = program.slack(10.0).run_both_ways_with(without_numbers);
    assert!(outcome.stdout.contains("exited with code"), "{outcome:?}");
    recording.assert_one_root().assert_processes("hot 0.4", 1);
}

#[test]
fn a_debugger_that_attaches_later_sees_no_trap_of_the_profiler() {
    let (Some(gdb), Some(target)) = (tool("gdb"), c("works_on.c", &[])) else {
        return;
    };
    let said = scratch().join(format!("gdb-{}", std::process::id()));
    let file = said.clone();
    let program = Program::new(target).meanwhile(move |_, folder| {
        let process = wait_for_number(folder, "pid").to_string();
        // The debugger makes the file that ends the program, and lets the program go on.
        let enough = format!("shell touch {}", folder.join("enough").display());
        let output = Command::new(&gdb)
            .args(["-nx", "-batch", "-p", &process])
            // Time itself: a person stays in a debugger for longer.
            .args(["-ex", "shell sleep 1", "-ex", &enough, "-ex", "continue"])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        std::fs::write(&file, text).unwrap();
        std::fs::write(folder.join("enough"), "").unwrap();
    });
    let (recording, _) = program.slack(10.0).run_both_ways_with(|mut outcome| {
        outcome.files.remove("pid");
        outcome
    });
    let text = std::fs::read_to_string(&said).unwrap();
    let _ = std::fs::remove_file(&said);
    if !text.contains("exited with code") && !text.contains("SIGTRAP") {
        return skip(&format!("gdb may not look at another program: {text}"));
    }
    assert!(!text.contains("SIGTRAP"), "{text}");
    recording.assert_share("burn_and_burn", 60.0);
}
