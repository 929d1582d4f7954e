//! The known code objects, by a hash of their identity, with the numbers that they were recorded
//! under.
//!
//! The table is bounded: where it is full, an old entry makes room, and if its code object comes
//! again, it is recorded again under a new number. In the child of a fork everything is forgotten
//! by incrementing the epoch, and not a word of the table is touched.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// A code object's number with the epoch it holds in, and its hash. Zeroed memory is an unused
/// entry.
#[derive(Debug, Default)]
#[repr(C)]
pub struct CodeEntry {
    /// The epoch in the upper half, the number in the lower; 0 while the entry changes.
    number: AtomicU64,
    hash: AtomicU64,
}

/// The number of neighbouring entries for a code object: two cache lines.
const WAYS: usize = 8;
/// Numbers have 30 bits.
const MOST: u32 = (1 << 30) - 1;

/// The table.
#[derive(Debug)]
pub struct CodeTable {
    entries: &'static [CodeEntry],
    /// Counts from 0, but an entry's from 1.
    epoch: AtomicU32,
    /// The number of numbers given out.
    given: AtomicU32,
    /// The neighbour that is replaced next.
    turn: AtomicU32,
}

impl CodeTable {
    /// A table over zeroed memory that no other process shares. The number of entries is a power of
    /// two.
    pub const fn new(entries: &'static [CodeEntry]) -> Self {
        Self {
            entries,
            epoch: AtomicU32::new(0),
            given: AtomicU32::new(0),
            turn: AtomicU32::new(0),
        }
    }

    /// The number of numbers given out.
    pub fn given(&self) -> u32 {
        self.given.load(Ordering::Relaxed)
    }

    /// The epoch of numbers that are given now. It is never 0.
    pub(super) fn epoch(&self) -> u64 {
        u64::from(self.epoch.load(Ordering::Relaxed)) + 1
    }

    fn places(&self, hash: u64) -> &'static [CodeEntry] {
        let groups = (self.entries.len() / WAYS).max(1);
        let first = (hash >> 32) as usize & (groups - 1);
        let entries = self.entries;
        entries
            .get(first * WAYS..(first + 1) * WAYS)
            .unwrap_or(entries)
    }

    /// The number of the code object with this hash.
    #[inline]
    pub(super) fn find(&self, hash: u64) -> Option<u32> {
        let epoch = self.epoch();
        self.places(hash).iter().find_map(|entry| {
            // Acquire pairs with the release in `keep`: the hash is there.
            let number = entry.number.load(Ordering::Acquire);
            if number >> 32 != epoch || entry.hash.load(Ordering::Relaxed) != hash {
                return None;
            }
            // Numbers are not given out twice: if it is still the same, the hash was its own.
            fence(Ordering::Acquire);
            let again = entry.number.load(Ordering::Relaxed);
            (again == number).then_some(number as u32)
        })
    }

    /// A number for a code object that is not in the table; `None` when there are none left.
    pub(super) fn give(&self) -> Option<u32> {
        self.given
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |given| {
                (given < MOST).then(|| given + 1)
            })
            .ok()
            .map(|given| given + 1)
    }

    /// Remembers a recorded code object. Two threads may remember one twice.
    pub(super) fn keep(&self, hash: u64, number: u32) {
        let epoch = self.epoch();
        let places = self.places(hash);
        let is_free = |entry: &&CodeEntry| entry.number.load(Ordering::Relaxed) >> 32 < epoch;
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) as usize;
        let chosen = places
            .iter()
            .find(is_free)
            .or_else(|| places.get(turn % places.len().max(1)));
        let Some(entry) = chosen else { return };
        let old = entry.number.load(Ordering::Relaxed);
        // A thread that loses, or finds a changing entry, gives up: the object is recorded again.
        if old == u64::MAX
            || entry
                .number
                .compare_exchange(old, u64::MAX, Ordering::Acquire, Ordering::Relaxed)
                .is_err()
        {
            return;
        }
        entry.hash.store(hash, Ordering::Relaxed);
        // Release pairs with the acquire in `find`.
        entry
            .number
            .store(epoch << 32 | u64::from(number), Ordering::Release);
    }

    /// Forgets everything, and restarts the numbers at 1. For the child of a fork.
    pub(super) fn forget(&self) {
        self.epoch.fetch_add(1, Ordering::Relaxed);
        self.given.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::boxed::Box;
    use std::vec::Vec;

    fn table(entries: usize) -> CodeTable {
        let entries: Vec<CodeEntry> = (0..entries).map(|_| CodeEntry::default()).collect();
        CodeTable::new(Box::leak(entries.into_boxed_slice()))
    }

    /// A number spread like a hash.
    fn hash(of: u64) -> u64 {
        of.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1
    }

    #[test]
    fn what_is_kept_is_found() {
        let table = table(1024);
        for of in 0..400 {
            assert_eq!(table.find(hash(of)), None);
            let number = table.give().unwrap();
            table.keep(hash(of), number);
        }
        let found = (0..400).filter_map(|of| table.find(hash(of)));
        assert!(found.eq(1..=400));
    }

    #[test]
    fn a_full_table_forgets_the_oldest_and_never_lies() {
        let table = table(64);
        for of in 0..10_000 {
            let number = table.give().unwrap();
            table.keep(hash(of), number);
            assert_eq!(table.find(hash(of)), Some(number));
        }
        for of in 0..10_000 {
            let found = table.find(hash(of));
            assert!(found.is_none_or(|number| u64::from(number) == of + 1));
        }
    }

    #[test]
    fn a_child_begins_anew() {
        let table = table(64);
        table.keep(hash(1), table.give().unwrap());
        table.forget();
        assert_eq!(table.find(hash(1)), None);
        assert_eq!(table.give(), Some(1));
        table.keep(hash(1), 1);
        assert_eq!(table.find(hash(1)), Some(1));
    }

    #[test]
    fn an_empty_table_is_no_table() {
        let table = CodeTable::new(&[]);
        table.keep(1, 1);
        assert_eq!(table.find(1), None);
    }
}
