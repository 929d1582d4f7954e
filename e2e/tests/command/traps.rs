//! SIGTRAP, which is used as long as nobody else wants it: that it is, and that nobody notices.

use std::cell::RefCell;
use std::process::Command;

use profundo_e2e::sys::skip;
use profundo_model::Engine;

use crate::program::{Outcome, Program, told};
use crate::recording::Recording;
use crate::targets::{c, scratch, tool};

/// Whether the clocks of a recording could have used it.
fn could_be_used(recording: &Recording) -> bool {
    let engine = recording.profile.meta.engine;
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split(['.', '-']).map(|it| it.parse().unwrap_or(0));
    let version: (u32, u32) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    let could = engine == Engine::PerfSignal && version >= (5, 18);
    if !could {
        skip(&format!("no clock sends SIGTRAP: {engine:?}, {release}"));
    }
    could
}

#[test]
fn it_is_used_until_the_program_wants_it() {
    let Some(target) = c("taken_signals.c", &[]) else {
        return;
    };
    let seen = RefCell::new(Vec::new());
    let (recording, _) = Program::new(target).same_with(|mut outcome| {
        let (waits, rest): (Vec<&str>, Vec<&str>) =
            (outcome.stdout.lines()).partition(|line| line.contains(" waits:"));
        let waits: Vec<bool> = waits.iter().map(|line| line.contains("SIGTRAP")).collect();
        seen.borrow_mut().push(waits);
        outcome.stdout = rest.join("\n");
        outcome
    });
    let seen = seen.into_inner();
    assert_eq!(seen[0], [false; 4], "without the profiler");
    if could_be_used(&recording) {
        // The main thread and another one, before and after the program's own handler.
        assert_eq!(seen[1], [true, true, false, false]);
    }
    recording.full(90.0);
    recording.hot("burn_before", 15.0).hot("burn_after", 25.0);
}

#[test]
fn what_waits_for_a_program_is_what_was_sent() {
    let tells = c("exec_pending.c", &["-static", "-DTELLS"]);
    let (Some(target), Some(tells)) = (c("exec_pending.c", &[]), tells) else {
        return;
    };
    let arguments = [tells.into_os_string(), target.clone().into(), "0".into()];
    let program = Program::new(&target).with(&arguments).slack(10.0);
    let recording = program.same();
    recording.is_tree().processes("exec_pending", 60);
    recording.hot("burn_blocked", 60.0);
}

#[test]
fn a_traced_child_stops_for_its_own_signals_only() {
    let Some(target) = c("traced_child.c", &[]) else {
        return;
    };
    let recording = Program::new(target).same();
    recording
        .hot("burn_untraced", 20.0)
        .hot("burn_traced", 40.0);
}

#[test]
fn a_program_that_restricts_itself() {
    let Some(target) = c("restricted.c", &[]) else {
        return;
    };
    for how in ["strict", "prctl", "seccomp", "_exit", "all"] {
        let recording = Program::new(&target).with(&[how]).same();
        recording.hot("burn_free", 80.0);
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
    let (recording, outcome) = program.slack(10.0).same_with(without_numbers);
    assert!(outcome.stdout.contains("exited with code"), "{outcome:?}");
    recording.is_tree().processes("hot 0.4", 1);
}

#[test]
fn a_debugger_that_comes_later_sees_none_of_our_traps() {
    let (Some(gdb), Some(target)) = (tool("gdb"), c("works_on.c", &[])) else {
        return;
    };
    let said = scratch().join(format!("gdb-{}", std::process::id()));
    let file = said.clone();
    let program = Program::new(target).meanwhile(move |_, folder| {
        let process = told(folder, "pid").to_string();
        // The program is told to end by the debugger, which has to let it go on for that.
        let enough = format!("shell touch {}", folder.join("enough").display());
        let output = Command::new(&gdb)
            .args(["-nx", "-batch", "-p", &process])
            // A person needs longer.
            .args(["-ex", "shell sleep 1", "-ex", &enough, "-ex", "continue"])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        std::fs::write(&file, text).unwrap();
        std::fs::write(folder.join("enough"), "").unwrap();
    });
    let (recording, _) = program.slack(10.0).same_with(|mut outcome| {
        outcome.files.remove("pid");
        outcome
    });
    let text = std::fs::read_to_string(&said).unwrap();
    let _ = std::fs::remove_file(&said);
    if !text.contains("exited with code") && !text.contains("SIGTRAP") {
        return skip(&format!("gdb may not look at another program: {text}"));
    }
    assert!(!text.contains("SIGTRAP"), "{text}");
    recording.hot("burn_and_burn", 60.0);
}
