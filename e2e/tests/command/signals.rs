//! Programs that have signals of their own, among them the one that we use.

use crate::program::Program;
use crate::targets::c;

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
    // Their time is not lost: it is known by the kernel's count.
    recording.hot("[signals blocked]", 50.0);
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
