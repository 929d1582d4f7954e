//! The clock that samples a thread: one that runs on and on has a task clock, one that is switched
//! all the time is sampled at the kernel's ticks, and a thread may go from one to the other.

use profundo_model::Engine;
use profundo_testing::{skip, tool};

use crate::program::Program;
use crate::recording::Recording;
use crate::targets::c;

/// The samples in this function and what it calls, for each second of their time.
fn samples_per_second(recording: &Recording, function: &str) -> f64 {
    let samples = recording.profile.samples.iter();
    let inside: Vec<u64> = samples
        .filter(|sample| recording.names(sample).contains(&function))
        .map(|sample| sample.weight.0)
        .collect();
    inside.len() as f64 / (inside.iter().sum::<u64>() as f64 / 1e9).max(1e-9)
}

/// The time between two of the kernel's ticks, in seconds.
fn tick() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the place is ours.
    unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &raw mut time) };
    time.tv_nsec as f64 / 1e9
}

#[test]
fn threads_have_clocks_while_they_are_seldom_switched() {
    let Some(target) = c("switched_threads.c", &["-pthread"]) else {
        return;
    };
    let recording = Program::new(target).run_both_ways();
    recording.assert_sampled(90.0);
    let profile = &recording.profile;
    if profile.meta.engine != Engine::PerfSignal {
        return skip("perf events are not permitted");
    }
    if tick() < 0.003 {
        return skip("this kernel ticks nearly as often as a clock");
    }
    let seldom = samples_per_second(&recording, "exchange");
    assert!(seldom < 500.0, "{seldom}; {}", recording.outline());
    // Of the first 0.5 s all but the beginning, and of the last all but the end of the exchange's
    // time. On a busy machine this thread is switched often too.
    for function in ["burn_at_first", "burn_at_last"] {
        let often = samples_per_second(&recording, function);
        assert!(
            often > 1.4 * seldom,
            "{function}: {often}; {}",
            recording.outline()
        );
    }
    // Two threads exchange for half a second of the first one's time.
    let by_ticks = profile.meta.by_ticks.unwrap().0 as f64 / 1e9;
    assert!(
        (0.2..1.6).contains(&by_ticks),
        "{by_ticks} s; {}",
        recording.outline()
    );
}

#[test]
fn threads_that_can_have_no_timer_have_clocks() {
    let (Some(prlimit), Some(target)) = (tool("prlimit"), c("switched_threads.c", &["-pthread"]))
    else {
        return;
    };
    // The limit of pending signals counts timers too.
    let limit = "--sigpending=0".into();
    let program = Program::new(prlimit).with(&[limit, target.into_os_string()]);
    let recording = program.run_both_ways();
    if recording.profile.meta.engine != Engine::PerfSignal {
        return skip("perf events are not permitted");
    }
    recording
        .assert_share("burn_at_first", 25.0)
        .assert_share("burn_at_last", 25.0);
}
