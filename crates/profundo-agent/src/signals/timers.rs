//! A thread's own timer on its CPU clock, which signals that very thread at ticks of the kernel's.
//! It samples the thread as long as no task clock does, and beside one it looks for system time
//! (`profundo_probe::pace`).

use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::{Ordering, fence};

use profundo_probe::handlers::value;
use profundo_probe::shared::{Control, engine};
use profundo_probe::{Slot, sys, weight};

use crate::home::Home;
use crate::signals::sent;
use crate::{process, session};

/// The kind of timers in this session; `None`: there are none.
fn kind(control: &Control) -> Option<u64> {
    match control.engine.load(Ordering::Relaxed) {
        engine::CPU_TIMER => Some(value::CPU_TIMER),
        _ if control.system_period.load(Ordering::Relaxed) == 0 => None,
        _ => Some(value::SYSTEM_TIMER),
    }
}

/// Starts the timer of a thread of this process, and notes it in the thread's slot. `false`: it
/// gets none.
pub fn start(control: &Control, slot: &Slot, tid: u32) -> bool {
    // The signal may change between this read and the note, after which other threads see the
    // timer.
    loop {
        let signal = sent::sent();
        let Some(timer) = make(control, tid, signal) else {
            return false;
        };
        if !slot.note_timer(tid, timer) {
            // Another thread was faster, or this one has ended.
            stop(timer);
            return true;
        }
        // The one side notes the timer and reads the signal, the other one writes the signal and
        // reads the timers: one of them sees what the other has written.
        fence(Ordering::SeqCst);
        if sent::sent() == signal {
            return true;
        }
        // The slot's memory may have been given back meanwhile, and the timer is there still. The
        // kernel does not give its number to another one so soon.
        if !end(slot) {
            stop(timer);
        }
    }
}

/// Restarts all timers with the new signal. Several threads may do this at one time: a thread that
/// starts a timer checks the signal again once the other threads can see the timer.
pub fn restart_all(home: Home) {
    let Some(control) = session::control() else {
        return;
    };
    // SAFETY: the probe was made before the home was settled.
    let probe = unsafe { home.probe() };
    for slot in probe.threads.slots() {
        let tid = slot.tid();
        if end(slot) && !start(control, slot, tid) {
            probe.go_on_without_timer(slot);
        }
    }
}

/// Deletes all timers for good.
pub fn end_all(home: Home) {
    // SAFETY: the probe was made before the home was settled.
    for slot in unsafe { home.probe() }.threads.slots() {
        end(slot);
    }
}

/// Deletes a thread's timer. Returns whether it had one.
pub fn end(slot: &Slot) -> bool {
    let timer = slot.replace_timer(None);
    timer.map(stop).is_some()
}

/// Deletes the calling thread's timer.
pub fn end_current(home: Home) {
    // SAFETY: the probe was made before the home was settled.
    if let Some(slot) = unsafe { home.probe() }.threads.find(sys::thread_id()) {
        end(slot);
    }
}

/// Makes a timer on a thread's CPU clock. `None`: there is to be none.
pub fn make(control: &Control, tid: u32, signal: i32) -> Option<u32> {
    let value = kind(control)?;
    if signal == 0 {
        return None;
    }
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
    // A thread with a task clock has its timer go on at this pace until it is asked for another
    // one.
    let interval = weight::timer_interval(control.tick.load(Ordering::Relaxed).into());
    sys::set_timer(timer as u32, 1, interval);
    Some(timer as u32)
}

/// Has a thread's timer tick when the thread has run for a whole interval.
pub fn put_off(control: &Control, slot: &Slot) {
    let interval = weight::timer_interval(control.tick.load(Ordering::Relaxed).into());
    if let Some(timer) = slot.timer() {
        sys::set_timer(timer, interval, interval);
    }
}

/// Deletes a timer.
pub fn stop(timer: u32) {
    // SAFETY: the number is that of a timer of ours, which is not used any more.
    unsafe { sys::call(libc::SYS_timer_delete, [timer as usize, 0, 0, 0, 0, 0]) };
}
