//! The kernel's cost of delivering one signal and returning from it, measured once per process.
//!
//! The handler can count its own cycles, but most of a sample's cost lies outside of it: the timer
//! interrupt, the signal's delivery and the return. A thread that only reads the cycle counter sees
//! these as gaps.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use profundo_linux::delivery::{Gaps, PERIOD};
use profundo_probe::handlers::{self, PERF_TAG};

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
    let tid = profundo_probe::sys::thread_id();
    // A SIGTRAP that does not come to us is deadly, or belongs to another handler.
    let signal = if handlers::trap_is_ours() {
        Signal::Trap { tag: TAG }
    } else {
        Signal::Urgent
    };
    let signals_before = handlers::set_calibrating(true);
    let clock = TaskClock::open(tid, PERIOD, signal).ok();
    let running = clock.as_ref().is_some_and(|clock| clock.enable().is_ok());
    let gaps = running.then(Gaps::spin);
    drop(clock);
    let signals = handlers::set_calibrating(false) - signals_before;
    gaps?.cost(signals)
}
