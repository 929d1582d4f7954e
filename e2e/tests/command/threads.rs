//! Threads: very many, very deep, cancelled, and alive at the program's end.

use crate::program::Program;
use crate::targets::{c, cpp};

#[test]
fn memory_in_the_destructors_of_thread_locals() {
    let Some(target) = cpp("tls_destructors.cpp", &[]) else {
        return;
    };
    let recording = Program::new(target).run_both_ways();
    recording.assert_share("burn_in_destructor", 70.0);
}

#[test]
fn ten_thousand_short_threads() {
    let Some(target) = c("short_threads.c", &[]) else {
        return;
    };
    // Each thread costs a few system calls of the profiler's.
    let recording = Program::new(target).slack(6.0).run_both_ways();
    recording.assert_one_root();
}

#[test]
fn named_threads_that_are_alive_at_the_end() {
    let Some(target) = c("named_threads.c", &[]) else {
        return;
    };
    let recording = Program::new(target).run_both_ways();
    recording.assert_sound();
    let quarters = ["alpha", "beta", "gamma", "delta"];
    for name in quarters {
        assert!(
            recording.threads().contains(name),
            "{}",
            recording.outline()
        );
        // Four threads on two processors: their shares differ from run to run.
        recording.assert_share(&format!("burn_in_{name}"), 15.0);
    }
}

#[test]
fn fifty_thousand_calls_deep() {
    let Some(target) = c("deep.c", &[]) else {
        return;
    };
    let recording = Program::new(target).run_both_ways();
    // The stack is deeper than any walk.
    recording
        .assert_share("burn_at_the_bottom", 90.0)
        .assert_sampled(97.0);
}

#[test]
fn exceptions_through_forty_frames() {
    let Some(target) = cpp("exceptions.cpp", &[]) else {
        return;
    };
    let recording = Program::new(target).run_both_ways();
    recording
        .assert_share("throws_below", 50.0)
        .assert_sampled(97.0)
        .assert_whole(99.0);
}

#[test]
fn threads_that_are_cancelled_in_functions_of_the_agent() {
    let Some(target) = cpp("cancelled.cpp", &[]) else {
        return;
    };
    // The program prints which destructors ran.
    Program::new(target).run_both_ways();
}

#[test]
fn long_jumps_and_coroutines() {
    let Some(target) = c("longjmp.c", &[]) else {
        return;
    };
    let recording = Program::new(target).run_both_ways();
    recording
        .assert_share("descend", 25.0)
        .assert_share("burn_in_coroutine", 20.0);
}
