//! The signals that the calling thread blocks, as the program knows them.
//!
//! Ours are left out of a mask of nearly all signals, and shown in it all the same:
//! `profundo_probe::hidden`. A program that names one of ours in a smaller set uses that one
//! itself, and gets it: [`claims`].

use core::ffi::c_int;
use core::mem::MaybeUninit;
use core::ptr;

use libc::sigset_t;
use profundo_probe::{hidden, sys};

use crate::signals::{claims, sent, sets};
use crate::{next_symbols, process, symbols, threads};

/// A function of the C library that changes the mask: its result is 0, or an error in its own way.
type Real = unsafe extern "C-unwind" fn(c_int, *const sigset_t, *mut sigset_t) -> c_int;

/// Does what the program asks for. Returns the mask before, as the program knows it, or the result
/// of the C library's function.
fn change(how: c_int, set: Option<u64>, real: Real) -> Result<u64, c_int> {
    let call = |how: c_int, set: Option<u64>| {
        let new = set.map(sets::set_of);
        let new = new.as_ref().map_or(ptr::null(), ptr::from_ref);
        let mut old = MaybeUninit::<sigset_t>::zeroed();
        // SAFETY: both sets are ours or null.
        match unsafe { real(how, new, old.as_mut_ptr()) } {
            // SAFETY: it was filled in.
            0 => Ok(unsafe { sets::bits_of(old.as_ptr()) }),
            failed => Err(failed),
        }
    };
    let Some(set) = set.filter(|_| sent::is_installed()) else {
        return call(how, set).map(hidden::shown);
    };
    let (real_before, added) = match how {
        libc::SIG_BLOCK | libc::SIG_SETMASK => {
            let ours = set & hidden::hidden();
            let is_full = hidden::is_full(set);
            if !is_full && (ours != 0 || claims::is_moving()) {
                // A handler that interrupts `sigsuspend` finds ours blocked by us
                // (`interpose::masks`), and sets such a mask again without meaning them.
                claims::claim(set & !process::blocked());
            }
            let really = if is_full { set & !ours } else { set };
            (call(how, Some(really))?, really)
        }
        _ => (call(how, Some(set))?, 0),
    };
    let before = hidden::shown(real_before);
    let (wanted, now) = match how {
        libc::SIG_BLOCK => (before | set, real_before | added),
        libc::SIG_SETMASK => (set, added),
        _ => (before & !set, real_before & !set),
    };
    if hidden::is_full(now) {
        hidden::note(wanted);
    } else {
        claims::claim(wanted & !now);
    }
    // A signal that is not hidden, or no longer, is blocked from now on.
    let hidden = match hidden::is_full(now) {
        true => hidden::hidden(),
        false => 0,
    };
    let missing = wanted & !now & !hidden;
    if missing != 0 {
        call(libc::SIG_BLOCK, Some(missing))?;
    }
    threads::note_mask(now | missing);
    Ok(before)
}

/// # Safety
/// As for `sigprocmask`.
pub unsafe fn change_sets(
    how: c_int,
    set: *const sigset_t,
    old: *mut sigset_t,
    real: Real,
) -> c_int {
    // SAFETY: null or the caller's.
    let wanted = (!set.is_null()).then(|| unsafe { sets::bits_of(set) });
    match change(how, wanted, real) {
        Ok(before) => {
            if !old.is_null() {
                // SAFETY: the caller's place, of which the C library writes as much.
                unsafe { old.cast::<u64>().write_unaligned(before) };
            }
            0
        }
        Err(failed) => failed,
    }
}

/// As `sigblock` and its like do it, which only cover the first 32 signals.
pub fn change_word(how: c_int, set: Option<u64>) -> c_int {
    let real = next_symbols::sigprocmask();
    let before = real.and_then(|real| change(how, set, real).ok());
    before.map_or(-1, |mask| mask as c_int)
}

/// Blocks a signal, or lets it in.
pub fn change_one(how: c_int, signal: c_int) -> c_int {
    const LAST: c_int = 64;
    if !(1..=LAST).contains(&signal) {
        next_symbols::set_errno(libc::EINVAL);
        return -1;
    }
    let Some(real) = next_symbols::sigprocmask() else {
        return next_symbols::missing();
    };
    match change(how, Some(hidden::bit(signal)), real) {
        Ok(_) => 0,
        Err(failed) => failed,
    }
}

/// As `rt_sigprocmask` does it, for a program that calls it by its number.
///
/// # Safety
/// As for the system call, with sets of eight bytes.
pub unsafe fn by_number(how: c_int, set: *const u64, old: *mut u64) -> c_int {
    let Some(real) = next_symbols::sigprocmask() else {
        return next_symbols::missing();
    };
    // SAFETY: sets are read and written as eight bytes.
    unsafe { change_sets(how, set.cast(), old.cast(), real) }
}

/// A program begins, with the mask of the one before.
pub fn begin_program() {
    adopt(process::blocked());
}

/// A thread begins, with the mask of its creator, which may be a handler.
pub fn begin_thread() {
    let mask = process::blocked();
    match hidden::added_to(mask) {
        0 => adopt(mask),
        added => drop(sys::set_signal_mask(mask & !added)),
    }
}

/// Takes over a mask that was set without a call of our hooks.
fn adopt(mask: u64) {
    let ours = mask & hidden::hidden();
    if ours == 0 {
        return;
    }
    if hidden::is_full(mask) {
        hidden::note(mask);
        sys::set_signal_mask(mask & !ours);
    } else {
        claims::claim(ours);
    }
}

/// Has the kernel block what the program blocks, for another program that inherits it. Returns the
/// mask to go back to, if anything was changed.
pub fn apply_shown_mask() -> Option<u64> {
    let mask = process::blocked();
    let wanted = hidden::shown(mask);
    (wanted != mask).then(|| sys::set_signal_mask(wanted))
}

/// The calling thread has waited in a function of ours. If the agent has left meanwhile, the thread
/// has all signals in its mask again that the program has set.
pub fn after_wait() {
    if sent::is_silent() && symbols::is_late() {
        apply_shown_mask();
    }
}

/// Goes back to the mask that there was before [`apply_shown_mask`].
pub fn restore_mask(before: Option<u64>) {
    if let Some(mask) = before {
        sys::set_signal_mask(mask);
    }
}
