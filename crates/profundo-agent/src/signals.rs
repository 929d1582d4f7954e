//! The signals that our clocks send, [`ASKED`], as the program knows them.
//!
//! The program may install a handler of its own, ask for the one that it has, and wait for the
//! signal. It gets what it would have got; ours stays where it is and passes on what is not for us.
//! Whoever waits for all signals at once does not get those of our clocks; who names one of them
//! has it for itself: [`claims`].

use core::ffi::c_int;
use core::mem::{MaybeUninit, zeroed};
use core::ptr;
use core::sync::atomic::{AtomicBool, Ordering};

use libc::{siginfo_t, sigset_t, timespec};
use profundo_probe::hidden::{self, ALL, ASKED, bit};
use profundo_probe::sys;
use profundo_probe::urgent::{self, Action};

use crate::home::{Whose, home};
use crate::lock::Lock;
use crate::next_symbols::{self, Handler};
use crate::{blocked, claims, home, inject, process, python, traps};

/// What the C library's own handlers carry, and tell whoever asks.
const SA_RESTORER: c_int = 0x0400_0000;

static INSTALLED: AtomicBool = AtomicBool::new(false);
/// Whether our handler is there.
pub fn is_installed() -> bool {
    INSTALLED.load(Ordering::Relaxed)
}

static CHANGING: Lock = Lock::new();

/// Installs our handler, and hides the signals that come to it.
pub fn install() {
    let Some(sigaction) = next_symbols::sigaction() else {
        return;
    };
    CHANGING.with(|| {
        for signal in ASKED {
            // SAFETY: zeroed is a valid action; all pointers are ours.
            unsafe {
                let mut before: libc::sigaction = zeroed();
                if sigaction(signal, ptr::null(), &mut before) != 0 {
                    continue;
                }
                urgent::believe(signal, Action::from_libc(&before));
                let ours = urgent::believed(signal).installed(signal);
                if sigaction(signal, &ours, ptr::null_mut()) == 0 {
                    hidden::hide(bit(signal));
                    INSTALLED.store(true, Ordering::Release);
                }
            }
        }
    });
    claims::begin();
    blocked::begin_program();
}

/// Whether a call about this signal is for us to answer. A child that borrows its parent's memory
/// has actions of its own, but what the parent believes is not to be changed.
fn is_for_us(signal: c_int) -> bool {
    has_ours(signal) && home().is_none_or(|home| home.whose() != Whose::Borrowed)
}

/// Whether our handler is there for a signal.
fn has_ours(signal: c_int) -> bool {
    match signal {
        libc::SIGTRAP => traps::is_installed(),
        _ => ASKED.contains(&signal) && INSTALLED.load(Ordering::Acquire),
    }
}

/// Does what the program asks for; returns what it had before.
fn exchange(signal: c_int, new: Option<Action>) -> Action {
    if signal == libc::SIGTRAP && new.is_some_and(Action::is_function) {
        traps::before_handler();
    }
    CHANGING.with(|| {
        let before = urgent::believed(signal);
        if let Some(new) = new {
            urgent::believe(signal, new);
            if let Some(sigaction) = next_symbols::sigaction() {
                // SAFETY: the action is ours.
                unsafe { sigaction(signal, &new.installed(signal), ptr::null_mut()) };
            }
        }
        before
    })
}

/// # Safety
/// As for `sigaction`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    if !is_for_us(signal) {
        // The interpreter installs its handlers while it starts.
        if let Some(home) = home::current_if_entered() {
            python::look_if_asked(home);
            inject::see_to_it();
        }
        let Some(real) = next_symbols::sigaction() else {
            return next_symbols::missing();
        };
        // SAFETY: the caller's arguments, passed on.
        let result = unsafe { real(signal, new, old) };
        // SAFETY: `old` is null or was filled in.
        if let Some(old) = unsafe { old.as_mut() }
            && result == 0
            && is_our_handler(old)
        {
            *old = urgent::believed(signal).to_libc();
        }
        return result;
    }
    // SAFETY: the caller's pointers are null or valid.
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
    0
}

