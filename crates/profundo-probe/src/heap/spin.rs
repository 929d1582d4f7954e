//! A lock for a few instructions.

use core::cell::UnsafeCell;
use core::hint;
use core::sync::atomic::{AtomicU32, Ordering};

use crate::sys;

const FREE: u32 = 0;
const HELD: u32 = 1;
/// The holder did not return.
const LOST: u32 = 2;

/// A value for one thread at a time, for a moment. All zero is an unlocked one over zeros.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Spin<T> {
    state: AtomicU32,
    inside: UnsafeCell<T>,
}

// SAFETY: the inside is reached under the lock alone.
unsafe impl<T: Send> Sync for Spin<T> {}

impl<T> Spin<T> {
    /// An unlocked one.
    pub const fn new(inside: T) -> Self {
        Self {
            state: AtomicU32::new(FREE),
            inside: UnsafeCell::new(inside),
        }
    }

    /// Waits for the others, then runs `f`.
    ///
    /// `None`: the lock was held for too long, perhaps by code that the calling signal handler has
    /// interrupted, or that has left by a jump. The value may be half changed, so it is never used
    /// again: losing it is better than a program that hangs.
    #[inline]
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        if !self.take() && !self.wait() {
            return None;
        }
        // SAFETY: the lock is held by this call alone.
        let result = f(unsafe { &mut *self.inside.get() });
        // It may have been given up meanwhile, and stays so. Release pairs with the acquire in
        // `take`.
        let _ = self
            .state
            .compare_exchange(HELD, FREE, Ordering::Release, Ordering::Relaxed);
        Some(result)
    }

    #[inline]
    fn take(&self) -> bool {
        // Acquire pairs with the release above.
        self.state
            .compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    #[cold]
    #[inline(never)]
    fn wait(&self) -> bool {
        /// After this many turns, the holder has been taken off the CPU,
        const TURNS: u32 = 100;
        /// and after this many rounds, by one that is less urgent than this thread, which has to
        /// leave the CPU for it.
        const ROUNDS: u32 = 50;
        /// Milliseconds.
        const PATIENCE: u32 = 1000;
        for round in 0..ROUNDS + PATIENCE {
            for _ in 0..TURNS {
                if self.state.load(Ordering::Relaxed) == LOST {
                    return false;
                }
                if self.take() {
                    return true;
                }
                hint::spin_loop();
            }
            if round < ROUNDS {
                sys::let_others_run();
            } else {
                sys::sleep_a_millisecond();
            }
        }
        self.state.store(LOST, Ordering::Relaxed);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{thread, vec::Vec};

    #[test]
    fn one_at_a_time_is_inside() {
        static SPIN: Spin<[u64; 2]> = Spin::new([0; 2]);
        let threads: Vec<_> = (0..4)
            .map(|_| {
                thread::spawn(|| {
                    for _ in 0..20_000 {
                        SPIN.with(|[a, b]| {
                            *a += 1;
                            *b = core::hint::black_box(*a);
                        });
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(SPIN.with(|value| *value), Some([80_000; 2]));
    }

    #[test]
    fn whoever_would_wait_for_himself_is_turned_away_and_so_are_all_later_ones() {
        let spin = Spin::new(7);
        let inner = spin.with(|_| spin.with(|value| *value));
        assert_eq!(inner, Some(None));
        assert_eq!(spin.with(|value| *value), None);
    }
}
