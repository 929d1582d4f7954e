//! Signals of our clocks that are pending for the calling thread, because it blocks them or waits
//! for them.

use core::ffi::c_int;
use core::mem::MaybeUninit;

use libc::{siginfo_t, timespec};
use profundo_probe::hidden::{self, ALL, ASKED, bit};
use profundo_probe::{sys, urgent};

use crate::late::running;
use crate::process;
use crate::signals::sent::is_installed;
use crate::signals::traps;

/// True if a signal that was waited for comes from a clock of ours.
///
/// # Safety
/// `info` was filled in by the kernel.
pub unsafe fn is_clock(signal: c_int, info: *const siginfo_t) -> bool {
    match signal {
        // SAFETY: the caller vouches.
        _ if ASKED.contains(&signal) => unsafe { urgent::is_clock(signal, info) },
        // SAFETY: the caller vouches.
        libc::SIGTRAP => unsafe { profundo_probe::traps::is_clock(info) },
        _ => false,
    }
}

/// Waits until no signal of ours is on its way to a thread that lets it in, for a moment at most:
/// another thread may wait for this one, which is borrowed. Takes back those of the calling thread,
/// whose mask is `own`, and which blocks all signals at present. Returns those that wait for a
/// thread which blocks them, and those that a thread lets in although the program believes that
/// they are blocked: without our handlers, they would have their default action.
pub fn await_arrival(own: u64) -> u64 {
    const LONGEST: u64 = 1_000_000;
    take_all_back();
    let ours = ALL.into_iter().fold(0, |bits, signal| bits | bit(signal));
    let until = process::time(libc::CLOCK_MONOTONIC) + LONGEST;
    loop {
        let (mut pending, mut blocked, mut open) = (0, 0, 0);
        running::each(own, |thread| {
            pending |= thread.pending & ours;
            blocked |= thread.pending & thread.blocked & ours;
            open |= hidden::shown(thread.blocked) & !thread.blocked & ours;
        });
        if pending == blocked || process::time(libc::CLOCK_MONOTONIC) > until {
            return pending | open;
        }
        // SAFETY: takes nothing.
        unsafe { sys::call(libc::SYS_sched_yield, [0; 6]) };
    }
}

/// True if a signal of ours is on its way to a thread that lets it in. Takes back those of the
/// calling thread.
pub fn are_arriving(own: u64) -> bool {
    take_all_back();
    let ours = ALL.into_iter().fold(0, |bits, signal| bits | bit(signal));
    let mut arriving = 0;
    running::each(own, |thread| {
        arriving |= thread.pending & !thread.blocked & ours;
    });
    arriving != 0
}

/// Takes back all our signals that are pending for the calling thread, which blocks them.
fn take_all_back() {
    ASKED.into_iter().for_each(take_back);
    if traps::is_installed() {
        profundo_probe::traps::take_back();
    }
}

/// Takes back our signals that are pending for the calling thread, which blocks them.
pub fn take_back(signal: c_int) {
    if is_installed() {
        is_anothers_waiting(signal);
    }
}

/// True if one of [`ASKED`] is pending that no clock has sent. Those of clocks are removed.
pub fn is_anothers_waiting(signal: c_int) -> bool {
    let Some(info) = take(signal) else {
        return false;
    };
    // SAFETY: the signal goes to this very process.
    unsafe { urgent::send_again(signal, &info) };
    true
}

/// Takes one of [`ASKED`] that is pending for the calling thread and that no clock has sent. The
/// thread blocks it. Those of clocks are removed.
pub fn take(signal: c_int) -> Option<siginfo_t> {
    /// Each clock may have one pending for the thread, and one for the process.
    const MOST: usize = 4;
    const SET_BYTES: usize = 8;
    let wanted = bit(signal);
    let at_once = timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    for _ in 0..MOST {
        let mut info = MaybeUninit::<siginfo_t>::zeroed();
        // SAFETY: all places are ours.
        unsafe {
            let (set, time) = (&raw const wanted as usize, &raw const at_once as usize);
            let place = info.as_mut_ptr() as usize;
            let taken = [set, place, time, SET_BYTES, 0, 0];
            let came = sys::call(libc::SYS_rt_sigtimedwait, taken);
            if came != signal as isize {
                return None;
            }
            if !is_clock(signal, info.as_ptr()) {
                return Some(info.assume_init());
            }
        }
    }
    None
}