/// Whether an action is a handler of ours, which is not shown.
fn is_our_handler(action: &libc::sigaction) -> bool {
    urgent::is_ours(action) || profundo_probe::traps::is_ours(action)
}

/// Whether a handler is ours, which is not shown.
pub fn is_ours(handler: Handler) -> bool {
    // SAFETY: zeroed is a valid action.
    let mut action: libc::sigaction = unsafe { zeroed() };
    action.sa_sigaction = handler;
    is_our_handler(&action)
}

/// As [`sigaction`] does it; `None`: the call is not for us to answer.
pub fn exchange_by_number(signal: c_int, new: Option<Action>) -> Option<Action> {
    is_for_us(signal).then(|| exchange(signal, new))
}

/// As `signal` and its like do it: returns the handler before.
fn exchange_handler(signal: c_int, handler: Handler, flags: c_int) -> Handler {
    if handler == libc::SIG_ERR {
        next_symbols::set_errno(libc::EINVAL);
        return libc::SIG_ERR;
    }
    let new = Action {
        handler,
        flags: flags | SA_RESTORER,
        // BSD's `signal` blocks the signal itself in its handler, and `sigaction` shows that mask.
        mask: match flags & libc::SA_RESTART {
            0 => 0,
            _ => bit(signal),
        },
    };
    let before = exchange(signal, Some(new));
    before.handler
}

macro_rules! simple {
    ($($name:ident => $real:ident, $flags:expr;)*) => {$(
        /// # Safety
        /// As for the C library's function of this name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(signal: c_int, handler: Handler) -> Handler {
            if is_for_us(signal) {
                return exchange_handler(signal, handler, $flags);
            }
            match next_symbols::$real() {
                // SAFETY: the caller's arguments, passed on.
                Some(real) => hide(signal, unsafe { real(signal, handler) }),
                None => libc::SIG_ERR,
            }
        }
    )*};
}

const ONCE: c_int = libc::SA_RESETHAND | libc::SA_NODEFER;

simple! {
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

/// # Safety
/// As for `sigset`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigset(signal: c_int, handler: Handler) -> Handler {
    /// To block the signal, and not to change its action.
    const SIG_HOLD: Handler = 2;
    if !is_for_us(signal) {
        return match next_symbols::sigset() {
            // SAFETY: the caller's arguments, passed on.
            Some(real) => hide(signal, unsafe { real(signal, handler) }),
            None => libc::SIG_ERR,
        };
    }
    // SAFETY: sets of ours.
    unsafe {
        let mut set: sigset_t = zeroed();
        let mut before: sigset_t = zeroed();
        libc::sigaddset(&mut set, signal);
        let (how, held_before) = (
            if handler == SIG_HOLD {
                libc::SIG_BLOCK
            } else {
                libc::SIG_UNBLOCK
            },
            &mut before,
        );
        let former = if handler == SIG_HOLD {
            exchange(signal, None).handler
        } else {
            exchange_handler(signal, handler, 0)
        };
        if former == libc::SIG_ERR {
            return former;
        }
        libc::pthread_sigmask(how, &set, held_before);
        if libc::sigismember(&before, signal) == 1 {
            SIG_HOLD
        } else {
            former
        }
    }
}

/// # Safety
/// As for `sigignore`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigignore(signal: c_int) -> c_int {
    if is_for_us(signal) {
        exchange_handler(signal, libc::SIG_IGN, 0);
        return 0;
    }
    match next_symbols::sigignore() {
        // SAFETY: the caller's argument, passed on.
        Some(real) => unsafe { real(signal) },
        None => next_symbols::missing(),
    }
}

/// # Safety
/// As for `siginterrupt`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn siginterrupt(signal: c_int, interrupt: c_int) -> c_int {
    if is_for_us(signal) {
        let mut action = exchange(signal, None);
        action.flags = match interrupt {
            0 => action.flags | libc::SA_RESTART,
            _ => action.flags & !libc::SA_RESTART,
        };
        exchange(signal, Some(action));
        return 0;
    }
    match next_symbols::siginterrupt() {
        // SAFETY: the caller's arguments, passed on.
        Some(real) => unsafe { real(signal, interrupt) },
        None => next_symbols::missing(),
    }
}

