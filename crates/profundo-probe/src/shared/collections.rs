//! What is told of an interpreter's collections of garbage: a circle of the last ones.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU64, Ordering};

use profundo_wire::recording::Collection;

/// How many are kept until they are read.
pub const KEPT: usize = 512;

/// Written by whoever holds the interpreter's lock, read by the command.
#[derive(Debug)]
#[repr(C)]
pub struct Collections {
    /// How many there were.
    pub written: AtomicU64,
    /// In a ring: when the interpreter was entered, so that they are told of from then on. Elsewhere: when the command last looked. On
    /// the monotonic clock.
    pub looked: AtomicU64,
    kept: [UnsafeCell<Collection>; KEPT],
}

// SAFETY: there is one writer at a time, and a reader sees by `written` which ones may have changed meanwhile.
unsafe impl Sync for Collections {}

impl Collections {
    /// Adds one. Returns how many there are now.
    pub fn add(&self, collection: Collection) -> u64 {
        let written = self.written.load(Ordering::Relaxed);
        if let Some(place) = self.kept.get(written as usize % KEPT) {
            // SAFETY: nobody else writes, and who reads it meanwhile finds out afterwards.
            unsafe { place.get().write_volatile(collection) };
        }
        // Release: who sees the number sees it.
        self.written.store(written + 1, Ordering::Release);
        written + 1
    }

    /// Hands those to `f` that came after the first `read`. Returns how many there are, and how many of them were lost.
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
            // The one that is being written may be this one already.
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
            let counts = all.each_since(read, |it| found.push(it.pause));
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
        // One more than have been written over might be being written over.
        assert_eq!(lost, 4);
        assert_eq!(found.first(), Some(&4));
        assert_eq!(found.last(), Some(&(KEPT as u64 + 2)));
    }
}
