//! The agent leaves a process that is about to restrict its system calls (seccomp). A handler of
//! ours would make one that is not permitted, and the program would be killed for it. From here on
//! no handler of ours runs any more, and nothing of ours calls the kernel.

use core::sync::atomic::Ordering;

use profundo_probe::urgent;

use crate::{home, lifecycle};

/// Leaves the process. `has_clock`: the processor's clock may still be read.
pub fn leave(has_clock: bool) {
    let Some(home) = home::current() else { return };
    // Our handler is removed before its probe: without one it would take a tick for the program's.
    lifecycle::leave(home, has_clock);
    urgent::set_probe(None);
    // Release pairs with the acquire of the command.
    home.ring().header.left.store(1, Ordering::Release);
    home.ring_bell();
}