/// Takes our handlers away: each signal has the program's own action from here on. Where clocks may still
/// send one, it is thrown away.
pub fn withdraw(is_quiet: bool) {
    CHANGING.with(|| {
        INSTALLED.store(false, Ordering::Release);
        hidden::reveal(u64::MAX);
        for signal in ASKED {
            let mut action = urgent::believed(signal);
            // SIGURG is thrown away by default. What is ignored is still ignored in the next program.
            if !is_quiet && !action.is_function() && signal != libc::SIGURG {
                action.handler = libc::SIG_IGN;
            }
            set(signal, action.to_libc());
        }
    });
}

/// Before the program becomes another one: that one inherits which signals are ignored, and not
/// handlers. Returns those that were changed.
pub fn before_exec() -> u64 {
    let is_ignored = |&signal: &c_int| {
        has_ours(signal)
            && urgent::believed(signal).handler == libc::SIG_IGN
            // A child that borrows its parent's memory may have set another action.
            && current(signal).is_some_and(|action| is_our_handler(&action))
    };
    let mut changed = 0;
    for signal in ALL.into_iter().filter(is_ignored) {
        changed |= bit(signal);
        set(signal, urgent::believed(signal).to_libc());
    }
    changed
}

/// After it did not.
pub fn after_exec(changed: u64) {
    if changed == 0 {
        return;
    }
    let error = next_symbols::errno();
    for signal in ALL {
        if changed & bit(signal) != 0 {
            set(signal, urgent::believed(signal).installed(signal));
        }
    }
    next_symbols::set_errno(error);
}

/// The kernel's action for a signal.
fn current(signal: c_int) -> Option<libc::sigaction> {
    // SAFETY: zeroed is a valid action, and the place is ours.
    unsafe {
        let mut action: libc::sigaction = zeroed();
        (next_symbols::sigaction()?(signal, ptr::null(), &mut action) == 0).then_some(action)
    }
}

fn set(signal: c_int, action: libc::sigaction) {
    if let Some(sigaction) = next_symbols::sigaction() {
        // SAFETY: the action is ours.
        unsafe { sigaction(signal, &action, ptr::null_mut()) };
    }
}

/// Before another program is started, which inherits what the calling thread blocks as well.
pub fn before_spawn() -> (u64, Option<u64>) {
    (before_exec(), blocked::make_real())
}

/// When it was.
pub fn after_spawn((changed, mask): (u64, Option<u64>)) {
    blocked::make_unreal(mask);
    after_exec(changed);
}

/// Whether a signal that was waited for is a clock of ours.
///
/// # Safety
/// `info` was filled in by the kernel.
unsafe fn is_clock(signal: c_int, info: *const siginfo_t) -> bool {
    match signal {
        // SAFETY: the caller vouches.
        _ if ASKED.contains(&signal) => unsafe { urgent::is_clock(signal, info) },
        // SAFETY: the caller vouches.
        libc::SIGTRAP => unsafe { profundo_probe::traps::is_clock(info) },
        _ => false,
    }
}

/// # Safety
/// As for `sigwait`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sigwait(set: *const sigset_t, result: *mut c_int) -> c_int {
    let mut info = MaybeUninit::<siginfo_t>::zeroed();
    loop {
        // SAFETY: the caller's arguments, passed on; the information is ours.
        let signal = unsafe { sigwaitinfo(set, info.as_mut_ptr()) };
        match signal {
            -1 if next_symbols::errno() == libc::EINTR => {}
            -1 => return next_symbols::errno(),
            signal => {
                // SAFETY: the caller's place.
                unsafe { *result = signal };
                return 0;
            }
        }
    }
}

