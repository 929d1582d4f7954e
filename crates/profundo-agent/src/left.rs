//! The flag that the agent has left this process. Every module checks it, and it imports nothing.

use core::sync::atomic::{AtomicBool, Ordering};

static LEFT: AtomicBool = AtomicBool::new(false);

/// True if the agent has left this process.
pub fn has_left() -> bool {
    LEFT.load(Ordering::Relaxed)
}

/// Sets the flag.
pub fn set() {
    LEFT.store(true, Ordering::Relaxed);
}

/// The agent has come into this process again.
pub fn clear() {
    LEFT.store(false, Ordering::Relaxed);
}
