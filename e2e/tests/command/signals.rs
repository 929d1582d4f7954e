//! Programs that have signals of their own, among them the one that we use.

use crate::program::Program;
use crate::recording::Recording;
use crate::targets::{c, source, tool};

/// Ways to record, which send different signals.
const WAYS: [&[&str]; 3] = [&[], &["--engine", "cpu-timer"], &["--wall"]];

#[test]
fn handlers_on_a_stack_of_their_own() {
    let Some(target) = c("signal_stack.c", &[]) else {
        return;
    };
    let recording = Program::new(target).same();
    recording.hot("burn_on_signal_stack", 70.0);
}

fn own_handler(signal: i32) {
    let Some(target) = c("own_handlers.c", &[]) else {
        return;
    };
    let recording = Program::new(target).with(&[signal.to_string()]).same();
    recording.hot("burn_between", 50.0);
}

#[test]
fn own_handler_of_the_profiling_timer() {
    own_handler(libc::SIGPROF);
}

#[test]
fn own_handler_of_faults() {
    own_handler(libc::SIGSEGV);
}

#[test]
fn own_handler_of_traps() {
    own_handler(libc::SIGTRAP);
}

#[test]
fn own_handler_of_urgent_data() {
    own_handler(libc::SIGURG);
}

#[test]
fn urgent_data_on_a_socket() {
    let Some(target) = c("urgent_data.c", &[]) else {
        return;
    };
    Program::new(target).same().hot("burn_between", 50.0);
}

#[test]
fn all_signals_masked() {
    let Some(target) = c("masks_all.c", &[]) else {
        return;
    };
    let recording = Program::new(target).same();
    recording.hot("burn_masked", 50.0).hot("burn_open", 8.0);
}

#[test]
fn rare_uses_of_signals() {
    let Some(target) = c("odd_signals.c", &[]) else {
        return;
    };
    for way in WAYS {
        let program = Program::new(target.clone()).options(way).slack(20.0);
        program.same().hot("burn_between", 5.0);
    }
}

#[test]
fn sets_that_lead_nowhere_are_errors_and_no_faults() {
    let Some(target) = c("readable.c", &[]) else {
        return;
    };
    for way in WAYS {
        Program::new(target.clone()).options(way).same();
    }
}

#[test]
fn waiting_for_all_signals() {
    let Some(target) = c("sigwait.c", &[]) else {
        return;
    };
    Program::new(target).same();
}

#[test]
fn calls_that_wait_are_not_interrupted() {
    let Some(target) = c("waiting_calls.c", &[]) else {
        return;
    };
    let recording = Program::new(target).same();
    recording.hot("burn_between_calls", 60.0);
}

#[test]
fn handlers_that_interrupt_waiting_calls_take_no_signal_of_ours() {
    let Some(target) = c("wait_handlers.c", &[]) else {
        return;
    };
    for way in [WAYS[0], WAYS[1]] {
        let recording = Program::new(target.clone()).options(way).same();
        recording.hot("burn_after_waits", 60.0);
    }
}

#[test]
fn a_recorder_that_does_not_answer_holds_nobody_up() {
    let Some(target) = c("stopped_recorder.c", &[]) else {
        return;
    };
    let program = Program::new(&target).without_recorder();
    let (recording, outcome) = program.slack(5.0).same_with(|mut outcome| {
        outcome.files.clear();
        outcome
    });
    assert!(outcome.stdout.contains("traps"), "{}", outcome.stdout);
    recording.hot("burn_after_calls", 60.0);
}

/// Runs the target that uses SIGURG itself in each way to record.
fn uses_our_signal(how: &str, each: impl Fn(&Recording)) {
    let Some(target) = c("urgent_waits.c", &[]) else {
        return;
    };
    for way in WAYS {
        let program = Program::new(&target).with(&[how]).options(way).slack(3.0);
        let recording = program.same();
        // Where threads wait for a CPU, shares are none of the work.
        if !way.contains(&"--wall") {
            each(&recording);
        }
    }
}

#[test]
fn our_signal_is_read_from_a_descriptor() {
    uses_our_signal("descriptor", |recording| {
        recording.hot("burn_user", 35.0).hot("burn_kernel", 30.0);
    });
}

#[test]
fn our_signals_are_waited_for_by_name() {
    uses_our_signal("waiting", |recording| {
        recording.hot("burn_user", 35.0).hot("burn_kernel", 30.0);
    });
}

#[test]
fn our_signal_is_let_in_for_a_moment() {
    uses_our_signal("masks", |recording| {
        recording.hot("burn_user", 35.0).hot("burn_kernel", 30.0);
    });
}

#[test]
fn what_is_blocked_is_shown() {
    uses_our_signal("shown", |_| {});
}

#[test]
fn all_of_our_signals_are_used_by_the_program() {
    uses_our_signal("taken-shown", |_| {});
}

#[test]
fn time_without_samples_is_told() {
    let Some(target) = c("deaf.c", &[]) else {
        return;
    };
    for way in &WAYS[..2] {
        let recording = Program::new(&target).options(way).slack(2.0).same();
        // Time without samples is user time and system time in one.
        let (user, system) = recording.profile.cpu_used().expect("the kernel's count");
        let used = (user.0 + system.0) as f64 / 1e9;
        let told = recording.seconds();
        assert!(
            (told - used).abs() < 0.07 * used,
            "{way:?}: {told:.3} s of {used:.3} s; {}",
            recording.outline()
        );
        recording.hot("[signals blocked]", 50.0);
        recording.hot("burn_heard", 15.0);
    }
}

#[test]
fn what_children_execute_is_not_killed_by_the_signal_that_is_asked_instead() {
    let Some(shell) = tool("bash") else {
        return;
    };
    let program = Program::new(shell).with(&[source("traps_urgent.sh")]);
    program.slack(5.0).same();
}
