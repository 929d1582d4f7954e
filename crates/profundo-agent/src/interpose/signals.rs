//! Calls that set the action of a signal, ask for it, or wait for a signal.
//!
//! Calls about the signals of our clocks are answered by [`actions`](crate::signals::actions); all
//! others go to the C library.

use core::ffi::c_int;
use core::mem::{MaybeUninit, zeroed};

use libc::{siginfo_t, sigset_t, timespec};
use profundo_probe::hidden::ASKED;
use profundo_probe::urgent::{self, Action};

use crate::inject::early;
use crate::interpose::interpose;
use crate::next_symbols::{self, Handler, missing};
use crate::signals::actions::{
    SA_RESTORER, exchange, exchange_handler, is_for_us, is_our_handler, is_ours,
};
use crate::signals::waiting::{is_anothers_waiting, is_clock};
use crate::signals::{blocked, claims, sent, traps};
use crate::{home, lifecycle, process, python};

interpose! {
    extern "C" fn sigaction(
        signal: c_int,
        new: *const libc::sigaction,
        old: *mut libc::sigaction,
    ) -> c_int {
        let next = sigaction or missing();
        if is_for_us(signal) {
            exchange_actions(signal, new, old);
            return 0;
        }
        // The interpreter installs its handlers while it starts.
        if let Some(home) = home::current_if_entered() {
            python::find_if_asked(home, lifecycle::python_found);
            early::reinstall();
        }
        let result = next(signal, new, old);
        if let Some(old) = old.as_mut()
            && result == 0
            && is_our_handler(old)
        {
            *old = urgent::believed(signal).to_libc();
        }
        result
    }

    extern "C" fn sigset(signal: c_int, handler: Handler) -> Handler {
        let next = sigset or libc::SIG_ERR;
        match is_for_us(signal) {
            true => set_and_release(signal, handler),
            false => hide(signal, next(signal, handler)),
        }
    }

    extern "C" fn sigignore(signal: c_int) -> c_int {
        let next = sigignore or missing();
        if is_for_us(signal) {
            exchange_handler(signal, libc::SIG_IGN, 0);
            return 0;
        }
        next(signal)
    }

    extern "C" fn siginterrupt(signal: c_int, interrupt: c_int) -> c_int {
        let next = siginterrupt or missing();
        if is_for_us(signal) {
            let mut action = exchange(signal, None);
            action.flags = match interrupt {
                0 => action.flags | libc::SA_RESTART,
                _ => action.flags & !libc::SA_RESTART,
            };
            exchange(signal, Some(action));
            return 0;
        }
        next(signal, interrupt)
    }

    extern "C-unwind" fn sigwait(set: *const sigset_t, result: *mut c_int) -> c_int {
        let mut info = MaybeUninit::<siginfo_t>::zeroed();
        loop {
            match sigwaitinfo(set, info.as_mut_ptr()) {
                -1 if next_symbols::errno() == libc::EINTR => {}
                -1 => return next_symbols::errno(),
                signal => {
                    *result = signal;
                    return 0;
                }
            }
        }
    }

    extern "C-unwind" fn sigwaitinfo(set: *const sigset_t, info: *mut siginfo_t) -> c_int {
        let next = sigwaitinfo or missing();
        claims::before_wait(set);
        let mut spare = MaybeUninit::zeroed();
        let info = if info.is_null() { spare.as_mut_ptr() } else { info };
        loop {
            let signal = next(set, info);
            if !is_clock(signal, info) {
                blocked::after_wait();
                return signal;
            }
        }
    }

    extern "C-unwind" fn sigtimedwait(
        set: *const sigset_t,
        info: *mut siginfo_t,
        time: *const timespec,
    ) -> c_int {
        let next = sigtimedwait or missing();
        let Some(&whole) = time.as_ref() else {
            return sigwaitinfo(set, info);
        };
        claims::before_wait(set);
        let mut spare = MaybeUninit::zeroed();
        let info = if info.is_null() { spare.as_mut_ptr() } else { info };
        let began = process::time(libc::CLOCK_MONOTONIC);
        let mut time = whole;
        loop {
            let signal = next(set, info, &time);
            if !is_clock(signal, info) {
                blocked::after_wait();
                return signal;
            }
            time = left_of(whole, began);
        }
    }

    /// A pending tick of ours is removed, and not shown; a signal that another sender raised stays
    /// pending.
    extern "C" fn sigpending(set: *mut sigset_t) -> c_int {
        let next = sigpending or missing();
        let result = next(set);
        if result == 0 {
            take_ours_out(set);
        }
        result
    }
}

