//! Frequent stacks: all words that their walks read, one behind another.
//!
//! Words in a row are compared faster than those of nodes that lead to each other, but each stack
//! has its own.

use core::cell::Cell;

use super::super::log::Read;
use super::{Kept, Trails};

/// The number of words of all frequent stacks of a thread. When they are used up, all are
/// forgotten.
const WORDS: usize = 1 << 16;

#[derive(Debug)]
#[repr(C)]
pub(super) struct Flats {
    reads: [Cell<Read>; WORDS],
    used: Cell<usize>,
    /// The number of times they were forgotten.
    turn: Cell<u32>,
}

/// The words of one stack. All zero is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in super::super) struct Flat {
    first: u32,
    count: u32,
    turn: u32,
}

impl Flats {
    pub(super) fn forget(&self) {
        self.used.set(0);
        self.turn.set(self.turn.get().wrapping_add(1));
    }

    fn push(&self, at: &mut usize, read: Read) -> Option<()> {
        self.reads.get(*at)?.set(read);
        *at += 1;
        Some(())
    }
}

impl Trails {
    /// Whether these words are still those of its stack.
    #[inline]
    pub(in super::super) fn is_flat(&self, flat: Flat) -> bool {
        flat.count != 0 && flat.turn == self.flats.turn.get()
    }

    /// Whether the words of a stack are unchanged, if they are kept.
    ///
    /// # Safety
    /// As for [`Trails::are_same`].
    #[inline]
    pub(in super::super) unsafe fn flat_holds(&self, flat: Flat) -> bool {
        let first = flat.first as usize;
        let Some(reads) = self.flats.reads.get(first..first + flat.count as usize) else {
            return false;
        };
        reads.iter().all(|read| {
            // SAFETY: the cell is the calling thread's alone; the caller vouches for the word.
            unsafe {
                let Read { address, word } = &*read.as_ptr();
                (*address as *const u64).read_unaligned() == *word
            }
        })
    }

    /// Keeps the words of an unchanged stack in a row, in the order of comparison: where those
    /// before are unchanged, each can be read.
    #[cold]
    #[inline(never)]
    pub(in super::super) fn flatten(&self, kept: Kept) -> Flat {
        if let Some(flat) = self.try_to_flatten(kept) {
            return flat;
        }
        // There is no room: start anew, which makes the present ones invalid.
        self.flats.forget();
        self.try_to_flatten(kept).unwrap_or_default()
    }

    fn try_to_flatten(&self, kept: Kept) -> Option<Flat> {
        let first = self.flats.used.get();
        let mut at = first;
        let reads = self.reads(kept.first, kept.count)?;
        let python = self.python_words(kept.python);
        let all = (reads.iter().map(Cell::get)).chain(python);
        for read in all.chain(self.native_words(kept.native)) {
            self.flats.push(&mut at, read)?;
        }
        self.flats.used.set(at);
        Some(Flat {
            first: first as u32,
            count: (at - first) as u32,
            turn: self.flats.turn.get(),
        })
    }
}
