//! The program uses one of our signals itself: it blocks it by name, waits for it, or reads it from a
//! descriptor. It gets it for itself. Our clocks go over to another signal, and then the program's call goes
//! on. It waits for the command only if clocks of the command's send the signal, and never for long.
//!
//! Our handler stays where it is, because a tick may still be on its way to another thread.

use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

use libc::sigset_t;
use profundo_probe::hidden::{self, ASKED, bit};
use profundo_probe::shared::{ring_state, trap_state};
use profundo_probe::sys;

use crate::home::{Home, Whose, home};
use crate::lock::Lock;
use crate::{blocked, home, left, next_symbols, process, session, signals, threads, timers, traps};

/// The signal that timers and the command's descriptors send; 0 if the program uses all that could be.
static SENT: AtomicI32 = AtomicI32::new(0);

/// Held while the signal changes.
static CHANGING: Lock = Lock::new();

/// The signal that timers and the command's descriptors send; 0: there is none.
pub fn sent() -> i32 {
    SENT.load(Ordering::Acquire)
}

/// Uses the first signal that may be hidden.
pub fn begin() {
    SENT.store(first_hidden(), Ordering::Release);
}

fn first_hidden() -> i32 {
    let hidden = hidden::hidden();
    let free = ASKED.into_iter().find(|&it| hidden & bit(it) != 0);
    free.unwrap_or(0)
}

/// The program waits for these signals, if it names them: one that waits for nearly all of them means
/// nothing of ours.
///
/// # Safety
/// The set is null or valid.
pub unsafe fn before_wait(set: *const sigset_t) {
    if set.is_null() {
        return;
    }
    // SAFETY: the caller vouches.
    let named = unsafe { blocked::bits_of(set) };
    if !hidden::is_full(named) {
        claim(named);
    }
}

/// The program uses these signals itself from here on, as far as they are ours.
pub fn claim(signals: u64) {
    let used = signals & hidden::hidden();
    let is_being_moved = signals & asked() != 0 && is_moving();
    let is_borrowed = || home().is_some_and(|home| home.whose() == Whose::Borrowed);
    let is_ours = used != 0 || is_being_moved;
    if !is_ours || !signals::is_installed() || left::has_left() || is_borrowed() {
        return;
    }
    let error = next_symbols::errno();
    // A child that has put off its entry waits for a signal that changes now.
    let home = home::current();
    let has_changed = is_other_signal(used) || is_being_moved;
    if has_changed {
        move_on(home);
    }
    if used & bit(libc::SIGTRAP) != 0 {
        traps::give_up();
    }
    // What the thread blocks by the program's word alone is blocked really.
    let mask = process::blocked();
    let unreal = hidden::shown(mask) & !mask & used;
    if unreal != 0 {
        sys::set_signal_mask(mask | unreal);
    }
    for signal in ASKED {
        if signals & bit(signal) != 0 {
            signals::take_back(signal);
        }
    }
    next_symbols::set_errno(error);
}

/// The bits of [`ASKED`].
fn asked() -> u64 {
    ASKED.into_iter().fold(0, |bits, signal| bits | bit(signal))
}

/// Hides these signals no longer. Returns whether clocks have to send another one for that.
fn is_other_signal(used: u64) -> bool {
    CHANGING.with(|| {
        hidden::reveal(used);
        let before = sent();
        if before == 0 || used & bit(before) == 0 {
            return false;
        }
        MOVING_UNTIL.store(now() + PATIENCE, Ordering::Release);
        SENT.store(first_hidden(), Ordering::Release);
        true
    })
}

/// While clocks go over to another signal: until when, at the latest. 0: they do not. Another thread that
/// names the signal before they are over does the same work, and does not go on before it is done.
static MOVING_UNTIL: AtomicU64 = AtomicU64::new(0);

/// Whether clocks go over to another signal at present.
pub fn is_moving() -> bool {
    match MOVING_UNTIL.load(Ordering::Acquire) {
        0 => false,
        until => now() < until,
    }
}

fn now() -> u64 {
    process::time(libc::CLOCK_MONOTONIC)
}

/// Has timers and the command's clocks send the other signal.
fn move_on(home: Option<Home>) {
    let until = MOVING_UNTIL.load(Ordering::Acquire);
    if let Some(home) = home {
        // No handler finds a thread's timer half made.
        let before = sys::set_signal_mask(u64::MAX);
        timers::restart_all(home);
        sys::set_signal_mask(before);
        tell_command(home);
    }
    // Somebody else may have begun to move to a third one.
    let order = (Ordering::Release, Ordering::Relaxed);
    let _ = MOVING_UNTIL.compare_exchange(until, 0, order.0, order.1);
}

/// Has no timer and no clock send a signal from here on: the agent leaves. Returns whether it is sure.
pub fn send_nothing(home: Home) -> bool {
    SENT.store(0, Ordering::Release);
    timers::end_all(home);
    tell_command(home)
}

/// Has the command's clocks send the other signal, and waits until they do. Returns whether it is sure.
fn tell_command(home: Home) -> bool {
    let header = &home.ring().header;
    let signal = sent() as u32;
    // Release pairs with the acquire of the command.
    header.signal.store(signal, Ordering::Release);
    if header.state.load(Ordering::Relaxed) == ring_state::BLANK {
        // It has not been told of the process, and has no clocks.
        return true;
    }
    threads::tell(home);
    // Acquire pairs with the release of the command, which says so before it opens a clock.
    if header.trap.load(Ordering::Acquire) == trap_state::USED {
        // Its clocks send SIGTRAP, and those that it opens from here on send the new signal.
        return true;
    }
    wait_for_command(|| {
        let heard = header.signal_heard.load(Ordering::Acquire);
        (heard != signal).then_some((&header.signal_heard, heard))
    })
}

/// How long the program is held while the command does not answer, in nanoseconds.
const PATIENCE: u64 = 30_000_000;

/// The same, since a command was met that does not answer.
static PATIENCE_LEFT: AtomicU64 = AtomicU64::new(PATIENCE);

/// Waits while the command has not answered, which `unheard` tells by the word that it will change; and
/// not for long, should it have been stopped or have no CPU. One that is gone has no clocks. Returns whether
/// it is sure.
pub fn wait_for_command<'a>(unheard: impl Fn() -> Option<(&'a AtomicU32, u32)>) -> bool {
    const TURN: u64 = 1_000_000;
    let patience = PATIENCE_LEFT.load(Ordering::Relaxed);
    let end = now() + patience;
    while let Some((word, value)) = unheard() {
        if !session::control().is_some_and(session::is_alive) {
            return true;
        }
        if now() >= end {
            let less = (patience / 2).max(TURN);
            PATIENCE_LEFT.store(less, Ordering::Relaxed);
            return false;
        }
        sys::futex_wait(word, value, TURN);
    }
    PATIENCE_LEFT.store(PATIENCE, Ordering::Relaxed);
    true
}
