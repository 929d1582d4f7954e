//! The agent leaves a process that is about to restrict its system calls (seccomp). A handler of
//! ours would make one that is not permitted, and the program would be killed for it. From here on
//! no handler of ours runs any more, and nothing of ours calls the kernel.

use core::sync::atomic::Ordering;

use profundo_probe::urgent;

use crate::{home, late, lifecycle, process, symbols};

/// Leaves the process. `has_clock`: the processor's clock may still be read.
pub fn leave(has_clock: bool) {
    if home::current().is_none() {
        return;
    }
    leave_with(has_clock, process::blocked());
    if symbols::is_late() {
        // Now is the last time that pages can be opened for that.
        late::note_left();
    }
}

/// As [`leave`], for a thread whose own mask is `own`: it blocks all signals at present. Returns
/// the signals whose handlers stay, because one of ours may wait for a thread.
pub fn leave_with(has_clock: bool, own: u64) -> u64 {
    let Some(home) = home::current() else {
        return 0;
    };
    // Our handler is removed before its probe: without one it would take a tick for the program's.
    let pending = lifecycle::leave(home, has_clock, own);
    urgent::set_probe(None);
    // Release pairs with the acquire of the command.
    home.ring().header.left.store(1, Ordering::Release);
    home.ring_bell();
    pending
}
