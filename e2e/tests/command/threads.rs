//! Many threads, strange threads, and threads at strange times.

use crate::program::Program;
use crate::targets::{c, cpp};

#[test]
fn memory_in_the_destructors_of_thread_locals() {
    let Some(target) = cpp("tls_destructors.cpp", &[]) else {
        return;
    };
    let recording = Program::new(target).same();
    recording.hot("burn_in_destructor", 70.0);
}

#[test]
fn ten_thousand_short_threads() {
    let Some(target) = c("short_threads.c", &[]) else {
        return;
    };
    // Each thread costs a few system calls of the profiler's.
    let recording = Program::new(target).slack(6.0).same();
    recording.is_tree();
}

#[test]
fn named_threads_that_are_alive_at_the_end() {
    let Some(target) = c("named_threads.c", &[]) else {
        return;
    };
    let recording = Program::new(target).same();
    recording.sound();
    let quarters = ["alpha", "beta", "gamma", "delta"];
    for name in quarters {
        assert!(
            recording.threads().contains(name),
            "{}",
            recording.outline()
        );
        // Two processors for four threads: how much each gets, nobody promises.
        recording.hot(&format!("burn_in_{name}"), 15.0);
    }
}

#[test]
fn fifty_thousand_calls_deep() {
    let Some(target) = c("deep.c", &[]) else {
        return;
    };
    let recording = Program::new(target).same();
    // The way to the root is longer than any walk.
    recording.hot("burn_at_the_bottom", 90.0).full(97.0);
}

#[test]
fn exceptions_through_forty_frames() {
    let Some(target) = cpp("exceptions.cpp", &[]) else {
        return;
    };
    let recording = Program::new(target).same();
    recording.hot("throws_below", 50.0).full(97.0).whole(99.0);
}

#[test]
fn threads_that_are_cancelled_in_functions_of_ours() {
    let Some(target) = cpp("cancelled.cpp", &[]) else {
        return;
    };
    // What it prints says which destructors ran.
    Program::new(target).same();
}

#[test]
fn long_jumps_and_coroutines() {
    let Some(target) = c("longjmp.c", &[]) else {
        return;
    };
    let recording = Program::new(target).same();
    recording
        .hot("descend", 25.0)
        .hot("burn_in_coroutine", 20.0);
}
