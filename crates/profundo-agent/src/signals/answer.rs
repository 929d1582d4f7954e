//! Waiting for the command to change its clocks, before the program's call goes on.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use profundo_probe::sys;

use crate::{command, process, session};

/// The longest time that the program is held while the command does not answer, in nanoseconds.
pub const PATIENCE: u64 = 30_000_000;

/// The patience that is left: halved each time the command does not answer.
static PATIENCE_LEFT: AtomicU64 = AtomicU64::new(PATIENCE);

/// Waits until the command has answered, with limits, in case it was stopped or gets no CPU.
/// `unheard` returns the word that the command will change. A command that is gone has no clocks.
/// Returns whether the answer is certain.
pub fn wait_for_command<'a>(unheard: impl Fn() -> Option<(&'a AtomicU32, u32)>) -> bool {
    const TURN: u64 = 1_000_000;
    let patience = PATIENCE_LEFT.load(Ordering::Relaxed);
    let end = process::time(libc::CLOCK_MONOTONIC) + patience;
    while let Some((word, value)) = unheard() {
        if !session::control().is_some_and(command::may_answer) {
            return true;
        }
        if process::time(libc::CLOCK_MONOTONIC) >= end {
            let less = (patience / 2).max(TURN);
            PATIENCE_LEFT.store(less, Ordering::Relaxed);
            return false;
        }
        sys::futex_wait(word, value, TURN);
    }
    PATIENCE_LEFT.store(PATIENCE, Ordering::Relaxed);
    true
}
