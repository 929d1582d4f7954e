//! Whether the agent has left this process: a flag that everything looks at and that imports nothing.

use core::sync::atomic::{AtomicBool, Ordering};

static LEFT: AtomicBool = AtomicBool::new(false);

/// Whether the agent has left this process.
pub fn has_left() -> bool {
    LEFT.load(Ordering::Relaxed)
}

/// From here on it has.
pub fn set() {
    LEFT.store(true, Ordering::Relaxed);
}
