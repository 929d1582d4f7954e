//! A value for one thread at a time, however long it takes. A thread that has to wait gives its CPU
//! away meanwhile, and gives up after a while.
//!
//! The child of a fork that was made while another thread had the value takes it over: that thread
//! does not exist there.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, Ordering};

use profundo_probe::sys;

use crate::process;

/// The value, and the process whose thread has it.
#[derive(Debug)]
pub struct Exclusive<T> {
    /// 0: no thread has it.
    holder: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: only the thread that has made itself the holder reaches the value.
unsafe impl<T: Send> Sync for Exclusive<T> {}

impl<T> Exclusive<T> {
    /// A value that no thread has.
    pub const fn new(value: T) -> Self {
        Self {
            holder: AtomicU32::new(0),
            value: UnsafeCell::new(value),
        }
    }

    /// Calls `f` with the value and all signals blocked: a handler that wants it too would wait for
    /// the code that it has interrupted. `None`: other threads had it for so many nanoseconds.
    pub fn with<R>(&self, patience: u64, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        let before = sys::set_signal_mask(u64::MAX);
        let is_ours = self.take(patience);
        // SAFETY: this thread is the holder, and no handler of it runs.
        let result = is_ours.then(|| f(unsafe { &mut *self.value.get() }));
        if is_ours {
            // Pairs with the acquire of the next holder.
            self.holder.store(0, Ordering::Release);
        }
        sys::set_signal_mask(before);
        result
    }

    fn take(&self, patience: u64) -> bool {
        let process = process::process_id();
        let mut until = None;
        loop {
            let holder = self.holder.load(Ordering::Relaxed);
            // Acquire pairs with the release of the last holder.
            let order = (Ordering::Acquire, Ordering::Relaxed);
            if holder != process
                && self
                    .holder
                    .compare_exchange(holder, process, order.0, order.1)
                    .is_ok()
            {
                return true;
            }
            let now = process::time(libc::CLOCK_MONOTONIC);
            if now > *until.get_or_insert(now.saturating_add(patience)) || patience == 0 {
                return false;
            }
            // SAFETY: takes nothing.
            unsafe { sys::call(libc::SYS_sched_yield, [0; 6]) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::thread;

    const LONG: u64 = 60_000_000_000;

    #[test]
    fn one_thread_at_a_time_has_the_value() {
        const TIMES: usize = 300;
        static VALUE: Exclusive<usize> = Exclusive::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..TIMES {
                        VALUE.with(LONG, |value| {
                            let seen = *value;
                            thread::yield_now();
                            *value = seen + 1;
                        });
                    }
                });
            }
        });
        assert_eq!(VALUE.with(0, |value| *value), Some(4 * TIMES));
    }

    #[test]
    fn a_thread_that_waits_gives_up() {
        static VALUE: Exclusive<()> = Exclusive::new(());
        let (begun, over) = (Barrier::new(2), Barrier::new(2));
        thread::scope(|scope| {
            scope.spawn(|| {
                VALUE.with(LONG, |()| {
                    begun.wait();
                    over.wait();
                });
            });
            begun.wait();
            assert_eq!(VALUE.with(0, |()| ()), None);
            assert_eq!(VALUE.with(2_000_000, |()| ()), None);
            over.wait();
            assert_eq!(VALUE.with(LONG, |()| ()), Some(()));
        });
    }

    #[test]
    fn the_child_of_a_fork_takes_it_over() {
        static VALUE: Exclusive<()> = Exclusive::new(());
        let status = VALUE.with(0, |()| {
            // SAFETY: the child only asks for the value and ends.
            let child = unsafe { libc::fork() };
            if child == 0 {
                let is_there = VALUE.with(0, |()| ()).is_some();
                // SAFETY: ends this process.
                unsafe { libc::_exit(if is_there { 7 } else { 8 }) };
            }
            let mut status = 0;
            // SAFETY: `status` is ours.
            unsafe { libc::waitpid(child, &mut status, 0) };
            status
        });
        assert_eq!(libc::WEXITSTATUS(status.unwrap()), 7);
    }
}
