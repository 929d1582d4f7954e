//! A lock that a forked child does not inherit held.
//!
//! A child of `fork` has one thread. If another thread of the parent held an ordinary mutex at that
//! instant, the child could never take it, and the protected value may be half changed. This one
//! remembers which process holds it: a child takes it over and starts with a fresh value, leaking
//! the parent's.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A value that can start over.
pub(crate) trait Fresh {
    /// The initial value.
    fn fresh() -> Self;
}

/// A value behind a lock that forked children do not inherit held.
#[derive(Debug)]
pub(crate) struct ForkLock<T> {
    holder: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached by the holder alone; after a fork the child has a copy of its own.
unsafe impl<T: Send> Sync for ForkLock<T> {}

/// The right to use the value.
#[derive(Debug)]
pub(crate) struct Held<'a, T> {
    lock: &'a ForkLock<T>,
}

impl<T> ForkLock<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self {
            holder: AtomicU32::new(0),
            value: UnsafeCell::new(value),
        }
    }
}

impl<T> ForkLock<T> {
    /// Takes the lock without a guard, for the time around a fork. False: not within the time.
    pub(crate) fn hold_for(&self, limit: Duration) -> bool {
        let me = std::process::id();
        let began = Instant::now();
        // Acquire pairs with the release in `release`.
        while self
            .holder
            .compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            if began.elapsed() > limit {
                return false;
            }
            thread::sleep(Duration::from_micros(50));
        }
        true
    }

    /// Gives back what `hold_for` took, in the parent or in the child.
    pub(crate) fn release(&self) {
        self.holder.store(0, Ordering::Release);
    }
}

impl<T: Fresh> ForkLock<T> {
    /// Waits for the lock. It is held for milliseconds at most, and never in a handler.
    pub(crate) fn lock(&self) -> Held<'_, T> {
        let me = std::process::id();
        for attempt in 0_u64.. {
            let holder = self.holder.load(Ordering::Relaxed);
            // Acquire pairs with the release in `drop`. A holder with another id is our parent
            // as it was when it forked: it does not exist here.
            if holder != me
                && self
                    .holder
                    .compare_exchange(holder, me, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok()
            {
                if holder != 0 {
                    // SAFETY: we hold the lock, and alone. The old value is not dropped: it may
                    // be half changed.
                    unsafe { std::ptr::write(self.value.get(), T::fresh()) };
                }
                return Held { lock: self };
            }
            match attempt {
                0..200 => std::hint::spin_loop(),
                _ => thread::sleep(Duration::from_micros(50)),
            }
        }
        unreachable!("the loop above does not end")
    }
}

impl<T> Deref for Held<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: we hold the lock.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Held<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: we hold the lock, and alone.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for Held<'_, T> {
    fn drop(&mut self) {
        self.lock.release();
    }
}
