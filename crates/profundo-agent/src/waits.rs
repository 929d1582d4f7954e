//! Waiting for the interpreter's lock: CPython waits for it on a condition that lies in its
//! `_PyRuntime`, for five milliseconds at a time; and a thread that was asked to release it waits,
//! on another condition there, until another thread has it. A subinterpreter may have a lock of its
//! own, which lies elsewhere; it is looked for only while there are any. Other waits are not
//! counted.

use core::ffi::c_int;
use core::sync::atomic::{AtomicUsize, Ordering};

use libc::pthread_cond_t;
use profundo_probe::python::Range;
use profundo_probe::{Counters, Slot, ThreadRecord, clock, sys};

use crate::home;

/// The address of `_PyRuntime`, and its length; 0 if there is none.
static START: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);

/// Sets the range of `_PyRuntime`.
pub fn watch(runtime: Range) {
    let bytes = runtime.end.saturating_sub(runtime.start);
    START.store(runtime.start as usize, Ordering::Relaxed);
    BYTES.store(bytes as usize, Ordering::Relaxed);
}

/// The place where the runtime keeps its newest interpreter and its first; 0 if they share one
/// lock.
static INTERPRETERS: AtomicUsize = AtomicUsize::new(0);

/// Sets the place where the runtime keeps its newest interpreter and its first.
///
/// # Safety
/// The two words stay readable.
pub unsafe fn watch_interpreters(interpreters: Option<u64>) {
    INTERPRETERS.store(interpreters.unwrap_or(0) as usize, Ordering::Relaxed);
}

#[inline]
fn is_interpreters(condition: *const pthread_cond_t) -> bool {
    let offset = (condition as usize).wrapping_sub(START.load(Ordering::Relaxed));
    offset < BYTES.load(Ordering::Relaxed) || are_many() && is_own_lock(condition)
}

/// True if there are subinterpreters that may have locks of their own.
#[inline]
fn are_many() -> bool {
    let place = INTERPRETERS.load(Ordering::Relaxed) as *const u64;
    if place.is_null() {
        return false;
    }
    // SAFETY: `watch_interpreters` was promised that both words are readable.
    let (newest, first) = unsafe { (place.read_volatile(), place.add(1).read_volatile()) };
    newest != first
}

#[cold]
fn is_own_lock(condition: *const pthread_cond_t) -> bool {
    let Some(home) = home::current() else {
        return false;
    };
    // SAFETY: the probe was made before the home was settled.
    let recorder = unsafe { home.probe().recorder.as_ref() };
    let interpreter = recorder.and_then(|recorder| recorder.python.get());
    interpreter.is_some_and(|interpreter| interpreter.is_own_lock(condition as u64))
}

/// The slot of a thread, its record, and where the cost is counted.
type Here = (&'static Slot, &'static ThreadRecord, &'static Counters);

/// The slot and record of the calling thread, if it has them.
fn here() -> Option<Here> {
    let home = home::current()?;
    // SAFETY: the probe was made before the home was settled.
    let probe = unsafe { home.probe() };
    let slot = probe.threads.find(sys::thread_id())?;
    Some((slot, probe.threads.record(slot.number())?, probe.counters))
}

/// Waits, and counts the time if the wait is for the lock.
#[inline]
pub fn counted(condition: *const pthread_cond_t, wait: impl FnOnce() -> c_int) -> c_int {
    if !is_interpreters(condition) {
        return wait();
    }
    let entered = clock::now();
    match here() {
        Some(here) => counted_for(here, entered, wait),
        None => wait(),
    }
}

/// Threads that contend for the lock wait a hundred thousand times a second, so nearly all waits
/// are timed by the cycle counter alone. Going to sleep and waking up take CPU time, which is no
/// waiting; the kernel is asked for it at one wait of many, which stands for the others.
fn counted_for(
    (slot, record, counters): Here,
    entered: u64,
    wait: impl FnOnce() -> c_int,
) -> c_int {
    const MEASURED: u32 = 16;
    /// Some ten microseconds, in cycles.
    const LONGEST: u64 = 1 << 15;
    let is_measured = slot.count_wait().is_multiple_of(MEASURED);
    slot.set_waiting(true);
    let cpu = is_measured.then(sys::thread_cpu_time);
    let began = clock::now();
    let result = wait();
    let ended = clock::now();
    let passed = ended.wrapping_sub(began);
    if let Some(before) = cpu {
        slot.note_wait_cost(sys::thread_cpu_time().saturating_sub(before));
    }
    slot.set_waiting(false);
    let awake = u64::from(slot.wait_cost());
    record.gil_cycles.fetch_add(passed, Ordering::Relaxed);
    record.gil_awake.fetch_add(awake, Ordering::Relaxed);
    // That is a part of the cost of recording. A longer time means that the thread was interrupted.
    let ours = began.wrapping_sub(entered) + clock::now().wrapping_sub(ended);
    counters
        .cycles
        .fetch_add(ours.min(LONGEST), Ordering::Relaxed);
    result
}
