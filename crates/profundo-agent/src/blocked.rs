//! Calls that change which signals the calling thread blocks.
//!
//! Ours are left out of a mask of nearly all signals, and shown in it all the same: `profundo_probe::hidden`.
//! A program that names one of ours in a smaller set uses that one itself, and gets it: [`claims`].

use core::ffi::c_int;
use core::mem::{MaybeUninit, zeroed};
use core::ptr;

use libc::sigset_t;
use profundo_probe::{hidden, sys};

use crate::{claims, next_symbols, process, signals};

/// How one of the C library's functions changes the mask: 0, or an error in its own way.
type Real = unsafe extern "C-unwind" fn(c_int, *const sigset_t, *mut sigset_t) -> c_int;

/// The kernel's eight bytes of a set.
///
/// # Safety
/// The set is a valid one.
pub unsafe fn bits_of(set: *const sigset_t) -> u64 {
    // SAFETY: the caller vouches.
    unsafe { set.cast::<u64>().read_unaligned() }
}

/// A set of these signals.
pub fn set_of(bits: u64) -> sigset_t {
    // SAFETY: zeroed is an empty set, whose first eight bytes are the kernel's.
    unsafe {
        let mut set: sigset_t = zeroed();
        (&raw mut set).cast::<u64>().write_unaligned(bits);
        set
    }
}

/// Does what the program asks for. Returns what it blocked before, as it knows it, or what the C library's
/// function has returned.
fn change(how: c_int, set: Option<u64>, real: Real) -> Result<u64, c_int> {
    let call = |how: c_int, set: Option<u64>| {
        let new = set.map(set_of);
        let new = new.as_ref().map_or(ptr::null(), ptr::from_ref);
        let mut old = MaybeUninit::<sigset_t>::zeroed();
        // SAFETY: both sets are ours or null.
        match unsafe { real(how, new, old.as_mut_ptr()) } {
            // SAFETY: it was filled in.
            0 => Ok(unsafe { bits_of(old.as_ptr()) }),
            failed => Err(failed),
        }
    };
    let Some(set) = set.filter(|_| signals::is_installed()) else {
        return call(how, set).map(hidden::shown);
    };
    let (real_before, added) = match how {
        libc::SIG_BLOCK | libc::SIG_SETMASK => {
            let ours = set & hidden::hidden();
            let is_full = hidden::is_full(set);
            if !is_full && (ours != 0 || claims::is_moving()) {
                // A handler that interrupts `sigsuspend` finds ours blocked by us (`masks`), and sets such a
                // mask again without a thought of them.
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
    // What is not hidden, or no longer, is blocked from now on.
    let hidden = match hidden::is_full(now) {
        true => hidden::hidden(),
        false => 0,
    };
    let missing = wanted & !now & !hidden;
    if missing != 0 {
        call(libc::SIG_BLOCK, Some(missing))?;
    }
    Ok(before)
}

/// # Safety
/// As for `sigprocmask`.
unsafe fn change_sets(
    how: c_int,
    set: *const sigset_t,
    old: *mut sigset_t,
    real: Option<Real>,
) -> c_int {
    let Some(real) = real else {
        return next_symbols::missing();
    };
    // SAFETY: null or the caller's.
    let wanted = (!set.is_null()).then(|| unsafe { bits_of(set) });
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

/// # Safety
/// As for `sigprocmask`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigprocmask(
    how: c_int,
    set: *const sigset_t,
    old: *mut sigset_t,
) -> c_int {
    // SAFETY: passed on.
    unsafe { change_sets(how, set, old, next_symbols::sigprocmask()) }
}

/// # Safety
/// As for `pthread_sigmask`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_sigmask(
    how: c_int,
    set: *const sigset_t,
    old: *mut sigset_t,
) -> c_int {
    // SAFETY: passed on.
    unsafe { change_sets(how, set, old, next_symbols::pthread_sigmask()) }
}

/// As `sigblock` and its like do it, which know of the first 32 signals only.
fn change_word(how: c_int, set: Option<u64>) -> c_int {
    let real = next_symbols::sigprocmask();
    let before = real.and_then(|real| change(how, set, real).ok());
    before.map_or(-1, |mask| mask as c_int)
}

/// # Safety
/// As for `sigblock`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigblock(mask: c_int) -> c_int {
    change_word(libc::SIG_BLOCK, Some(mask as u32 as u64))
}

/// # Safety
/// As for `sigsetmask`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigsetmask(mask: c_int) -> c_int {
    change_word(libc::SIG_SETMASK, Some(mask as u32 as u64))
}

/// # Safety
/// As for `siggetmask`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn siggetmask() -> c_int {
    change_word(libc::SIG_BLOCK, None)
}

/// Blocks a signal, or lets it in.
fn change_one(how: c_int, signal: c_int) -> c_int {
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

/// # Safety
/// As for `sighold`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sighold(signal: c_int) -> c_int {
    change_one(libc::SIG_BLOCK, signal)
}

/// # Safety
/// As for `sigrelse`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigrelse(signal: c_int) -> c_int {
    change_one(libc::SIG_UNBLOCK, signal)
}

/// As `rt_sigprocmask` does it, for a program that calls it by its number.
///
/// # Safety
/// As for the system call, with sets of eight bytes.
pub unsafe fn by_number(how: c_int, set: *const u64, old: *mut u64) -> c_int {
    // SAFETY: sets are read and written as eight bytes.
    unsafe { change_sets(how, set.cast(), old.cast(), next_symbols::sigprocmask()) }
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

/// The mask was set without a call of our hooks.
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
pub fn make_real() -> Option<u64> {
    let mask = process::blocked();
    let wanted = hidden::shown(mask);
    (wanted != mask).then(|| sys::set_signal_mask(wanted))
}

/// Goes back to the mask that there was before [`make_real`].
pub fn make_unreal(before: Option<u64>) {
    if let Some(mask) = before {
        sys::set_signal_mask(mask);
    }
}
