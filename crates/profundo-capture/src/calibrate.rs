//! What the kernel takes to deliver one signal and return from it, measured once per process.
//!
//! The handler can count its own cycles, but most of a sample's cost lies outside of it: the timer
//! interrupt, the signal's delivery and the return. A thread that does nothing but read the
//! cycle counter sees these as gaps.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use profundo_probe::handlers::{self, PERF_TAG};

use crate::clock;
use crate::own_threads::OwnThread;
use crate::perf::{Signal, TaskClock};

/// The cost in nanoseconds, or one of the two below. No lock, which a forked child could inherit.
static DELIVERY: AtomicU64 = AtomicU64::new(UNTRIED);
const UNTRIED: u64 = u64::MAX;
const UNKNOWN: u64 = u64::MAX - 1;

/// The cost of one delivery in nanoseconds, if it has been measured.
pub(crate) fn delivery_cost() -> Option<u64> {
    let cost = DELIVERY.load(Ordering::Relaxed);
    (cost < UNKNOWN).then_some(cost)
}

/// Measures, unless that was done or tried before. No session is running.
pub(crate) fn once() {
    let first = DELIVERY.compare_exchange(UNTRIED, UNKNOWN, Ordering::Relaxed, Ordering::Relaxed);
    if first.is_err() {
        return;
    }
    let measuring = thread::Builder::new()
        .name("profundo".into())
        .spawn(measure);
    let measured = measuring
        .ok()
        .and_then(|thread| thread.join().ok())
        .flatten();
    if let Some(cost) = measured {
        DELIVERY.store(cost, Ordering::Relaxed);
    }
}

/// Spins for some milliseconds under a fast task clock whose signals do nothing.
fn measure() -> Option<u64> {
    let _own = OwnThread::register();
    const TAG: u64 = PERF_TAG | 0xFFFF_FFFF;
    const PERIOD: u64 = 100_000;
    /// So many gaps have a steady median; on a calm machine that takes four milliseconds.
    const ENOUGH: usize = 40;
    const AT_MOST: Duration = Duration::from_millis(12);
    let tid = profundo_probe::sys::thread_id();
    // A SIGTRAP that does not come to us is deadly, or somebody else's business.
    let signal = if handlers::trap_is_ours() {
        Signal::Trap { tag: TAG }
    } else {
        Signal::Urgent
    };
    let signals_before = handlers::set_calibrating(true);
    let clock = TaskClock::open(tid, PERIOD, signal).ok();
    let mut gaps = Vec::with_capacity(2 * ENOUGH);
    let started = clock::now();
    let began = Instant::now();
    let running = clock.as_ref().is_some_and(|clock| clock.enable().is_ok());
    while running && began.elapsed() < AT_MOST && gaps.len() < ENOUGH {
        let mut last = profundo_probe::clock::now();
        for _ in 0..1000 {
            let now = profundo_probe::clock::now();
            // A turn of this loop takes tens of cycles; a signal takes thousands.
            if now.wrapping_sub(last) > 1000 {
                gaps.push(now.wrapping_sub(last));
            }
            last = now;
        }
    }
    let ended = clock::now();
    drop(clock);
    let signals = handlers::set_calibrating(false) - signals_before;
    if signals < 20 || gaps.is_empty() {
        return None;
    }
    // Other interrupts make gaps too, and the scheduler makes long ones: the median is neither.
    gaps.sort_unstable();
    let median = gaps[gaps.len() / 2];
    let nanoseconds = ended.monotonic - started.monotonic;
    let cycles = ended.cycles - started.cycles;
    Some((median as f64 * nanoseconds as f64 / cycles as f64) as u64)
}
