//! What a walk has read.
//!
//! A walk is a function of the registers that it begins with and of the words that it reads. So if these are
//! what they were at another time, so is the stack, and nothing has to be walked: that takes a nanosecond or
//! less for each word, where a frame takes twenty.

use core::cell::{Cell, UnsafeCell};

use super::codes::RecentCodes;
use super::texts::{BELIEVED, RecentTexts};
use crate::python::Page;

/// How many pages are kept: a power of two.
const PAGES: usize = 2048;

/// How many reads are noted at most.
pub const MOST: usize = 4096;

/// A word, and where it was read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Read {
    /// Where.
    pub address: u64,
    /// What was there.
    pub word: u64,
}

/// The reads of one walk. All zero is an empty one.
#[derive(Debug)]
#[repr(C)]
pub struct ReadLog {
    reads: [Cell<Read>; MOST],
    count: Cell<usize>,
    /// Whether something was read that cannot be read again just like that, or too much was.
    is_lost: Cell<bool>,
    /// Whether reads follow from those before.
    is_implied: Cell<bool>,
    /// Where the frame pointer was read that the walk would use now; at address 0 none was.
    frame_pointer: Cell<Read>,
    /// Whether that was noted already.
    is_noted: Cell<bool>,
    uses: Cell<Uses>,
    /// Whether the walk came upon code in no listed module.
    is_unlisted: Cell<bool>,
    /// When the walk began, by the cycle counter, and whether it has read code.
    began: Cell<u64>,
    has_read_code: Cell<bool>,
    /// The code objects of the walks so far.
    codes: RecentCodes,
    /// The code without rows that this one has read.
    texts: RecentTexts,
    /// The pages of the interpreter's that they have found mapped.
    pages: UnsafeCell<[Page; PAGES]>,
}

/// Which registers of the first frame a walk depends on, besides the instruction and the stack pointer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Uses {
    /// The frame pointer.
    pub frame_pointer: bool,
    /// Another one.
    pub general: bool,
}

impl ReadLog {
    /// Begins anew, at this time by the cycle counter.
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

    /// Notes that the walk came upon code in no listed module: with the module, it may be another one.
    pub(crate) fn meet_unlisted(&self) {
        self.is_unlisted.set(true);
        self.lose();
    }

    /// Whether it did.
    pub(crate) fn met_unlisted(&self) -> bool {
        self.is_unlisted.get()
    }

    /// The code objects that the thread's walks have met lately. They stay when the log begins anew.
    pub(crate) fn codes(&self) -> &RecentCodes {
        &self.codes
    }

    /// Reads code, whose words are not noted: the stack is known again for a while only. `None`: it cannot be read like
    /// that.
    pub(crate) fn read_code(&self, address: u64) -> Option<u64> {
        self.has_read_code.set(true);
        self.texts.read(address, self.began.get())
    }

    /// Until when the same reads are sure to be the same stack, by the cycle counter: without code among them for ever.
    pub(crate) fn good_until(&self) -> u64 {
        match self.has_read_code.get() {
            true => self.began.get().saturating_add(BELIEVED),
            false => u64::MAX,
        }
    }

    /// The pages that the thread's walks have found mapped lately. They stay when the log begins anew.
    pub(crate) fn pages(&self) -> *mut [Page] {
        self.pages.get()
    }

    /// Keeps in mind where the frame pointer was read.
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

    /// Which registers are used.
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

    /// How many words were noted.
    #[inline]
    pub(super) fn count(&self) -> usize {
        self.count.get()
    }

    /// Some of them.
    pub(super) fn some(&self, from: usize, to: usize) -> impl Iterator<Item = Read> {
        let reads = self.reads.get(from..to).unwrap_or_default();
        reads.iter().map(Cell::get)
    }

    /// Where the frame pointer was read that the walk would use now; at address 0 none was.
    #[inline]
    pub(super) fn frame_pointer(&self) -> Read {
        self.frame_pointer.get()
    }

    /// Whether there was more to note than there is room.
    pub(crate) fn is_too_long(&self) -> bool {
        self.is_lost.get() && self.count.get() == MOST
    }

    /// Notes that the walk depends on something else.
    pub(crate) fn lose(&self) {
        self.is_lost.set(true);
    }

    /// Says whether what is read from now on follows from what was read before.
    pub(crate) fn set_implied(&self, implied: bool) {
        self.is_implied.set(implied);
    }

    /// Whether what is read now follows from what was read before.
    #[inline]
    pub(super) fn is_implied(&self) -> bool {
        self.is_implied.get()
    }

    /// Whether the walk depends on nothing else than what was noted.
    pub(crate) fn is_whole(&self) -> bool {
        !self.is_lost.get()
    }

    /// The reads, if they are all that the walk depends on.
    pub(crate) fn reads(&self) -> Option<impl ExactSizeIterator<Item = Read>> {
        let reads = self.reads.get(..self.count.get())?;
        (!self.is_lost.get()).then(|| reads.iter().map(Cell::get))
    }
}
