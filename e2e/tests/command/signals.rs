//! Programs that use signals themselves, among them the one that the profiler uses.

use std::process::Command;

use profundo_testing::tool;

use crate::attach::Running;
use crate::inside_memory::Recorder;
use crate::program::{Program, alone};
use crate::recording::Recording;
use crate::targets::{c, source};

/// Ways to record, which send different signals.
const WAYS: [&[&str]; 3] = [&[], &["--engine", "cpu-timer"], &["--wall"]];

#[test]
fn handlers_on_a_stack_of_their_own() {
    let Some(target) = c("signal_stack.c", &[]) else {
        return;
    };
    let recording = Program::new(target).run_both_ways();
    recording.assert_share("burn_on_signal_stack", 70.0);
}

fn check_handler(signal: i32) {
    let Some(target) = c("own_handlers.c", &[]) else {
        return;
    };
    let recording = Program::new(target)
        .with(&[signal.to_string()])
        .run_both_ways();
    recording.assert_share("burn_between", 50.0);
}

#[test]
fn handler_of_the_profiling_timer() {
    check_handler(libc::SIGPROF);
}

#[test]
fn handler_of_faults() {
    check_handler(libc::SIGSEGV);
}

#[test]
fn handler_of_traps() {
    check_handler(libc::SIGTRAP);
}

#[test]
fn handler_of_urgent_data() {
    check_handler(libc::SIGURG);
}

#[test]
fn urgent_data_on_a_socket() {
    let Some(target) = c("urgent_data.c", &[]) else {
        return;
    };
    Program::new(target)
        .run_both_ways()
        .assert_share("burn_between", 50.0);
}

#[test]
fn requests_by_sigurg_arrive() {
    const ANSWER: &str = "6 of 6 threads answer\n";
    let Some(target) = c("urgent_requests.c", &["-pthread"]) else {
        return;
    };
    let program = Program::new(&target).input("ask\n");
    let (_, outcome) = program.run_both_ways_with(|outcome| outcome);
    assert_eq!(outcome.stdout, format!("begun\n{ANSWER}"));
    let _alone = alone();
    let mut running = Running::start(Command::new(&target));
    let Some(recorder) = Recorder::start(&running.pid(), &["--inside"]) else {
        return;
    };
    running.say("ask\n");
    assert_eq!(running.until("\n"), ANSWER);
    recorder.end();
    assert_eq!(running.end(), (String::new(), Some(7)));
}

#[test]
fn all_signals_masked() {
    let Some(target) = c("masks_all.c", &[]) else {
        return;
    };
    let recording = Program::new(target).run_both_ways();
    recording
        .assert_share("burn_masked", 50.0)
        .assert_share("burn_open", 8.0);
}

#[test]
fn rare_uses_of_signals() {
    let Some(target) = c("odd_signals.c", &[]) else {
        return;
    };
    for way in WAYS {
        let program = Program::new(target.clone()).options(way).slack(20.0);
        program.run_both_ways().assert_share("burn_between", 5.0);
    }
}

#[test]
fn unmapped_signal_sets_are_errors_and_no_faults() {
    let Some(target) = c("readable.c", &[]) else {
        return;
    };
    for way in WAYS {
        Program::new(target.clone()).options(way).run_both_ways();
    }
}

#[test]
fn waiting_for_all_signals() {
    let Some(target) = c("sigwait.c", &[]) else {
        return;
    };
    Program::new(target).run_both_ways();
}

#[test]
fn calls_that_wait_are_not_interrupted() {
    let Some(target) = c("waiting_calls.c", &[]) else {
        return;
    };
    let recording = Program::new(target).run_both_ways();
    recording.assert_share("burn_between_calls", 60.0);
}

#[test]
fn handlers_that_interrupt_waiting_calls_take_no_signal_of_the_profiler() {
    let Some(target) = c("wait_handlers.c", &[]) else {
        return;
    };
    for way in [WAYS[0], WAYS[1]] {
        let recording = Program::new(target.clone()).options(way).run_both_ways();
        recording.assert_share("burn_after_waits", 60.0);
    }
}

#[test]
fn a_stopped_recorder_holds_no_program_up() {
    let Some(target) = c("stopped_recorder.c", &[]) else {
        return;
    };
    let program = Program::new(&target).without_recorder();
    let (recording, outcome) = program.slack(5.0).run_both_ways_with(|mut outcome| {
        outcome.files.clear();
        outcome
    });
    assert!(outcome.stdout.contains("traps"), "{}", outcome.stdout);
    recording.assert_share("burn_after_calls", 60.0);
}

/// Runs the target that uses SIGURG itself in each way to record.
fn check_sigurg(how: &str, each: impl Fn(&Recording)) {
    let Some(target) = c("urgent_waits.c", &[]) else {
        return;
    };
    for way in WAYS {
        let program = Program::new(&target).with(&[how]).options(way).slack(3.0);
        let recording = program.run_both_ways();
        // With `--wall`, threads that wait for a CPU have shares too.
        if !way.contains(&"--wall") {
            each(&recording);
        }
    }
}

#[test]
fn sigurg_is_read_from_a_descriptor() {
    check_sigurg("descriptor", |recording| {
        recording
            .assert_share("burn_user", 35.0)
            .assert_share("burn_kernel", 30.0);
    });
}

#[test]
fn sigurg_is_waited_for_by_name() {
    check_sigurg("waiting", |recording| {
        recording
            .assert_share("burn_user", 35.0)
            .assert_share("burn_kernel", 30.0);
    });
}

#[test]
fn sigurg_is_unblocked_for_a_moment() {
    check_sigurg("masks", |recording| {
        recording
            .assert_share("burn_user", 35.0)
            .assert_share("burn_kernel", 30.0);
    });
}

#[test]
fn blocked_signals_are_shown() {
    check_sigurg("shown", |_| {});
}

#[test]
fn the_program_uses_all_signals_of_the_profiler() {
    check_sigurg("taken-shown", |_| {});
}

#[test]
fn time_without_samples_is_counted() {
    let Some(target) = c("deaf.c", &[]) else {
        return;
    };
    for way in &WAYS[..2] {
        let recording = Program::new(&target)
            .options(way)
            .slack(2.0)
            .run_both_ways();
        // Time without samples is user time and system time in one.
        let (user, system) = recording.profile.cpu_used().expect("the kernel's count");
        let used = (user.0 + system.0) as f64 / 1e9;
        let counted = recording.seconds();
        assert!(
            (counted - used).abs() < 0.07 * used,
            "{way:?}: {counted:.3} s of {used:.3} s; {}",
            recording.outline()
        );
        recording.assert_share("[signals blocked]", 50.0);
        recording.assert_share("burn_heard", 15.0);
    }
}

#[test]
fn a_thread_that_rested_is_seen_to_block() {
    let Some(target) = c("late_deaf.c", &[]) else {
        return;
    };
    for way in &WAYS[..2] {
        let program = Program::new(&target).options(way).slack(2.0);
        let recording = program.run_both_ways();
        let (user, system) = recording.profile.cpu_used().expect("the kernel's count");
        let used = (user.0 + system.0) as f64 / 1e9;
        let counted = recording.seconds();
        assert!(
            (counted - used).abs() < 0.07 * used,
            "{way:?}: {counted:.3} s of {used:.3} s; {}",
            recording.outline()
        );
    }
}

#[test]
fn programs_that_children_execute_are_not_killed_by_the_substitute_signal() {
    let Some(shell) = tool("bash") else {
        return;
    };
    let program = Program::new(shell).with(&[source("traps_urgent.sh")]);
    program.slack(5.0).run_both_ways();
}