/// `signal` and its like, which differ in the flags that they set.
macro_rules! setters_of_handlers {
    ($($name:ident => $next:ident, $flags:expr;)*) => {
        interpose! {$(
            extern "C" fn $name(signal: c_int, handler: Handler) -> Handler {
                let next = $next or libc::SIG_ERR;
                match is_for_us(signal) {
                    true => exchange_handler(signal, handler, $flags),
                    false => hide(signal, next(signal, handler)),
                }
            }
        )*}
    };
}

const ONCE: c_int = libc::SA_RESETHAND | libc::SA_NODEFER;

setters_of_handlers! {
    signal => signal, libc::SA_RESTART;
    bsd_signal => signal, libc::SA_RESTART;
    ssignal => signal, libc::SA_RESTART;
    sysv_signal => sysv_signal, ONCE;
    __sysv_signal => sysv_signal, ONCE;
}

/// Our handler is not shown.
fn hide(signal: c_int, handler: Handler) -> Handler {
    if is_ours(handler) {
        urgent::believed(signal).handler
    } else {
        handler
    }
}

/// As `sigaction` does it, for a signal of ours.
///
/// # Safety
/// Each pointer is null or valid.
unsafe fn exchange_actions(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) {
    // SAFETY: as the caller says. Both may be the same one, so the new one is read first.
    unsafe {
        let new = new.as_ref().map(|new| {
            let mut new = Action::from_libc(new);
            new.flags |= SA_RESTORER;
            new
        });
        let before = exchange(signal, new);
        if let Some(old) = old.as_mut() {
            *old = before.to_libc();
        }
    }
}

/// As `sigset` does it, for a signal of ours: it also blocks the signal, or lets it in.
fn set_and_release(signal: c_int, handler: Handler) -> Handler {
    /// To block the signal, and not to change its action.
    const SIG_HOLD: Handler = 2;
    let (how, former) = match handler {
        SIG_HOLD => (libc::SIG_BLOCK, exchange(signal, None).handler),
        _ => (libc::SIG_UNBLOCK, exchange_handler(signal, handler, 0)),
    };
    if former == libc::SIG_ERR {
        return former;
    }
    // SAFETY: sets of ours.
    unsafe {
        let mut set: sigset_t = zeroed();
        let mut before: sigset_t = zeroed();
        libc::sigaddset(&mut set, signal);
        libc::pthread_sigmask(how, &set, &mut before);
        match libc::sigismember(&before, signal) {
            1 => SIG_HOLD,
            _ => former,
        }
    }
}

/// The rest of a time, on the clock that was at `began` first.
fn left_of(whole: timespec, began: u64) -> timespec {
    let gone = process::time(libc::CLOCK_MONOTONIC).saturating_sub(began);
    let all = (whole.tv_sec as u64)
        .saturating_mul(1_000_000_000)
        .saturating_add(whole.tv_nsec as u64);
    let left = all.saturating_sub(gone);
    timespec {
        tv_sec: (left / 1_000_000_000) as i64,
        tv_nsec: (left % 1_000_000_000) as i64,
    }
}

/// Removes our ticks from the pending signals.
///
/// # Safety
/// The set was filled in.
unsafe fn take_ours_out(set: *mut sigset_t) {
    // SAFETY: as the caller says.
    unsafe {
        for signal in ASKED {
            if sent::is_installed()
                && libc::sigismember(set, signal) == 1
                && !is_anothers_waiting(signal)
            {
                libc::sigdelset(set, signal);
            }
        }
        if traps::is_installed()
            && libc::sigismember(set, libc::SIGTRAP) == 1
            && profundo_probe::traps::take_back()
        {
            libc::sigdelset(set, libc::SIGTRAP);
        }
    }
}
