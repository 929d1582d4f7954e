//! The program uses one of our signals itself: it blocks it by name, waits for it, or reads it from a
//! descriptor. It gets it for itself. Our clocks go over to another signal, and only then the
//! program's call goes on.
//!
//! Our handler stays where it is, because a tick may still be on its way to another thread.

use core::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use libc::sigset_t;
use profundo_probe::hidden::{self, ASKED, bit};
use profundo_probe::shared::ring_state;
use profundo_probe::sys;

use crate::home::{Home, Whose, home};
use crate::lock::Lock;
use crate::{blocked, process, real, restrict, session, signals, threads, timers, traps};

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
    let is_borrowed = || home().is_some_and(|home| home.whose() == Whose::Borrowed);
    if used == 0 || !signals::is_installed() || restrict::has_left() || is_borrowed() {
        return;
    }
    let error = real::errno();
    if used & bit(libc::SIGTRAP) != 0 {
        traps::give_up();
    }
    let home = home().filter(|home| home.records());
    let has_changed = CHANGING.with(|| {
        hidden::reveal(used);
        let before = sent();
        if before == 0 || used & bit(before) == 0 {
            return false;
        }
        let signal = first_hidden();
        SENT.store(signal, Ordering::Release);
        if let Some(home) = home {
            timers::restart_all(home);
        }
        true
    });
    if let Some(home) = home.filter(|_| has_changed) {
        tell_command(home);
    }
    // What the thread blocks by the program's word alone is blocked really.
    let mask = process::blocked();
    let unreal = hidden::shown(mask) & !mask & used;
    if unreal != 0 {
        sys::set_signal_mask(mask | unreal);
    }
    for signal in ASKED {
        if used & bit(signal) != 0 {
            signals::take_back(signal);
        }
    }
    real::set_errno(error);
}

/// Has the command's clocks send the other signal, and waits until they do.
fn tell_command(home: Home) {
    let header = &home.ring().header;
    let signal = sent() as u32;
    // Release pairs with the acquire of the command.
    header.signal.store(signal, Ordering::Release);
    if header.state.load(Ordering::Relaxed) == ring_state::BLANK {
        // It has not been told of the process, and has no clocks.
        return;
    }
    threads::tell(home);
    wait_for_command(|| {
        let heard = header.signal_heard.load(Ordering::Acquire);
        (heard != signal).then_some((&header.signal_heard, heard))
    });
}

/// Waits while the command has not answered, which `unheard` tells by the word that it will change; and
/// not for ever, should it have been stopped. One that is gone has no clocks. Returns whether it is sure.
pub fn wait_for_command<'a>(unheard: impl Fn() -> Option<(&'a AtomicU32, u32)>) -> bool {
    const TURN: u64 = 1_000_000;
    /// On a machine with much to do the command may have to wait for a CPU.
    const TURNS: usize = 2000;
    /// As often it is not asked whether it is there.
    const SURE: usize = 50;
    for turn in 0..TURNS {
        let Some((word, value)) = unheard() else {
            return true;
        };
        if turn >= SURE && !session::control().is_some_and(session::is_alive) {
            break;
        }
        sys::futex_wait(word, value, TURN);
    }
    false
}
