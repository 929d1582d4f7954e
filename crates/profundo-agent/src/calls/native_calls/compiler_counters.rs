//! Counters that the compiler has put into the program (coverage): the command reads them from
//! outside, when we ask.
//!
//! It reads them when the process ends or becomes another program, since the compiler's own
//! functions miss some ends; in the child of a fork, which has its parent's; and before gcc's
//! functions write them to a file, since they add the file's old counts.

use core::ffi::c_char;
use core::sync::atomic::Ordering;

use profundo_probe::shared::{tallies_moment, tallies_state};
use profundo_probe::sys;

use crate::home::Home;
use crate::{command, home, left, next_symbols, process, session};

/// The time that the process waits for the command to begin, in nanoseconds: where counters would
/// be lost, and where only the names of libraries would be. Each of many children that begin at one
/// time waits for those before it.
const TO_BEGIN: u64 = 5_000_000_000;
const TO_BEGIN_WITHOUT: u64 = 100_000_000;
/// The time until the counters are read.
const TO_READ: u64 = 2_000_000_000;
/// The interval of checks that the command still runs.
const TURN: u64 = 20_000_000;

/// The process ends, or must not use the agent from here on.
pub fn show_last() {
    // Even the check for a `vfork` child is a system call.
    if left::has_left() || super::super::wanted() == 0 {
        return;
    }
    if let Some(home) = home::current() {
        show(home, tallies_moment::LAST);
    }
}

/// In the child of a fork, after its hello.
pub fn show_forked(home: Home) {
    show(home, tallies_moment::FORKED);
}

/// Asks, and waits, unless there is nothing to be read.
fn show(home: Home, moment: u32) {
    if super::super::wanted() == 0 {
        return;
    }
    let alive = session::control().filter(|control| command::may_answer(control));
    let Some(control) = alive else { return };
    let tallies = &home.ring().header.tallies;
    // A library that was loaded a moment ago may have counters that the command has not seen; the
    // library writes them, at least. And its functions only have names if it is seen before the
    // end.
    let are_absent = tallies.are_absent.load(Ordering::Relaxed) != 0;
    let is_wanted = match moment {
        tallies_moment::WRITTEN => true,
        tallies_moment::LAST if super::is_on() => true,
        _ => !are_absent,
    };
    if !is_wanted {
        return;
    }
    let to_begin = if are_absent {
        TO_BEGIN_WITHOUT
    } else {
        TO_BEGIN
    };
    let (success, failure) = (Ordering::Acquire, Ordering::Relaxed);
    let (none, wanted) = (tallies_state::NONE, tallies_state::WANTED);
    tallies.moment.store(moment, Ordering::Relaxed);
    // Release pairs with the acquire of the command. If another thread asks already, once is
    // enough.
    let error = next_symbols::errno();
    let asked = (tallies.state).compare_exchange(none, wanted, Ordering::AcqRel, failure);
    if asked.is_err() {
        return;
    }
    home.ring_bell();
    let began = process::time(libc::CLOCK_MONOTONIC);
    loop {
        let state = tallies.state.load(success);
        let patience = match state {
            tallies_state::WANTED => to_begin,
            tallies_state::BEGUN => TO_READ,
            _ => break,
        };
        let waited = process::time(libc::CLOCK_MONOTONIC).saturating_sub(began);
        if waited > patience || !command::may_answer(control) {
            break;
        }
        sys::futex_wait(&tallies.state, state, TURN);
    }
    tallies.state.store(none, Ordering::Release);
    next_symbols::set_errno(error);
}

/// The suffix of the files that gcc's functions write.
const ENDING: [u8; 5] = *b".gcda";

/// Recognizes a file that gcc's functions open.
///
/// # Safety
/// `path` is null or a string.
pub unsafe fn before_open(path: *const c_char) {
    /// Below it nothing is mapped: the kernel refuses such a path. Nor are addresses above the
    /// program's.
    const LOWEST: isize = 1 << 16;
    if (path as isize) < LOWEST || super::super::wanted() == 0 || left::has_left() {
        return;
    }
    let mut last = [0; ENDING.len()];
    let mut at = path.cast::<u8>();
    // SAFETY: up to the zero there are bytes.
    unsafe {
        while *at != 0 {
            last.rotate_left(1);
            last[ENDING.len() - 1] = *at;
            at = at.add(1);
        }
    }
    if last == ENDING
        && let Some(home) = home::current()
    {
        show(home, tallies_moment::WRITTEN);
    }
}
