//! Calls that change which signals the calling thread blocks, for good or while they wait.
//!
//! **While they wait.** A thread that has our signals blocked, and lets everything through only
//! here, would find a tick of ours waiting and its call interrupted, again and again. Where the
//! program has no handler for them, it cannot notice whether they are blocked, so they stay
//! blocked. A handler that interrupts such a call runs with that mask; [`hidden::shown`] takes ours
//! out of it.

use core::ffi::c_int;

use libc::{epoll_event, fd_set, nfds_t, pollfd, sigset_t, timespec};
use profundo_probe::hidden;

use crate::interpose::interpose;
use crate::next_symbols::missing;
use crate::signals::blocked::{self, change_one, change_sets, change_word};
use crate::signals::{claims, sets};

interpose! {
    extern "C-unwind" fn sigsuspend(mask: *const sigset_t) -> c_int {
        let next = sigsuspend or missing();
        with_mask(mask, |mask| next(mask))
    }

    extern "C-unwind" fn ppoll(
        files: *mut pollfd,
        count: nfds_t,
        time: *const timespec,
        mask: *const sigset_t,
    ) -> c_int {
        let next = ppoll or missing();
        with_mask(mask, |mask| next(files, count, time, mask))
    }

    // With the size of the list of descriptors.
    extern "C-unwind" fn __ppoll_chk(
        files: *mut pollfd,
        count: nfds_t,
        time: *const timespec,
        mask: *const sigset_t,
        bytes: usize,
    ) -> c_int {
        let next = __ppoll_chk or missing();
        with_mask(mask, |mask| next(files, count, time, mask, bytes))
    }

    extern "C-unwind" fn pselect(
        count: c_int,
        read: *mut fd_set,
        write: *mut fd_set,
        except: *mut fd_set,
        time: *const timespec,
        mask: *const sigset_t,
    ) -> c_int {
        let next = pselect or missing();
        with_mask(mask, |mask| next(count, read, write, except, time, mask))
    }

    extern "C-unwind" fn epoll_pwait(
        file: c_int,
        events: *mut epoll_event,
        most: c_int,
        time: c_int,
        mask: *const sigset_t,
    ) -> c_int {
        let next = epoll_pwait or missing();
        with_mask(mask, |mask| next(file, events, most, time, mask))
    }

    extern "C-unwind" fn epoll_pwait2(
        file: c_int,
        events: *mut epoll_event,
        most: c_int,
        time: *const timespec,
        mask: *const sigset_t,
    ) -> c_int {
        let next = epoll_pwait2 or missing();
        with_mask(mask, |mask| next(file, events, most, time, mask))
    }

    /// A descriptor for nearly all signals does not get ours: our ticks would come out of it. A
    /// program that names one in a smaller set gets it.
    extern "C" fn signalfd(file: c_int, mask: *const sigset_t, flags: c_int) -> c_int {
        let next = signalfd or missing();
        if mask.is_null() {
            return next(file, mask, flags);
        }
        claims::before_wait(mask);
        let wanted = sets::bits_of(mask);
        if hidden::is_full(wanted) && wanted & hidden::hidden() != 0 {
            hidden::note(wanted);
        }
        let narrower = sets::set_of(wanted & !hidden::hidden());
        next(file, &narrower, flags)
    }

    extern "C" fn sigprocmask(how: c_int, set: *const sigset_t, old: *mut sigset_t) -> c_int {
        let next = sigprocmask or missing();
        change_sets(how, set, old, next)
    }

    extern "C" fn pthread_sigmask(how: c_int, set: *const sigset_t, old: *mut sigset_t) -> c_int {
        let next = pthread_sigmask or missing();
        change_sets(how, set, old, next)
    }

    extern "C" fn sigblock(mask: c_int) -> c_int {
        change_word(libc::SIG_BLOCK, Some(mask as u32 as u64))
    }

    extern "C" fn sigsetmask(mask: c_int) -> c_int {
        change_word(libc::SIG_SETMASK, Some(mask as u32 as u64))
    }

    extern "C" fn siggetmask() -> c_int {
        change_word(libc::SIG_BLOCK, None)
    }

    extern "C" fn sighold(signal: c_int) -> c_int {
        change_one(libc::SIG_BLOCK, signal)
    }

    extern "C" fn sigrelse(signal: c_int) -> c_int {
        change_one(libc::SIG_UNBLOCK, signal)
    }
}

/// Runs `f` with the mask that the program wants, and with our signals blocked too where the
/// program has no handler for them.
///
/// # Safety
/// The mask is null or valid.
unsafe fn with_mask<T>(mask: *const sigset_t, f: impl FnOnce(*const sigset_t) -> T) -> T {
    let bits = hidden::added();
    if mask.is_null() || bits == 0 {
        let result = f(mask);
        blocked::after_wait();
        return result;
    }
    // SAFETY: the caller vouches; the kernel and the C library look at the first eight bytes of a
    // mask only, and so a whole one of ours is made of them.
    let wider = sets::set_of(unsafe { sets::bits_of(mask) } | bits);
    let result = f(&wider);
    blocked::after_wait();
    result
}
