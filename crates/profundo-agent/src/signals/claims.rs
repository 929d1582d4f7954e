//! The program uses one of our signals itself: it blocks it by name, waits for it, or reads it from
//! a descriptor. Then the signal is the program's: our clocks change to another one, and the
//! program's call goes on. It waits for the command only if the command's clocks send the signal,
//! and never for long.
//!
//! Our handler stays where it is, because a tick may still be on its way to another thread.

use core::sync::atomic::{AtomicU64, Ordering, fence};

use libc::sigset_t;
use profundo_probe::hidden::{self, ASKED, bit};
use profundo_probe::shared::{ring_state, trap_state};
use profundo_probe::sys;

use crate::home::{Home, Whose, home};
use crate::lock::Lock;
use crate::signals::{answer, sent, sets, timers, traps, waiting};
use crate::{home, left, next_symbols, process};

/// Held while the signal changes.
static CHANGING: Lock = Lock::new();

/// Called before the program waits for these signals. It uses those that it names; a wait for
/// nearly all signals does not mean ours.
///
/// # Safety
/// The set is null or valid.
pub unsafe fn before_wait(set: *const sigset_t) {
    if set.is_null() {
        return;
    }
    // SAFETY: the caller vouches.
    let named = unsafe { sets::bits_of(set) };
    if !hidden::is_full(named) {
        claim(named);
    }
}

/// Gives these signals to the program, as far as they are ours.
pub fn claim(signals: u64) {
    let used = signals & hidden::hidden();
    let is_being_moved = signals & asked() != 0 && is_moving();
    let is_borrowed = || home().is_some_and(|home| home.whose() == Whose::Borrowed);
    let is_ours = used != 0 || is_being_moved;
    if !is_ours || !sent::is_installed() || left::has_left() || is_borrowed() {
        return;
    }
    let error = next_symbols::errno();
    // A child that has deferred its entry waits for a signal that changes now.
    let home = home::current();
    let has_changed = is_other_signal(used) || is_being_moved;
    if has_changed {
        move_on(home);
    }
    if used & bit(libc::SIGTRAP) != 0 {
        traps::give_up();
    }
    // Signals that only the program's own mask blocks are blocked for real.
    let mask = process::blocked();
    let unreal = hidden::shown(mask) & !mask & used;
    if unreal != 0 {
        sys::set_signal_mask(mask | unreal);
    }
    for signal in ASKED {
        if signals & bit(signal) != 0 {
            waiting::take_back(signal);
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
        let before = sent::sent();
        if before == 0 || used & bit(before) == 0 {
            return false;
        }
        MOVING_UNTIL.store(now() + answer::PATIENCE, Ordering::Release);
        sent::choose();
        true
    })
}

/// The deadline of clocks that change to another signal; 0: none do. Another thread that names the
/// signal meanwhile does the same work, and does not go on before it is done.
static MOVING_UNTIL: AtomicU64 = AtomicU64::new(0);

/// True if clocks are changing to another signal.
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
        announce_signal(home);
    }
    // Another thread may have begun to move to a third one.
    let order = (Ordering::Release, Ordering::Relaxed);
    let _ = MOVING_UNTIL.compare_exchange(until, 0, order.0, order.1);
}

/// Has no timer and no clock send a signal from here on: the agent leaves. Returns whether that is
/// certain.
pub fn send_nothing(home: Home) -> bool {
    sent::send_nothing();
    // Pairs with the fence of a thread that has just noted its timer.
    fence(Ordering::SeqCst);
    timers::end_all(home);
    announce_signal(home)
}

/// Has the command's clocks send the other signal, and waits until they do. Returns whether that is
/// certain.
fn announce_signal(home: Home) -> bool {
    let header = &home.ring().header;
    let signal = sent::sent() as u32;
    // Release pairs with the acquire of the command.
    header.signal.store(signal, Ordering::Release);
    if header.state.load(Ordering::Relaxed) == ring_state::BLANK {
        // The command does not know of the process, so it has no clocks for it.
        return true;
    }
    home.ring_bell();
    // Acquire pairs with the release of the command, which sets this before it opens a clock.
    if header.trap.load(Ordering::Acquire) == trap_state::USED {
        // Its clocks send SIGTRAP, and those that it opens from here on send the new signal.
        return true;
    }
    answer::wait_for_command(|| {
        let heard = header.signal_heard.load(Ordering::Acquire);
        (heard != signal).then_some((&header.signal_heard, heard))
    })
}
