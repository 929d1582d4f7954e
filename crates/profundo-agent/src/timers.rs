//! A thread's own timer on its CPU clock, which signals that very thread: beside the command's task
//! clocks one that looks for system time, or, where those are not permitted, the one that samples.

use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::Ordering;

use profundo_probe::handlers::value;
use profundo_probe::shared::Control;
use profundo_probe::{Slot, phase, sys, urgent};

use crate::home::Home;
use crate::{claims, process, session};

/// The engine's number that says so.
const CPU_TIMER: u32 = 1;

/// How often timers of this session tick, in nanoseconds, and what they say; `None`: there are
/// none.
fn kind(control: &Control) -> Option<(u64, u64)> {
    let (period, value) = if control.engine.load(Ordering::Relaxed) == CPU_TIMER {
        (control.period.load(Ordering::Relaxed), value::CPU_TIMER)
    } else {
        (
            control.system_period.load(Ordering::Relaxed),
            value::SYSTEM_TIMER,
        )
    };
    (period != 0).then_some((period, value))
}

/// Starts the timer of a thread of this process, and notes it in the thread's slot.
pub fn start(control: &Control, slot: &Slot, tid: u32) {
    // The signal may change between the look at it and the note, after which others see the timer.
    loop {
        let signal = claims::sent();
        let Some(timer) = make(control, tid, signal) else {
            return;
        };
        if !slot.note_timer(tid, timer) {
            // Somebody else was faster, or the thread has ended.
            return stop(timer);
        }
        if claims::sent() == signal {
            return;
        }
        end(slot);
    }
}

/// Restarts all timers with the signal that is sent from now on. Several threads may do this at one time: a thread
/// that starts a timer checks the signal again once the other threads can see the timer.
pub fn restart_all(home: Home) {
    let Some(control) = session::control() else {
        return;
    };
    // SAFETY: the probe was made before the home was settled.
    for slot in unsafe { home.probe() }.threads.slots() {
        let tid = slot.tid();
        if end(slot) {
            start(control, slot, tid);
        }
    }
}

/// Takes all timers back.
pub fn end_all(home: Home) {
    // SAFETY: the probe was made before the home was settled.
    for slot in unsafe { home.probe() }.threads.slots() {
        end(slot);
    }
}

/// Takes a thread's timer back. Returns whether it had one.
pub fn end(slot: &Slot) -> bool {
    let timer = slot.replace_timer(None);
    timer.map(stop).is_some()
}

/// How far the kernel's ticks lie apart, in nanoseconds.
fn tick(control: &Control) -> u64 {
    control.tick.load(Ordering::Relaxed).into()
}

/// How long it is until the kernel's next tick: the coarse clock says when the last one was.
fn until_tick(control: &Control) -> u64 {
    let last = sys::time(libc::CLOCK_MONOTONIC_COARSE);
    let since = sys::time(libc::CLOCK_MONOTONIC).saturating_sub(last);
    tick(control).saturating_sub(since)
}

/// Makes a timer on a thread's CPU clock. `None`: there is to be none.
fn make(control: &Control, tid: u32, signal: i32) -> Option<u32> {
    let (period, value) = kind(control)?;
    if signal == 0 {
        return None;
    }
    urgent::set_timer_period(period);
    // SAFETY: zeroed is a valid sigevent; the fields that matter are set below.
    let mut event: libc::sigevent = unsafe { MaybeUninit::zeroed().assume_init() };
    event.sigev_notify = libc::SIGEV_THREAD_ID;
    event.sigev_signo = signal;
    event.sigev_notify_thread_id = tid as i32;
    event.sigev_value.sival_ptr = ptr::without_provenance_mut(value as usize);
    let mut timer = 0_i32;
    // SAFETY: both pointers are ours and valid during the call.
    let made = unsafe {
        let event = (&raw const event) as usize;
        let timer = (&raw mut timer) as usize;
        let clock = process::cpu_clock_of(tid) as usize;
        sys::call(libc::SYS_timer_create, [clock, event, timer, 0, 0, 0])
    };
    if made != 0 {
        return None;
    }
    let first = phase::first_expiry(period, tick(control), until_tick(control), u64::from(tid));
    let spec = |nanos: u64| libc::timespec {
        tv_sec: (nanos / 1_000_000_000) as i64,
        tv_nsec: (nanos % 1_000_000_000) as i64,
    };
    let times = libc::itimerspec {
        it_interval: spec(period),
        it_value: spec(first),
    };
    // SAFETY: the timer was just made, and the times are ours.
    unsafe {
        let times = (&raw const times) as usize;
        sys::call(libc::SYS_timer_settime, [timer as usize, 0, times, 0, 0, 0]);
    }
    Some(timer as u32)
}

/// Takes a timer back.
fn stop(timer: u32) {
    // SAFETY: the number is that of a timer of ours, which is not used any more.
    unsafe { sys::call(libc::SYS_timer_delete, [timer as usize, 0, 0, 0, 0, 0]) };
}
