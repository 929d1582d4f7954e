//! Counters that the compiler has put into the program (coverage): the command reads them from outside, and we say when.
//!
//! It reads them when the process ends or becomes another program, which some ends never tell the compiler's own functions; in the child
//! of a fork, which has its parent's; and before gcc's functions write them to a file, for they add to them what the file had.

use core::ffi::{c_char, c_int, c_uint};
use core::sync::atomic::Ordering;

use profundo_probe::shared::{tallies_moment, tallies_state};
use profundo_probe::sys;

use super::native;
use crate::home::Home;
use crate::{home, left, next_symbols, process, session, threads};

/// So long the process waits for the command to begin, in nanoseconds: where counters would be lost, and where only the names of
/// libraries would be. Of many children that begin at one time each waits for those before it.
const TO_BEGIN: u64 = 5_000_000_000;
const TO_BEGIN_WITHOUT: u64 = 100_000_000;
/// And so long until they were read.
const TO_READ: u64 = 2_000_000_000;
/// So often it is looked whether the command is still there.
const TURN: u64 = 20_000_000;

/// It ends, or nothing of ours may be done from here on.
pub fn show_last() {
    // Even to ask whose memory this is takes a call.
    if left::has_left() || super::wanted() == 0 {
        return;
    }
    if let Some(home) = home::current() {
        show(home, tallies_moment::LAST);
    }
}

/// In the child of a fork, which has said hello.
pub fn show_forked(home: Home) {
    show(home, tallies_moment::FORKED);
}

/// Asks, and waits, unless there is nothing to be read.
fn show(home: Home, moment: u32) {
    if super::wanted() == 0 {
        return;
    }
    let alive = session::control().filter(|control| session::is_alive(control));
    let Some(control) = alive else { return };
    let tallies = &home.ring().header.tallies;
    // A library that came a moment ago may have some that nobody has seen yet; it writes them, at least. And what was called in one
    // has a name only if it is seen before the end.
    let are_absent = tallies.are_absent.load(Ordering::Relaxed) != 0;
    let is_wanted = match moment {
        tallies_moment::WRITTEN => true,
        tallies_moment::LAST if native::is_on() => true,
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
    // Release pairs with the acquire of the command. Another thread may ask already: once is enough.
    let error = next_symbols::errno();
    let asked = (tallies.state).compare_exchange(none, wanted, Ordering::AcqRel, failure);
    if asked.is_err() {
        return;
    }
    threads::tell(home);
    let began = process::time(libc::CLOCK_MONOTONIC);
    loop {
        let state = tallies.state.load(success);
        let patience = match state {
            tallies_state::WANTED => to_begin,
            tallies_state::BEGUN => TO_READ,
            _ => break,
        };
        let waited = process::time(libc::CLOCK_MONOTONIC).saturating_sub(began);
        if waited > patience || !session::is_alive(control) {
            break;
        }
        sys::futex_wait(&tallies.state, state, TURN);
    }
    tallies.state.store(none, Ordering::Release);
    next_symbols::set_errno(error);
}

/// What gcc's functions write to is called so.
const ENDING: [u8; 5] = *b".gcda";

/// Looks whether it is they who open a file.
///
/// # Safety
/// `path` is null or a string.
unsafe fn before_open(path: *const c_char) {
    /// Nothing is mapped below: the kernel refuses such a path with an error, and so it is left to it. Nor above what is the program's.
    const LOWEST: isize = 1 << 16;
    if (path as isize) < LOWEST || super::wanted() == 0 || left::has_left() {
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

/// # Safety
/// As for `open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn open(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    // SAFETY: the caller's arguments, passed on. Where there is no third one, nobody looks at it.
    unsafe {
        before_open(path);
        match next_symbols::open() {
            Some(real) => real(path, flags, mode),
            None => next_symbols::missing(),
        }
    }
}

/// # Safety
/// As for `open64`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn open64(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    // SAFETY: as above.
    unsafe {
        before_open(path);
        match next_symbols::open64() {
            Some(real) => real(path, flags, mode),
            None => next_symbols::missing(),
        }
    }
}
