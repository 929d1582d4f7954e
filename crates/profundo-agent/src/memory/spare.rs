//! Memory of threads that have ended after the agent had left: other threads use it again in a
//! later recording. No system call is made for it, because the program may have restricted its
//! calls.

use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

/// The most that are kept of each kind. Those of further threads stay mapped.
const MOST: usize = 256;

/// Memory of one kind.
#[derive(Debug)]
pub struct Spare<T>([AtomicPtr<T>; MOST]);

impl<T> Spare<T> {
    /// No spare places.
    pub const fn new() -> Self {
        Self([const { AtomicPtr::new(ptr::null_mut()) }; MOST])
    }

    /// Keeps memory that its thread uses no more.
    pub fn put(&self, memory: *mut T) {
        for place in &self.0 {
            let none = ptr::null_mut();
            // Release pairs with the acquire below.
            if place
                .compare_exchange(none, memory, Ordering::Release, Ordering::Relaxed)
                .is_ok()
            {
                return;
            }
        }
    }

    /// Memory that was kept, with any contents; null if there is none.
    pub fn take(&self) -> *mut T {
        for place in &self.0 {
            if place.load(Ordering::Relaxed).is_null() {
                continue;
            }
            let memory = place.swap(ptr::null_mut(), Ordering::Acquire);
            if !memory.is_null() {
                return memory;
            }
        }
        ptr::null_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_is_taken_once() {
        let (spare, mut words) = (Spare::new(), [1, 2, 3]);
        words
            .each_mut()
            .into_iter()
            .for_each(|word| spare.put(word));
        let mut taken: Vec<*mut i32> = (0..4).map(|_| spare.take()).collect();
        assert!(taken.pop().is_some_and(|none| none.is_null()));
        taken.sort_unstable();
        assert_eq!(taken, words.each_mut().map(ptr::from_mut));
    }
}
