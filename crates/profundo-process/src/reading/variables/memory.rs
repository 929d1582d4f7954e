//! The memory of a process that goes on meanwhile.

use profundo_cpython::Memory;
use profundo_linux::sys;

use crate::reading::PageMemory;

/// The size of a word.
const WORD: usize = 8;

/// Memory that may change while it is read.
pub trait Live: Memory {
    /// Whether all of these words are there now, and not only when their pages were fetched.
    fn has_still(&mut self, words: &[(u64, u64)]) -> bool;

    /// Forgets all pages.
    fn forget(&mut self);

    /// Forgets pages if there is little room left.
    fn make_room(&mut self);
}

impl Live for PageMemory {
    fn has_still(&mut self, words: &[(u64, u64)]) -> bool {
        /// The largest number of words that the kernel copies at once.
        const MOST: usize = 1024;
        words.chunks(MOST).all(|words| {
            let places: Vec<u64> = words.iter().map(|&(place, _)| place).collect();
            let mut bytes = vec![0; places.len() * WORD];
            let read = sys::read_pages(self.pid(), &places, WORD, &mut bytes);
            let now = bytes.as_chunks().0.iter().copied().map(u64::from_le_bytes);
            read == bytes.len() && now.eq(words.iter().map(|&(_, word)| word))
        })
    }

    fn forget(&mut self) {
        self.begin_anew(self.pid());
    }

    fn make_room(&mut self) {
        if self.is_nearly_full() {
            self.forget();
        }
    }
}
