//! Calls that change the mask of signals while they wait.
//!
//! A thread that has our signals blocked, and lets everything through only here, would find a tick of
//! ours waiting and its call interrupted, again and again. Where the program has no handler for
//! them, it cannot notice whether they are blocked, so they stay blocked. A handler that interrupts such a
//! call runs with that mask; [`hidden::shown`] takes ours out of it.

use core::ffi::c_int;

use libc::{epoll_event, fd_set, nfds_t, pollfd, sigset_t, timespec};
use profundo_probe::hidden;

use crate::{blocked, claims, next_symbols};

/// Runs `f` with the mask that the program wants, and ours blocked too where it has no handler for them.
///
/// # Safety
/// The mask is null or valid.
unsafe fn with_mask<T>(mask: *const sigset_t, f: impl FnOnce(*const sigset_t) -> T) -> T {
    let bits = hidden::added();
    if mask.is_null() || bits == 0 {
        return f(mask);
    }
    // SAFETY: the caller vouches; the kernel and the C library look at the first eight bytes of a
    // mask only, and so a whole one of ours is made of them.
    let wider = blocked::set_of(unsafe { blocked::bits_of(mask) } | bits);
    f(&wider)
}

/// # Safety
/// As for `sigsuspend`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sigsuspend(mask: *const sigset_t) -> c_int {
    // SAFETY: the caller's arguments, passed on.
    let result = unsafe { with_mask(mask, |mask| next_symbols::sigsuspend().map(|f| f(mask))) };
    result.unwrap_or_else(next_symbols::missing)
}

/// # Safety
/// As for `ppoll`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ppoll(
    files: *mut pollfd,
    count: nfds_t,
    time: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    // SAFETY: the caller's arguments, passed on.
    let result = unsafe {
        with_mask(mask, |mask| {
            next_symbols::ppoll().map(|f| f(files, count, time, mask))
        })
    };
    result.unwrap_or_else(next_symbols::missing)
}

/// # Safety
/// As for `ppoll`, with the size of the list of files.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __ppoll_chk(
    files: *mut pollfd,
    count: nfds_t,
    time: *const timespec,
    mask: *const sigset_t,
    bytes: usize,
) -> c_int {
    // SAFETY: the caller's arguments, passed on.
    let result = unsafe {
        with_mask(mask, |mask| {
            next_symbols::__ppoll_chk().map(|f| f(files, count, time, mask, bytes))
        })
    };
    result.unwrap_or_else(next_symbols::missing)
}

/// # Safety
/// As for `pselect`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pselect(
    count: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    time: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    // SAFETY: the caller's arguments, passed on.
    let result = unsafe {
        with_mask(mask, |mask| {
            next_symbols::pselect().map(|f| f(count, read, write, except, time, mask))
        })
    };
    result.unwrap_or_else(next_symbols::missing)
}

/// # Safety
/// As for `epoll_pwait`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn epoll_pwait(
    file: c_int,
    events: *mut epoll_event,
    most: c_int,
    time: c_int,
    mask: *const sigset_t,
) -> c_int {
    // SAFETY: the caller's arguments, passed on.
    let result = unsafe {
        with_mask(mask, |mask| {
            next_symbols::epoll_pwait().map(|f| f(file, events, most, time, mask))
        })
    };
    result.unwrap_or_else(next_symbols::missing)
}

/// # Safety
/// As for `epoll_pwait2`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn epoll_pwait2(
    file: c_int,
    events: *mut epoll_event,
    most: c_int,
    time: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    // SAFETY: the caller's arguments, passed on.
    let result = unsafe {
        with_mask(mask, |mask| {
            next_symbols::epoll_pwait2().map(|f| f(file, events, most, time, mask))
        })
    };
    result.unwrap_or_else(next_symbols::missing)
}

/// A descriptor for nearly all signals is not for ours: our ticks would come out of it. Who names one in
/// a smaller set has it for itself.
///
/// # Safety
/// As for `signalfd`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn signalfd(file: c_int, mask: *const sigset_t, flags: c_int) -> c_int {
    let Some(real) = next_symbols::signalfd() else {
        return next_symbols::missing();
    };
    if mask.is_null() {
        // SAFETY: the caller's arguments, passed on.
        return unsafe { real(file, mask, flags) };
    }
    // SAFETY: the caller's mask; the one that is passed on is ours.
    unsafe {
        claims::before_wait(mask);
        let narrower = blocked::set_of(blocked::bits_of(mask) & !hidden::hidden());
        real(file, &narrower, flags)
    }
}
