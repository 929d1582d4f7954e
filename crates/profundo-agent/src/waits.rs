//! Waiting for the interpreter's lock: CPython waits for it on a condition that lies in its
//! `_PyRuntime`, for five milliseconds at a time; and a thread that was asked to let go of it waits,
//! on another one there, until somebody else has it. A subinterpreter may have a lock of its own, which
//! lies elsewhere; it is looked for only while there are any. Other waits are none of our business.

use core::ffi::c_int;
use core::sync::atomic::{AtomicUsize, Ordering};

use libc::{clockid_t, pthread_cond_t, pthread_mutex_t, timespec};
use profundo_probe::python::Range;
use profundo_probe::{Counters, Slot, ThreadRecord, clock, sys};

use crate::{home, next_symbols};

/// Where `_PyRuntime` lies, and how long it is; 0 if there is none.
static START: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);

/// Says where it lies.
pub fn watch(runtime: Range) {
    let bytes = runtime.end.saturating_sub(runtime.start);
    START.store(runtime.start as usize, Ordering::Relaxed);
    BYTES.store(bytes as usize, Ordering::Relaxed);
}

/// Where the runtime keeps its newest interpreter and its first; 0 if they share one lock.
static INTERPRETERS: AtomicUsize = AtomicUsize::new(0);

/// Says where that is. The two words stay readable.
///
/// # Safety
/// They do.
pub unsafe fn watch_interpreters(interpreters: Option<u64>) {
    INTERPRETERS.store(interpreters.unwrap_or(0) as usize, Ordering::Relaxed);
}

#[inline]
fn is_interpreters(condition: *const pthread_cond_t) -> bool {
    let offset = (condition as usize).wrapping_sub(START.load(Ordering::Relaxed));
    offset < BYTES.load(Ordering::Relaxed) || are_many() && is_own_lock(condition)
}

/// Whether there are subinterpreters that may have locks of their own.
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

/// Those of the calling thread, if it has them.
fn here() -> Option<Here> {
    let home = home::current()?;
    // SAFETY: the probe was made before the home was settled.
    let probe = unsafe { home.probe() };
    let slot = probe.threads.find(sys::thread_id())?;
    Some((slot, probe.threads.record(slot.number())?, probe.counters))
}

/// Has the calling thread wait, and counts the time if it waits for the lock.
#[inline]
fn counted(condition: *const pthread_cond_t, wait: impl FnOnce() -> c_int) -> c_int {
    if !is_interpreters(condition) {
        return wait();
    }
    let entered = clock::now();
    match here() {
        Some(here) => counted_for(here, entered, wait),
        None => wait(),
    }
}

/// Threads that hand the lock to and fro wait a hundred thousand times a second, so nearly all waits are timed by
/// the cycle counter alone. Going to sleep and waking up take CPU time, which is no waiting; the kernel is asked
/// for it at one wait of so many, which is taken for the others.
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
    // That is a part of what the recording costs. Who takes longer was interrupted.
    let ours = began.wrapping_sub(entered) + clock::now().wrapping_sub(ended);
    counters
        .cycles
        .fetch_add(ours.min(LONGEST), Ordering::Relaxed);
    result
}

/// # Safety
/// As for `pthread_cond_wait`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cond_wait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
) -> c_int {
    let Some(real) = next_symbols::pthread_cond_wait() else {
        return libc::ENOSYS;
    };
    // SAFETY: the caller's arguments, passed on.
    counted(condition, || unsafe { real(condition, mutex) })
}

/// # Safety
/// As for `pthread_cond_timedwait`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cond_timedwait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    time: *const timespec,
) -> c_int {
    let Some(real) = next_symbols::pthread_cond_timedwait() else {
        return libc::ENOSYS;
    };
    // SAFETY: the caller's arguments, passed on.
    counted(condition, || unsafe { real(condition, mutex, time) })
}

/// # Safety
/// As for `pthread_cond_clockwait`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cond_clockwait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    clock: clockid_t,
    time: *const timespec,
) -> c_int {
    let Some(real) = next_symbols::pthread_cond_clockwait() else {
        return libc::ENOSYS;
    };
    // SAFETY: the caller's arguments, passed on.
    counted(condition, || unsafe { real(condition, mutex, clock, time) })
}
