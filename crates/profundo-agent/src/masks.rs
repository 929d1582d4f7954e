//! Calls that change the mask of signals while they wait.
//!
//! A thread that has our signal blocked, and lets everything through only here, would find a tick of
//! ours waiting and its call interrupted, again and again. Where the program has no handler for
//! SIGURG, nobody can tell whether that one is let through, so it is not.

use core::ffi::c_int;

use libc::{epoll_event, fd_set, nfds_t, pollfd, sigset_t, timespec};
use profundo_probe::urgent;

use crate::real;
use crate::{signals, traps};

/// Runs `f` with the mask that the program wants, and SIGURG blocked too if it has no handler.
///
/// # Safety
/// The mask is null or valid.
unsafe fn with_mask<T>(mask: *const sigset_t, f: impl FnOnce(*const sigset_t) -> T) -> T {
    let mut bits = 0;
    if signals::is_installed() && !urgent::believed().is_function() {
        bits |= 1_u64 << (libc::SIGURG - 1);
    }
    if traps::is_installed() {
        bits |= 1_u64 << (libc::SIGTRAP - 1);
    }
    if mask.is_null() || bits == 0 {
        return f(mask);
    }
    // SAFETY: the caller vouches; the kernel and the C library look at the first eight bytes of a
    // mask only, and so a whole one of ours is made of them.
    unsafe {
        let mut wider: sigset_t = core::mem::zeroed();
        let words = (&raw mut wider).cast::<u64>();
        words.write(mask.cast::<u64>().read_unaligned() | bits);
        f(&wider)
    }
}

/// # Safety
/// As for `sigsuspend`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sigsuspend(mask: *const sigset_t) -> c_int {
    // SAFETY: the caller's arguments, passed on.
    let result = unsafe { with_mask(mask, |mask| real::sigsuspend().map(|f| f(mask))) };
    result.unwrap_or_else(real::missing)
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
            real::ppoll().map(|f| f(files, count, time, mask))
        })
    };
    result.unwrap_or_else(real::missing)
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
            real::__ppoll_chk().map(|f| f(files, count, time, mask, bytes))
        })
    };
    result.unwrap_or_else(real::missing)
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
            real::pselect().map(|f| f(count, read, write, except, time, mask))
        })
    };
    result.unwrap_or_else(real::missing)
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
            real::epoll_pwait().map(|f| f(file, events, most, time, mask))
        })
    };
    result.unwrap_or_else(real::missing)
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
            real::epoll_pwait2().map(|f| f(file, events, most, time, mask))
        })
    };
    result.unwrap_or_else(real::missing)
}

/// A descriptor for nearly all signals is not for SIGURG: our ticks would come out of it. One for a
/// few signals means what it says.
///
/// # Safety
/// As for `signalfd`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn signalfd(file: c_int, mask: *const sigset_t, flags: c_int) -> c_int {
    const FEW: u32 = 24;
    let Some(real) = real::signalfd() else {
        return real::missing();
    };
    if mask.is_null() || !signals::is_installed() {
        // SAFETY: the caller's arguments, passed on.
        return unsafe { real(file, mask, flags) };
    }
    // SAFETY: the caller's mask, whose first eight bytes are the kernel's.
    unsafe {
        let wanted = mask.cast::<u64>().read_unaligned();
        let mut bit = 1_u64 << (libc::SIGURG - 1);
        if traps::is_installed() {
            bit |= 1_u64 << (libc::SIGTRAP - 1);
        }
        let mut narrower: sigset_t = core::mem::zeroed();
        let is_for_all = (wanted & 0x7FFF_FFFF).count_ones() > FEW;
        let kept = if is_for_all { wanted & !bit } else { wanted };
        (&raw mut narrower).cast::<u64>().write(kept);
        real(file, &narrower, flags)
    }
}
