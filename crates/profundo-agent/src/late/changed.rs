//! The words that were changed, with what was in them before: a table by their addresses.
//!
//! A program may load and unload a file again and again. The words of a file that is loaded where
//! it was before have the same places in the table, and those of files that are gone are dropped
//! when room is needed.

use core::ptr::NonNull;

use crate::files;

/// A changed word. The address 0: none.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Changed {
    address: usize,
    before: usize,
}

/// The table. Its memory grows with it.
#[derive(Debug)]
pub struct Table {
    /// All of them, in memory of ours.
    places: Option<NonNull<Changed>>,
    /// The number of places: a power of two, or 0.
    size: usize,
    /// The number of used ones: half of them at most.
    count: usize,
}

// SAFETY: the memory belongs to the table alone.
unsafe impl Send for Table {}

/// The number of places at first, and at last.
const FIRST: usize = 1 << 10;
const LAST: usize = 1 << 18;

impl Table {
    /// An empty table without memory.
    pub const fn new() -> Self {
        Self {
            places: None,
            size: 0,
            count: 0,
        }
    }

    /// True if there are no words.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// True if there is no room for another word.
    fn is_full(&self) -> bool {
        self.count >= self.size / 2
    }

    /// True if it is time to drop words that are gone, with [`Table::keep`].
    pub fn is_nearly_full(&self) -> bool {
        self.count * 8 >= self.size * 3
    }

    /// Notes a word and what was in it. `false`: there is no room.
    pub fn note(&mut self, address: usize, before: usize) -> bool {
        if self.is_full() && !self.rebuild((self.size * 2).max(FIRST), |_| true) {
            return false;
        }
        self.put(Changed { address, before });
        true
    }

    /// What was in a word.
    pub fn before(&self, address: usize) -> Option<usize> {
        let places = self.places();
        let found = self.way(address).find_map(|at| {
            let place = places.get(at)?;
            [0, address].contains(&place.address).then_some(*place)
        })?;
        (found.address == address).then_some(found.before)
    }

    /// Drops the words whose addresses are not to be kept.
    pub fn keep(&mut self, is_kept: impl FnMut(usize) -> bool) {
        if self.size > 0 {
            self.rebuild(self.size, is_kept);
        }
    }

    /// Drops all words, and gives the memory back.
    pub fn clear(&mut self) {
        if let Some(places) = self.places.take() {
            // SAFETY: the memory came from `map_zeroed`, and nothing refers to it any more.
            unsafe { files::unmap(places.cast(), self.size * size_of::<Changed>()) };
        }
        *self = Self::new();
    }

    fn rebuild(&mut self, size: usize, mut is_kept: impl FnMut(usize) -> bool) -> bool {
        if size > LAST {
            return false;
        }
        let Some(memory) = files::map_zeroed(size * size_of::<Changed>()) else {
            return false;
        };
        let mut new = Self {
            places: Some(memory.cast()),
            size,
            count: 0,
        };
        for &word in self.places() {
            if word.address != 0 && is_kept(word.address) {
                new.put(word);
            }
        }
        self.clear();
        *self = new;
        true
    }

    /// Puts a word into the first free place of its way, or into the one that it has. There is one.
    fn put(&mut self, word: Changed) {
        let mut way = self.way(word.address);
        let is_new = {
            let places = self.places_mut();
            way.find_map(|at| {
                let place = places.get_mut(at)?;
                let is_new = place.address == 0;
                (is_new || place.address == word.address).then(|| {
                    *place = word;
                    is_new
                })
            })
        };
        self.count += usize::from(is_new == Some(true));
    }

    /// The places where a word may be, the first one first.
    fn way(&self, address: usize) -> impl Iterator<Item = usize> + use<> {
        const HASH: usize = 0x9E37_79B9_7F4A_7C15;
        let size = self.size.max(1);
        let first = (address >> 3).wrapping_mul(HASH) >> 32;
        (0..self.size).map(move |step| first.wrapping_add(step) % size)
    }

    fn places(&self) -> &[Changed] {
        self.places.map_or(&[], |places| {
            // SAFETY: the memory is ours and so long, and zeros are free places.
            unsafe { core::slice::from_raw_parts(places.as_ptr(), self.size) }
        })
    }

    fn places_mut(&mut self) -> &mut [Changed] {
        match self.places {
            None => &mut [],
            // SAFETY: as above, and the table is borrowed for writing.
            Some(places) => unsafe { core::slice::from_raw_parts_mut(places.as_ptr(), self.size) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_in_a_word_is_found() {
        let mut table = Table::new();
        assert_eq!(table.before(8), None);
        for number in 1..5000 {
            assert!(table.note(number * 8, number));
        }
        // A word that is changed anew has no second place.
        for number in 1..5000 {
            assert!(table.note(number * 8, number + 1));
        }
        assert_eq!(table.count, 4999);
        for number in 1..5000 {
            assert_eq!(table.before(number * 8), Some(number + 1));
        }
        assert_eq!(table.before(5000 * 8), None);
        table.clear();
        assert!(table.is_empty() && table.before(8).is_none());
    }

    #[test]
    fn words_that_are_gone_make_room() {
        let mut table = Table::new();
        let mut most = 0;
        for round in 0..2000 {
            if table.is_nearly_full() {
                table.keep(|address| address / 4096 == round);
            }
            for number in 1..100 {
                assert!(table.note(round * 4096 + number * 8, number));
            }
            most = most.max(table.size);
        }
        assert_eq!(most, FIRST);
        assert_eq!(table.before(1999 * 4096 + 8), Some(1));
        assert_eq!(table.before(4096 + 8), None);
    }

    #[test]
    fn there_is_an_end() {
        let mut table = Table::new();
        let taken = (1..2 * LAST).take_while(|&number| table.note(number * 8, 1));
        assert_eq!(taken.count(), LAST / 2);
        table.clear();
    }
}
