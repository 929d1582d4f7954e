//! The contents of code objects of the interpreter's frames.
//!
//! A stack has the same functions again and again, so the words that distinguish a code object from
//! others at its address are checked once for all frames of a stack, and kept once for all stacks.

use core::cell::Cell;

use super::super::log::Read;

/// The number of code objects kept.
const CODES: usize = 1 << 13;
/// The number of words of each.
const WORDS: usize = 8;
/// The number of code objects found by address: the latest ones. A power of two.
const PLACES: usize = 1 << 10;

/// The code objects. All zero is none.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Checks {
    codes: [Cell<Code>; CODES],
    /// The lookup in which each was last found unchanged, counted from 1.
    seen: [Cell<u64>; CODES],
    lookup: Cell<u64>,
    used: Cell<usize>,
    places: [Cell<u32>; PLACES],
    /// The walk's reads of the present code object.
    new: [Cell<Read>; WORDS],
    count: Cell<usize>,
}

#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Code {
    reads: [Read; WORDS],
    count: usize,
}

impl Checks {
    /// Starts a walk.
    pub(super) fn begin(&self) {
        self.count.set(0);
    }

    /// Starts a lookup: everything may have changed.
    #[inline]
    pub(super) fn begin_lookup(&self) {
        self.lookup.set(self.lookup.get() + 1);
    }

    pub(super) fn forget(&self) {
        self.used.set(0);
        self.count.set(0);
        for place in &self.places {
            place.set(0);
        }
        for seen in &self.seen {
            seen.set(0);
        }
    }

    pub(super) fn has_room(&self) -> bool {
        self.used.get() < CODES
    }

    /// Notes a word of a code object. False: there are too many.
    #[inline]
    pub(super) fn note(&self, read: Read) -> bool {
        let count = self.count.get();
        let Some(place) = self.new.get(count) else {
            return false;
        };
        place.set(read);
        self.count.set(count + 1);
        true
    }

    /// The number of the code object whose words were noted; 0 if there were none. `None`: there is
    /// no room.
    pub(super) fn number(&self) -> Option<u32> {
        let count = self.count.replace(0);
        let new = self.new.get(..count)?;
        let Some(first) = new.first() else {
            return Some(0);
        };
        let address = first.get().address >> 4;
        let place = self
            .places
            .get((address ^ address >> 10) as usize % PLACES)?;
        let is_same = |code: &Code| {
            let reads = code.reads.get(..code.count).unwrap_or_default();
            reads.iter().copied().eq(new.iter().map(Cell::get))
        };
        let known = place.get();
        if self.get(known).is_some_and(|code| is_same(&code)) {
            return Some(known);
        }
        let used = self.used.get();
        let mut reads = [Read::default(); WORDS];
        for (read, new) in reads.iter_mut().zip(new) {
            *read = new.get();
        }
        self.codes.get(used)?.set(Code { reads, count });
        self.used.set(used + 1);
        place.set(used as u32 + 1);
        Some(used as u32 + 1)
    }

    fn get(&self, number: u32) -> Option<Code> {
        let code = self.codes.get((number as usize).checked_sub(1)?)?;
        Some(code.get())
    }

    /// The words of a code object.
    pub(super) fn reads(&self, number: u32) -> impl Iterator<Item = Read> {
        let code = self.get(number);
        let count = code.map_or(0, |code| code.count);
        code.into_iter().flat_map(|code| code.reads).take(count)
    }

    /// Notes that a code object was checked in this lookup. Returns whether it was so before.
    pub(super) fn see(&self, number: u32) -> bool {
        let seen = self.seen.get((number as usize).wrapping_sub(1));
        seen.is_some_and(|seen| seen.replace(self.lookup.get()) == self.lookup.get())
    }

    /// Whether a code object is unchanged.
    ///
    /// # Safety
    /// A living frame refers to it, if it is there at all.
    #[inline]
    pub(super) unsafe fn holds(&self, number: u32) -> bool {
        let index = (number as usize).wrapping_sub(1);
        let (Some(code), Some(seen)) = (self.codes.get(index), self.seen.get(index)) else {
            return number == 0;
        };
        if seen.get() == self.lookup.get() {
            return true;
        }
        // SAFETY: the cell has no other user, and it is not written to here.
        let code = unsafe { &*code.as_ptr() };
        let reads = code.reads.get(..code.count).unwrap_or_default();
        // In the order of the walk, so each can be read if those before it are unchanged. SAFETY:
        // the caller vouches.
        let holds = reads
            .iter()
            .all(|read| unsafe { (read.address as *const u64).read_unaligned() == read.word });
        if holds {
            seen.set(self.lookup.get());
        }
        holds
    }
}
