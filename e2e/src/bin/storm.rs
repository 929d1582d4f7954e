//! Threads start and end all the time, and unwind through deep stacks, while ten thousand samples
//! a second of CPU time are taken.
//!
//! `storm threads|panics|wall [engine]`

use std::hint::black_box;
use std::panic::{catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use profundo_e2e::{argument, seconds, shape, shape::Named, storm_on, sys, work};

static STARTED: AtomicU64 = AtomicU64::new(0);

fn main() {
    let what = argument(1).expect("what to do");
    let engine = argument(2).unwrap_or_else(|| "auto".into());
    storm_on(&engine).apply().unwrap();
    let end = Instant::now() + seconds(1.0);
    match what.as_str() {
        "threads" => profundo::profile!(on_four_threads(|| threads(end))).unwrap(),
        "panics" => profundo::profile!(on_four_threads(|| panics(end))).unwrap(),
        "wall" => profundo::profile_walltime!(on_four_threads(|| threads(end))).unwrap(),
        other => panic!("cannot do {other:?}"),
    }
    let data = profundo::fetch().unwrap();
    let profile = data.profile();
    let share = match what.as_str() {
        // The stack of a thread that ends while it is read has only a reason.
        "wall" => 0.6,
        // While the unwinder installs a frame, its own frame has that one's registers.
        "panics" => 0.95,
        _ => 0.999,
    };
    let measured = shape::check(&data, share);
    let started = STARTED.load(Ordering::Relaxed);
    sys::note(&format!(
        "{started} threads, {} known, {:?}, cpu {:?}, {:?}",
        profile.threads.len(),
        measured,
        profile.meta.cpu,
        profile.meta.loss
    ));
    assert!(
        profile.threads.len() as u64 <= started + 10,
        "threads are numbered once"
    );
    // The unwinder's last two instructions have a new stack pointer and an old table.
    let share = if what == "panics" { 0.005 } else { 0.001 };
    Named::new(&data).check_roots(share);
    sys::print_line("the storm is over");
}

fn on_four_threads(body: impl Fn() + Sync) {
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(&body);
        }
    });
    STARTED.fetch_add(4, Ordering::Relaxed);
}

/// Starts threads one after the other; each works for some hundred microseconds.
fn threads(end: Instant) {
    while Instant::now() < end {
        let one = thread::spawn(|| black_box(work::spin(20_000)));
        let other = thread::spawn(|| black_box(recurse(100, 20)));
        black_box(one.join().unwrap() ^ other.join().unwrap());
        STARTED.fetch_add(2, Ordering::Relaxed);
    }
}

fn recurse(depth: u32, turns: u64) -> u64 {
    if depth == 0 {
        return work::spin(turns);
    }
    black_box(recurse(black_box(depth) - 1, turns)) ^ work::spin(turns)
}

/// Unwinds deep stacks over and over: the unwinder's own frames are sampled too.
fn panics(end: Instant) {
    while Instant::now() < end {
        for depth in [1, 10, 50] {
            let caught = catch_unwind(|| dive(depth)).unwrap_err();
            assert_eq!(caught.downcast_ref::<u32>(), Some(&7));
        }
    }
}

struct Cleanup(u64);

impl Drop for Cleanup {
    fn drop(&mut self) {
        black_box(work::spin(self.0));
    }
}

fn dive(depth: u32) -> u64 {
    let cleanup = Cleanup(10);
    if depth == 0 {
        // Without the hook, which would print.
        resume_unwind(Box::new(7_u32));
    }
    if depth.is_multiple_of(10) {
        // Caught and thrown on in the middle of the way.
        return match catch_unwind(|| dive(depth - 1)) {
            Ok(value) => value ^ cleanup.0,
            Err(payload) => resume_unwind(payload),
        };
    }
    black_box(dive(black_box(depth) - 1)) ^ cleanup.0
}
