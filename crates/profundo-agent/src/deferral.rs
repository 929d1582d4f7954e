//! The flags that say what this process has deferred: [`deferred`](crate::deferred) does the work.
//! This file imports none of the modules that do it, so the table of
//! [`lifecycle`](crate::lifecycle) may clear the flags.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::home::{self, Whose, home, is_deferred};

/// The process's place in `Control::deferred`, plus one; 0: its entry is not deferred. A child has
/// its parent's value until its fork is observed.
static PLACE: AtomicU32 = AtomicU32::new(0);

/// 1 in a program that waits for the command's answer at its first tick.
static AWAITS_ANSWER: AtomicU32 = AtomicU32::new(0);

/// Notes that the first tick waits for the command's answer.
pub fn await_answer() {
    AWAITS_ANSWER.store(1, Ordering::Relaxed);
}

/// True for the first caller after [`await_answer`].
pub fn take_awaited_answer() -> bool {
    AWAITS_ANSWER.swap(0, Ordering::Relaxed) != 0
}

/// Changes the place, and the flag that there is one, together.
pub fn swap_place(place: u32) -> u32 {
    home::set_deferred(place != 0);
    PLACE.swap(place, Ordering::Relaxed)
}

/// Cancels what was deferred: by the parent, in the child of a fork, or by a process that the agent
/// leaves. Returns true if that was the process's entry.
pub fn forget() -> bool {
    AWAITS_ANSWER.store(0, Ordering::Relaxed);
    swap_place(0) != 0
}

/// The process ends: its entry is not worth it any more.
pub fn end() {
    let is_ours = || home().is_some_and(|home| home.whose() == Whose::Ours);
    if is_deferred() && is_ours() {
        swap_place(0);
    }
}
