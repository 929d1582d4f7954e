//! Very many threads, most of them idle, and very many sessions.
//!
//! `crowd [engine]`

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use profundo_e2e::{argument, shape, storm_on, sys, work};

const IDLE: usize = 500;
const SESSIONS: usize = 200;

fn main() {
    let engine = argument(1).unwrap_or_else(|| "auto".into());
    storm_on(&engine).apply().unwrap();
    let gate = Mutex::new(());
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let closed = gate.lock().unwrap();
        for _ in 0..IDLE {
            let small = thread::Builder::new().stack_size(64 << 10);
            let wait = || drop(gate.lock().unwrap());
            small.spawn_scoped(scope, wait).unwrap();
        }
        for _ in 0..4 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    work::spin(10_000);
                }
            });
        }
        let began = Instant::now();
        profundo::start().unwrap();
        let start = began.elapsed();
        // Time itself: the threads are sampled for so long.
        thread::sleep(Duration::from_millis(300));
        profundo::stop();
        shape::check(&profundo::fetch().unwrap(), 0.999);
        let samples_of_idle = {
            let data = profundo::fetch().unwrap();
            let profile = data.profile();
            let busy: std::collections::HashSet<_> =
                profile.samples.iter().map(|sample| sample.thread).collect();
            busy.len()
        };
        assert!(samples_of_idle <= 5, "idle threads are left alone");
        many_sessions();
        done.store(true, Ordering::Relaxed);
        drop(closed);
        let line = format!("started in {start:?}");
        sys::note(&line);
        // A fifth of a second on a calm machine; others may be at work on this one.
        assert!(start < Duration::from_secs(10), "{line}");
    });
    sys::print_line("the crowd has gone home");
}

/// Many sessions in a row; each releases what it has allocated.
fn many_sessions() {
    let session = || {
        profundo::start().unwrap();
        profundo::stop();
    };
    let state = || {
        (
            sys::open_descriptors(),
            sys::status("Threads"),
            sys::status("VmRSS"),
            sys::timers(),
        )
    };
    for _ in 0..5 {
        session();
    }
    let (descriptors, threads, memory, timers) = state();
    for _ in 0..SESSIONS {
        session();
    }
    let after = state();
    let line = format!("{:?} {after:?}\n", (descriptors, threads, memory, timers));
    sys::note(&line);
    assert_eq!(
        (after.0, after.1, after.3),
        (descriptors, threads, timers),
        "{line}"
    );
    // In kilobytes; the profile itself grows meanwhile, and malloc keeps what it had.
    assert!(after.2 < memory + 20_000, "{line}");
}