/// # Safety
/// As for `sigwaitinfo`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sigwaitinfo(set: *const sigset_t, info: *mut siginfo_t) -> c_int {
    let Some(real) = next_symbols::sigwaitinfo() else {
        return next_symbols::missing();
    };
    // SAFETY: the caller's set.
    unsafe { claims::before_wait(set) };
    let mut own = MaybeUninit::<siginfo_t>::zeroed();
    let info = if info.is_null() {
        own.as_mut_ptr()
    } else {
        info
    };
    loop {
        // SAFETY: the caller's arguments, passed on, with a place for the information.
        unsafe {
            let signal = real(set, info);
            if !is_clock(signal, info) {
                return signal;
            }
        }
    }
}

/// # Safety
/// As for `sigtimedwait`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sigtimedwait(
    set: *const sigset_t,
    info: *mut siginfo_t,
    time: *const timespec,
) -> c_int {
    // SAFETY: null or the caller's.
    let Some(&whole) = (unsafe { time.as_ref() }) else {
        // SAFETY: the caller's arguments, passed on.
        return unsafe { sigwaitinfo(set, info) };
    };
    let Some(real) = next_symbols::sigtimedwait() else {
        return next_symbols::missing();
    };
    // SAFETY: the caller's set.
    unsafe { claims::before_wait(set) };
    let mut own = MaybeUninit::<siginfo_t>::zeroed();
    let info = if info.is_null() {
        own.as_mut_ptr()
    } else {
        info
    };
    let began = process::time(libc::CLOCK_MONOTONIC);
    let mut time = whole;
    loop {
        // SAFETY: the caller's arguments, passed on, with a place for the information.
        unsafe {
            let signal = real(set, info, &time);
            if !is_clock(signal, info) {
                return signal;
            }
        }
        let gone = process::time(libc::CLOCK_MONOTONIC).saturating_sub(began);
        let all = (whole.tv_sec as u64)
            .saturating_mul(1_000_000_000)
            .saturating_add(whole.tv_nsec as u64);
        let left = all.saturating_sub(gone);
        time.tv_sec = (left / 1_000_000_000) as i64;
        time.tv_nsec = (left % 1_000_000_000) as i64;
    }
}

/// A tick of ours that waits to be let in is taken away, and not shown; what somebody else sent
/// goes on waiting.
///
/// # Safety
/// As for `sigpending`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigpending(set: *mut sigset_t) -> c_int {
    let Some(real) = next_symbols::sigpending() else {
        return next_symbols::missing();
    };
    // SAFETY: the caller's place.
    unsafe {
        let result = real(set);
        for signal in ASKED {
            if result == 0
                && is_installed()
                && libc::sigismember(set, signal) == 1
                && !is_anothers_waiting(signal)
            {
                libc::sigdelset(set, signal);
            }
        }
        if result == 0
            && traps::is_installed()
            && libc::sigismember(set, libc::SIGTRAP) == 1
            && profundo_probe::traps::take_back()
        {
            libc::sigdelset(set, libc::SIGTRAP);
        }
        result
    }
}

/// Takes back those signals of ours that wait for the calling thread, which blocks them.
pub fn take_back(signal: c_int) {
    if is_installed() {
        is_anothers_waiting(signal);
    }
}

/// Whether one of [`ASKED`] waits that is no clock's. Those of clocks are taken away.
fn is_anothers_waiting(signal: c_int) -> bool {
    /// One of each clock's may wait for the thread, and one for the process.
    const MOST: usize = 4;
    const SET_BYTES: usize = 8;
    let wanted = bit(signal);
    let at_once = timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    for _ in 0..MOST {
        let mut info = MaybeUninit::<siginfo_t>::zeroed();
        // SAFETY: all places are ours; who gets the signal back is this very process.
        unsafe {
            let (set, time) = (&raw const wanted as usize, &raw const at_once as usize);
            let place = info.as_mut_ptr() as usize;
            let taken = [set, place, time, SET_BYTES, 0, 0];
            let came = sys::call(libc::SYS_rt_sigtimedwait, taken);
            if came != signal as isize {
                return false;
            }
            if !is_clock(signal, info.as_ptr()) {
                urgent::send_again(signal, info.as_ptr());
                return true;
            }
        }
    }
    false
}
