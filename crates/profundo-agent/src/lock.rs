//! A spin lock: held for a few instructions, by threads that have all signals blocked.

use core::hint;
use core::sync::atomic::{AtomicU32, Ordering};

use profundo_probe::sys;

/// The lock. 0 is free.
#[derive(Debug, Default)]
pub struct Lock(AtomicU32);

impl Lock {
    /// A free lock.
    pub const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Runs `f` with the lock held and all signals blocked: a handler that wants the lock as well
    /// would deadlock on the code that it has interrupted.
    ///
    /// A child that was forked while another thread held the lock would wait for ever too, so the
    /// wait is limited: torn data is better than a stopped program.
    pub fn with<T>(&self, f: impl FnOnce() -> T) -> T {
        const PATIENCE: u32 = 1_000_000;
        let before = sys::set_signal_mask(u64::MAX);
        for _ in 0..PATIENCE {
            // Acquire pairs with the release below.
            if self
                .0
                .compare_exchange_weak(0, 1, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
            {
                break;
            }
            hint::spin_loop();
        }
        let result = f();
        self.0.store(0, Ordering::Release);
        sys::set_signal_mask(before);
        result
    }
}
