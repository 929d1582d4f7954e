//! Walks with known frames give the same as walks without.

use std::boxed::Box;
use std::collections::HashMap;
use std::vec::Vec;

use crate::heap::known::{Beginning, Besides, Known, KnownRoom};

#[cfg(target_arch = "x86_64")]
mod native;
mod python;

/// Numbers without a pattern.
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % most
    }
}

/// A thread whose stacks are counted.
struct Thread {
    known: Box<Known>,
    room: KnownRoom,
    /// The numbers of stacks, by their contents.
    sites: HashMap<Vec<u64>, u32>,
    /// The number of lookups with a known stack, and the number of walks.
    met: usize,
    walked: usize,
}

impl Thread {
    fn new() -> Self {
        Self {
            // SAFETY: all zero is a valid one.
            known: unsafe { Box::new_zeroed().assume_init() },
            room: KnownRoom::default(),
            sites: HashMap::new(),
            met: 0,
            walked: 0,
        }
    }

    /// Counts one more block: `whole` is its stack, and `walk` walks it with the thread's
    /// knowledge.
    ///
    /// # Safety
    /// All reads of the walk are valid.
    unsafe fn count(
        &mut self,
        (beginning, besides): (Beginning, Besides),
        whole: Vec<u64>,
        walk: impl FnOnce(&Known) -> Vec<u64>,
    ) {
        let next = self.sites.len() as u32 + 1;
        // SAFETY: the caller vouches.
        let found = unsafe { self.known.find(&beginning, &besides, 0, || 0) };
        match found {
            Some(site) => {
                self.met += 1;
                assert_eq!(self.sites.get(&whole), Some(&site), "it is another stack");
            }
            None => {
                self.walked += 1;
                self.known.begin_walk(0);
                assert_eq!(walk(&self.known), whole);
                let site = *self.sites.entry(whole).or_insert(next);
                self.known.remember(beginning, besides, site, &self.room);
                // SAFETY: as above.
                let again = unsafe { self.known.find(&beginning, &besides, 0, || 0) };
                assert_eq!(again, Some(site));
            }
        }
    }
}
