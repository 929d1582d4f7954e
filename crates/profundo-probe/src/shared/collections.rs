//! The garbage collections of an interpreter: a ring of the last ones.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU64, Ordering};

use profundo_wire::recording::Collection;

/// The number kept until they are read.
pub const KEPT: usize = 512;

/// Written by the holder of the interpreter's lock, read by the command.
#[derive(Debug)]
#[repr(C)]
pub struct Collections {
    /// The number of collections.
    pub written: AtomicU64,
    /// In a ring: when the interpreter was entered, so that they are reported from then on.
    /// Elsewhere: when the command last read them. On the monotonic clock.
    pub visited: AtomicU64,
    kept: [UnsafeCell<Collection>; KEPT],
}

// SAFETY: there is one writer at a time, and a reader sees by `written` which ones may have changed
// meanwhile.
unsafe impl Sync for Collections {}

impl Collections {
    /// Adds one; returns the new number.
    pub fn add(&self, collection: Collection) -> u64 {
        let written = self.written.load(Ordering::Relaxed);
        if let Some(place) = self.kept.get(written as usize % KEPT) {
            // SAFETY: there is no other writer, and a reader meanwhile finds out afterwards.
            unsafe { place.get().write_volatile(collection) };
        }
        // Release: a reader of the number sees the collection.
        self.written.store(written + 1, Ordering::Release);
        written + 1
    }

    /// Passes those after the first `read` to `f`. Returns their number in all, and the number of
    /// lost ones.
    pub fn each_since(&self, read: u64, mut f: impl FnMut(Collection)) -> (u64, u64) {
        let written = self.written.load(Ordering::Acquire);
        let first = read.max(written.saturating_sub(KEPT as u64));
        let mut lost = first - read;
        for number in first..written {
            let Some(place) = self.kept.get(number as usize % KEPT) else {
                continue;
            };
            // SAFETY: numbers in memory of ours; whether they are whole is seen below.
            let found = unsafe { place.get().read_volatile() };
            let now = self.written.load(Ordering::Acquire);
            // The one being written may be this one already.
            if now >= number + KEPT as u64 {
                lost += 1;
            } else {
                f(found);
            }
        }
        (written, lost)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::boxed::Box;
    use std::vec::Vec;

    #[test]
    fn the_last_ones_are_there_and_the_others_counted() {
        // SAFETY: all zero is a valid one.
        let all = Box::new(unsafe { core::mem::zeroed::<Collections>() });
        let add = |pause| {
            all.add(Collection {
                pause,
                ..Collection::default()
            })
        };
        let since = |read| {
            let mut found = Vec::new();
            let counts = all.each_since(read, |collection| found.push(collection.pause));
            (counts, found)
        };
        assert_eq!(since(0), ((0, 0), Vec::new()));
        add(7);
        assert_eq!(add(8), 2);
        assert_eq!(since(0), ((2, 0), [7, 8].into()));
        assert_eq!(since(1).1, [8]);
        for pause in 0..KEPT as u64 + 3 {
            add(pause);
        }
        let ((written, lost), found) = since(2);
        assert_eq!(written, 2 + KEPT as u64 + 3);
        // One more than those overwritten might be in the middle of it.
        assert_eq!(lost, 4);
        assert_eq!(found.first(), Some(&4));
        assert_eq!(found.last(), Some(&(KEPT as u64 + 2)));
    }
}
