//! A lock for a few instructions.

use core::cell::UnsafeCell;
use core::hint;
use core::sync::atomic::{AtomicU32, Ordering};

use crate::sys;

/// Something that one thread at a time may use, for a moment. All zero is an unlocked one over zeros.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Spin<T> {
    held: AtomicU32,
    inside: UnsafeCell<T>,
}

// SAFETY: the inside is reached under the lock alone.
unsafe impl<T: Send> Sync for Spin<T> {}

impl<T> Spin<T> {
    /// An unlocked one.
    pub const fn new(inside: T) -> Self {
        Self {
            held: AtomicU32::new(0),
            inside: UnsafeCell::new(inside),
        }
    }

    /// Waits for the others, then runs `f`. The calling thread must not be inside already: a handler
    /// that may interrupt `f` stays away.
    #[inline]
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        /// Whoever holds it this long has been taken off the CPU.
        const TURNS: u32 = 100;
        let mut turns = 0;
        // Acquire pairs with the release below.
        while self
            .held
            .compare_exchange_weak(0, 1, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            turns += 1;
            if turns % TURNS == 0 {
                sys::let_others_run();
            } else {
                hint::spin_loop();
            }
        }
        // SAFETY: the lock is held, and the caller vouches that it was not held by this thread.
        let result = f(unsafe { &mut *self.inside.get() });
        self.held.store(0, Ordering::Release);
        result
    }
}
