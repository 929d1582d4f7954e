//! The data to walk a stack again, where more is known than the handler knew.
//!
//! ```text
//!          63      56 55      48 47              32 31                                     0
//!         ┌──────────┬──────────┬──────────────────┬───────────────────────────────────────┐
//! word 0  │ kind = 5 │  flags   │ places (count)   │ words of the whole record             │
//!         ├──────────┴──────────┴──────────────────┴───────────────────────────────────────┤
//! word 1  │ the instruction that was interrupted                                           │
//! word 2  │ the stack pointer                                                              │
//! word 3  │ the frame pointer                                                              │
//! word 4  │ the link register, where there is one                                          │
//! word 5… │ sixteen general registers by their DWARF numbers                               │
//!       … │ for each entry among the interpreter's words, its place on the stack           │
//!       … │ the stack from the stack pointer upwards, as far as it was copied              │
//!         └────────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! It follows the sample that it belongs to. A reader without a use for it skips it: the sample is
//! as good as the handler could make it.

use crate::python::PythonEnd;

/// Words before the places.
pub const REWALK_HEAD_WORDS: usize = 5 + GENERAL;

/// General registers that are kept.
const GENERAL: usize = 16;

/// The record kind in the top byte of word 0.
pub(crate) const KIND_REWALK: u64 = 5;

const BY_ORDER: u64 = 1;
const PARTIAL: u64 = 2;

/// The numbers of an [`Rewalk`] record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RewalkHead {
    /// Whether entries have no places and pair with the native frames of the loop in order.
    pub is_by_order: bool,
    /// Whether frames of the interpreter are missing although its walk came to an end.
    pub is_partial: bool,
    /// Number of places.
    pub places: u16,
    /// Words of the copied stack.
    pub stack: u32,
    /// Instruction, stack pointer, frame pointer, link register.
    pub registers: [u64; 4],
    /// The general registers.
    pub general: [u64; GENERAL],
}

impl RewalkHead {
    /// Length of the record in words.
    pub fn words(&self) -> usize {
        REWALK_HEAD_WORDS + usize::from(self.places) + self.stack as usize
    }

    /// The words that stand before the places.
    pub fn to_words(&self) -> [u64; REWALK_HEAD_WORDS] {
        let flag = |is_set, flag| if is_set { flag } else { 0 };
        let flags = flag(self.is_by_order, BY_ORDER) | flag(self.is_partial, PARTIAL);
        let mut words = [0; REWALK_HEAD_WORDS];
        let first =
            KIND_REWALK << 56 | flags << 48 | u64::from(self.places) << 32 | self.words() as u64;
        let rest = self.registers.into_iter().chain(self.general);
        for (to, from) in words.iter_mut().zip(core::iter::once(first).chain(rest)) {
            *to = from;
        }
        words
    }

    /// Reads the words back; `None` if they are not those of such a record.
    pub fn from_words(words: [u64; REWALK_HEAD_WORDS]) -> Option<Self> {
        let [first, ip, sp, fp, lr, general @ ..] = words;
        let places = (first >> 32) as u16;
        let before = REWALK_HEAD_WORDS as u32 + u32::from(places);
        let head = Self {
            is_by_order: first >> 48 & BY_ORDER != 0,
            is_partial: first >> 48 & PARTIAL != 0,
            places,
            stack: (first as u32).checked_sub(before)?,
            registers: [ip, sp, fp, lr],
            general,
        };
        (first >> 56 == KIND_REWALK).then_some(head)
    }
}

/// The data to walk a stack again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rewalk<'a> {
    /// The numbers of the record.
    pub head: RewalkHead,
    /// The place on the stack of each run of the evaluation loop, leaf first.
    pub places: &'a [u64],
    /// The copied stack.
    pub stack: &'a [u64],
}

impl<'a> Rewalk<'a> {
    /// A record from its head and the words behind it; `None` if their number differs from the
    /// head's.
    pub(crate) fn new(head: RewalkHead, words: &'a [u64]) -> Option<Self> {
        let (places, stack) = words.split_at_checked(usize::from(head.places))?;
        (stack.len() == head.stack as usize).then_some(Self {
            head,
            places,
            stack,
        })
    }

    /// Whether the interpreter's stack is complete, given how its walk ended.
    pub fn is_all_of_python(&self, end: PythonEnd) -> bool {
        end == PythonEnd::Whole && !self.head.is_partial
    }
}
