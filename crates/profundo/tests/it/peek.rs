//! The peek: a signal shows where the program is, again and again, and harms nothing.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use profundo::{get_peek_duration, peek, set_peek_duration, set_peek_report};

use crate::program::{Program, ready, wait_for_the_end};
use crate::work::busy;

/// The start of the report.
const REPORT: &str = "Overhead ╎";
/// The text after the report.
const END: &str = "Quality:";

pub fn waits_for_a_peek() {
    peek::install().unwrap();
    peek::install().unwrap();
    set_peek_duration(0.2).unwrap();
    ready();
    wait_for_the_end();
}

#[test]
fn an_idle_program_can_be_peeked_at_twice() {
    let mut program = Program::start("waits for a peek");
    program.wait_until_ready();
    for _ in 0..2 {
        program.signal();
        program.wait_for("Information request received");
        program.wait_for("Profile collected");
        program.wait_for(REPORT);
    }
    let outcome = program.end();
    assert!(outcome.stderr.contains("0.2 second profile"));
    // The idle program's wait.
    assert!(outcome.stderr.contains("wait_for_the_end"));
    assert!(outcome.stdout.contains("1 passed"));
}

pub fn works_during_a_peek() {
    static ENOUGH: AtomicBool = AtomicBool::new(false);
    peek::install().unwrap();
    set_peek_duration(0.3).unwrap();
    let worker = std::thread::Builder::new().name("worker".into());
    let worker = worker.spawn(|| {
        while !ENOUGH.load(Ordering::Relaxed) {
            busy(10);
        }
    });
    ready();
    wait_for_the_end();
    ENOUGH.store(true, Ordering::Relaxed);
    worker.unwrap().join().unwrap();
}

#[test]
fn a_busy_program_is_seen_at_work() {
    let mut program = Program::start("works during a peek");
    program.wait_until_ready();
    program.signal();
    let before = program.wait_for(REPORT).to_owned();
    assert!(before.contains("busy at "), "no stack of busy: {before}");
    let said = program.wait_for(END).to_owned();
    let report = &said[before.len()..];
    assert!(report.contains("(worker)"), "{report}");
    assert!(report.contains("work::busy"), "{report}");
    // The lookup of names takes threads and CPU time of ours, which are not in the program's
    // profile.
    assert!(!report.contains("(profundo"), "{report}");
    program.end();
}

pub fn profiles_during_a_peek() {
    peek::install().unwrap();
    set_peek_duration(0.1).unwrap();
    profundo::profile!({
        busy(50);
        ready();
        wait_for_the_end();
    })
    .unwrap();
    // The peek has not touched the samples.
    assert!(!profundo::fetch().unwrap().is_empty());
}

#[test]
fn a_program_that_profiles_is_not_disturbed() {
    let mut program = Program::start("profiles during a peek");
    program.wait_until_ready();
    program.signal();
    program.wait_for("A profile is already running");
    let outcome = program.end();
    assert!(!outcome.stderr.contains("Profile collected"));
}

pub fn reports_in_its_own_way() {
    peek::install_for(libc::SIGUSR1).unwrap();
    let one_is_enough = peek::install_for(libc::SIGUSR2).unwrap_err().to_string();
    assert!(
        one_is_enough.ends_with("signal 10 is used already"),
        "{one_is_enough}"
    );
    set_peek_duration(0.1).unwrap();
    set_peek_report(|| {
        let samples = profundo::fetch().map(|data| data.len());
        let _ = writeln!(std::io::stderr(), "our own report: {samples:?}");
    });
    ready();
    wait_for_the_end();
}

#[test]
fn the_report_can_be_replaced() {
    let mut program = Program::start("reports in its own way");
    program.wait_until_ready();
    program.signal();
    program.wait_for("our own report: Ok(");
    let outcome = program.end();
    assert!(!outcome.stderr.contains(REPORT));
}

#[test]
fn wrong_durations_and_signals_are_refused() {
    for seconds in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e9] {
        let said = set_peek_duration(seconds).unwrap_err().to_string();
        assert!(
            said.contains("is not possible; it must be more than 0 and at most 3600 seconds"),
            "{seconds}: {said}"
        );
    }
    let before = get_peek_duration();
    set_peek_duration(2.5).unwrap();
    assert!((get_peek_duration() - 2.5).abs() < 1e-6);
    set_peek_duration(before).unwrap();
    for signal in [0, 65, libc::SIGKILL, libc::SIGSEGV, libc::SIGTRAP] {
        let said = peek::install_for(signal).unwrap_err().to_string();
        assert!(
            said.contains("cannot be used to peek; SIGUSR1 and SIGUSR2 can"),
            "{signal}: {said}"
        );
    }
}
