//! The reads of a walk.
//!
//! A walk is a function of its initial registers and of the words that it reads. So if these are
//! unchanged, so is the stack, and no walk is needed: comparing takes a nanosecond or less for each
//! word, where a frame takes twenty.

use core::cell::{Cell, UnsafeCell};

use super::codes::RecentCodes;
use super::texts::{BELIEVED, RecentTexts};
use crate::python::Page;

/// The number of pages: a power of two.
const PAGES: usize = 2048;

/// The number of reads noted at most.
pub const MOST: usize = 4096;

/// A word and its address.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Read {
    /// Its address.
    pub address: u64,
    /// Its value.
    pub word: u64,
}

/// The reads of one walk. All zero is an empty one.
#[derive(Debug)]
#[repr(C)]
pub struct ReadLog {
    reads: [Cell<Read>; MOST],
    count: Cell<usize>,
    /// Whether a read cannot be repeated with plain loads, or there were too many.
    is_lost: Cell<bool>,
    /// Whether the present reads follow from earlier ones.
    is_implied: Cell<bool>,
    /// The read of the frame pointer that the walk would use now; at address 0 for none.
    frame_pointer: Cell<Read>,
    /// True if the read of the frame pointer was noted already.
    is_noted: Cell<bool>,
    uses: Cell<Uses>,
    /// Whether the walk reached code in no listed module.
    is_unlisted: Cell<bool>,
    /// When the walk began, by the cycle counter, and whether it has read code.
    began: Cell<u64>,
    has_read_code: Cell<bool>,
    /// The code objects of the walks so far.
    codes: RecentCodes,
    /// The code without rows that this walk has read.
    texts: RecentTexts,
    /// The interpreter's pages that they have found mapped.
    pages: UnsafeCell<[Page; PAGES]>,
}

/// The registers of the first frame that a walk depends on, besides the instruction and the stack
/// pointer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Uses {
    /// The frame pointer.
    pub frame_pointer: bool,
    /// Another general register.
    pub general: bool,
}

impl ReadLog {
    /// Starts a new walk, at this time by the cycle counter.
    pub fn clear(&self, began: u64) {
        self.began.set(began);
        self.has_read_code.set(false);
        self.count.set(0);
        self.is_lost.set(false);
        self.is_implied.set(false);
        self.frame_pointer.set(Read::default());
        self.is_noted.set(false);
        self.uses.set(Uses::default());
        self.is_unlisted.set(false);
    }

    /// Notes code in no listed module: with the module, the walk may give another stack.
    pub(crate) fn meet_unlisted(&self) {
        self.is_unlisted.set(true);
        self.lose();
    }

    /// True if the walk reached code in no listed module.
    pub(crate) fn met_unlisted(&self) -> bool {
        self.is_unlisted.get()
    }

    /// The code objects of the thread's latest walks. They stay when a new walk starts.
    pub(crate) fn codes(&self) -> &RecentCodes {
        &self.codes
    }

    /// Reads code. Its words are not noted: the stack stays known for a while only. `None`: it
    /// cannot be read like that.
    pub(crate) fn read_code(&self, address: u64) -> Option<u64> {
        self.has_read_code.set(true);
        self.texts.read(address, self.began.get())
    }

    /// The time until which the same reads surely are the same stack, by the cycle counter: without
    /// code among them, for ever.
    pub(crate) fn good_until(&self) -> u64 {
        match self.has_read_code.get() {
            true => self.began.get().saturating_add(BELIEVED),
            false => u64::MAX,
        }
    }

    /// The pages that the thread's walks have found mapped lately. They stay when a new walk
    /// starts.
    pub(crate) fn pages(&self) -> *mut [Page] {
        self.pages.get()
    }

    /// Remembers the read of the frame pointer.
    pub(crate) fn set_frame_pointer(&self, address: u64, word: u64) {
        self.frame_pointer.set(Read { address, word });
        self.is_noted.set(false);
    }

    /// Notes that the frame pointer is used.
    pub(crate) fn uses_frame_pointer(&self) {
        let Read { address, word } = self.frame_pointer.get();
        if address == 0 {
            let frame_pointer = true;
            self.uses.set(Uses {
                frame_pointer,
                ..self.uses.get()
            });
        } else if !self.is_noted.replace(true) {
            self.note(address, word);
        }
    }

    /// Notes that another register is used.
    pub(crate) fn uses_general(&self) {
        let general = true;
        self.uses.set(Uses {
            general,
            ..self.uses.get()
        });
    }

    /// The registers in use.
    pub(crate) fn uses(&self) -> Uses {
        self.uses.get()
    }

    /// Notes a word.
    #[inline]
    pub(crate) fn note(&self, address: u64, word: u64) {
        if self.is_implied.get() {
            return;
        }
        let count = self.count.get();
        match self.reads.get(count) {
            Some(place) => {
                place.set(Read { address, word });
                self.count.set(count + 1);
            }
            None => self.is_lost.set(true),
        }
    }

    /// The number of words noted.
    #[inline]
    pub(super) fn count(&self) -> usize {
        self.count.get()
    }

    /// A range of the words.
    pub(super) fn some(&self, from: usize, to: usize) -> impl Iterator<Item = Read> {
        let reads = self.reads.get(from..to).unwrap_or_default();
        reads.iter().map(Cell::get)
    }

    /// The read of the frame pointer that the walk would use now; at address 0 for none.
    #[inline]
    pub(super) fn frame_pointer(&self) -> Read {
        self.frame_pointer.get()
    }

    /// Whether the words exceed the room.
    pub(crate) fn is_too_long(&self) -> bool {
        self.is_lost.get() && self.count.get() == MOST
    }

    /// Notes that the walk depends on more than its reads.
    pub(crate) fn lose(&self) {
        self.is_lost.set(true);
    }

    /// Sets whether reads from now on follow from earlier ones.
    pub(crate) fn set_implied(&self, implied: bool) {
        self.is_implied.set(implied);
    }

    /// Whether reads now follow from earlier ones.
    #[inline]
    pub(super) fn is_implied(&self) -> bool {
        self.is_implied.get()
    }

    /// Whether the walk depends on nothing but the noted words.
    pub(crate) fn is_whole(&self) -> bool {
        !self.is_lost.get()
    }

    /// The reads, if the walk depends on nothing else.
    pub(crate) fn reads(&self) -> Option<impl ExactSizeIterator<Item = Read>> {
        let reads = self.reads.get(..self.count.get())?;
        (!self.is_lost.get()).then(|| reads.iter().map(Cell::get))
    }
}
