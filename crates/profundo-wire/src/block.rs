//! Allocations and frees. The record of an allocation follows the sample of the stack that made it:
//!
//! ```text
//!          63       56 55    48 47            40 39 32 31                                     0
//!         ┌───────────┬────────┬────────────────┬─────┬───────────────────────────────────────┐
//! word 0  │ kind = 12 │ source │ 1: is a buffer │ dbl │ words of the whole record             │
//!         ├───────────┴────────┴────────────────┴─────┴───────────────────────────────────────┤
//! word 1  │ the sample's cycle counter                                                        │
//! word 2  │ the block's number, which no other one of the process has                         │
//! word 3  │ bytes that were asked for                                                         │
//! word 4  │ where it is                                                                       │
//!         └───────────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! `dbl` is how often the usual sampling distance had been doubled.
//!
//! The thread that frees the block records that, whichever thread it is:
//!
//! ```text
//!         ┌───────────┬───────────────────────┬───────────────────────────────────────────────┐
//! word 0  │ kind = 13 │ 1: was freed at once  │ words of the whole record                     │
//!         ├───────────┴───────────────────────┴───────────────────────────────────────────────┤
//! word 1  │ the cycle counter                                                                 │
//! word 2  │ the block's number                                                                │
//!         └───────────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! Where all allocations are counted by stack, the first one of each stack gives the stack a number
//! instead:
//!
//! ```text
//!         ┌───────────┬────────┬──────────────────────┬───────────────────────────────────────┐
//! word 0  │ kind = 14 │ source │           0          │ words of the whole record             │
//!         ├───────────┴────────┴──────────────────────┴───────────────────────────────────────┤
//! word 1  │ the sample's cycle counter                                                        │
//! word 2  │ the number                                                                        │
//!         └───────────────────────────────────────────────────────────────────────────────────┘
//! ```

/// The record kinds in the top byte of word 0.
pub(crate) const KIND_BLOCK: u64 = 12;
pub(crate) const KIND_FREED: u64 = 13;
pub(crate) const KIND_SITE: u64 = 14;

/// Length of a [`Block`] record in words.
pub const BLOCK_WORDS: usize = 5;
/// Length of a [`Freed`] record in words.
pub const FREED_WORDS: usize = 3;
/// Length of a [`Site`] record in words.
pub const SITE_WORDS: usize = 3;

/// The allocator that a block came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum Source {
    /// The C library's allocator, or its replacement.
    #[default]
    Native = 1,
    /// The interpreter's allocator.
    Python = 2,
    /// The kernel: mapped memory.
    Mapped = 3,
    /// No allocator: a copy from one place to another. It has no number and no end.
    Copied = 4,
}

impl Source {
    /// The source with this number.
    pub fn from_code(code: u8) -> Option<Self> {
        [Self::Native, Self::Python, Self::Mapped, Self::Copied]
            .into_iter()
            .find(|source| *source as u8 == code)
    }
}

/// The block that the preceding sample allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Block {
    /// The sample's cycle counter.
    pub clock: u64,
    /// The block's number, unique in the process.
    pub number: u64,
    /// Requested bytes.
    pub size: u64,
    /// The block's address.
    pub address: u64,
    /// The allocator that it came from.
    pub source: Source,
    /// Whether a growable container keeps its elements there.
    pub is_buffer: bool,
    /// The number of doublings of the usual sampling distance when this block was due.
    pub doublings: u8,
}

/// A block was freed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Freed {
    /// The cycle counter at the free.
    pub clock: u64,
    /// The block's number.
    pub number: u64,
    /// True if its thread had allocated nothing else since.
    pub at_once: bool,
}

/// The number of the preceding sample's stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Site {
    /// The sample's cycle counter.
    pub clock: u64,
    /// The stack's number.
    pub number: u32,
    /// The allocator that this stack asks.
    pub source: Source,
}

const fn first(kind: u64, source: u64, flag: bool, words: usize) -> u64 {
    kind << 56 | source << 48 | (flag as u64) << 40 | words as u64
}

impl Block {
    /// The words of the record.
    pub fn to_words(&self) -> [u64; BLOCK_WORDS] {
        let source = self.source as u64;
        [
            first(KIND_BLOCK, source, self.is_buffer, BLOCK_WORDS)
                | u64::from(self.doublings) << 32,
            self.clock,
            self.number,
            self.size,
            self.address,
        ]
    }

    pub(crate) fn from_words(words: &[u64]) -> Option<Self> {
        let &[first, clock, number, size, address] = words else {
            return None;
        };
        Some(Self {
            clock,
            number,
            size,
            address,
            source: Source::from_code((first >> 48) as u8)?,
            is_buffer: first >> 40 & 1 != 0,
            doublings: (first >> 32) as u8,
        })
    }
}

impl Freed {
    /// The words of the record.
    pub fn to_words(&self) -> [u64; FREED_WORDS] {
        let first = first(KIND_FREED, 0, self.at_once, FREED_WORDS);
        [first, self.clock, self.number]
    }

    pub(crate) fn from_words(words: &[u64]) -> Option<Self> {
        let &[first, clock, number] = words else {
            return None;
        };
        Some(Self {
            clock,
            number,
            at_once: first >> 40 & 1 != 0,
        })
    }
}

impl Site {
    /// The words of the record.
    pub fn to_words(&self) -> [u64; SITE_WORDS] {
        let first = first(KIND_SITE, self.source as u64, false, SITE_WORDS);
        [first, self.clock, u64::from(self.number)]
    }

    pub(crate) fn from_words(words: &[u64]) -> Option<Self> {
        let &[first, clock, number] = words else {
            return None;
        };
        Some(Self {
            clock,
            number: u32::try_from(number).ok()?,
            source: Source::from_code((first >> 48) as u8)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Error, Reader, Record};
    use alloc::vec::Vec;

    #[test]
    fn what_is_written_is_read() {
        let block = Block {
            clock: u64::MAX,
            number: 1 << 50,
            size: u64::MAX,
            address: 0x7fff_0000,
            source: Source::Mapped,
            is_buffer: true,
            doublings: 3,
        };
        let freed = Freed {
            clock: 7,
            number: 1 << 50,
            at_once: true,
        };
        let site = Site {
            clock: 9,
            number: u32::MAX,
            source: Source::Python,
        };
        let mut words = block.to_words().to_vec();
        words.extend(freed.to_words());
        words.extend(site.to_words());
        let records: Vec<_> = Reader::new(&words).map(Result::unwrap).collect();
        let expected = [
            Record::Block(block),
            Record::Freed(freed),
            Record::Site(site),
        ];
        assert_eq!(records, expected);
    }

    #[test]
    fn damage_is_no_record() {
        let unknown = Some(Err(Error::UnknownRecord { at: 0 }));
        let mut words = Block::default().to_words();
        words[0] ^= 0xF << 48;
        assert_eq!(Reader::new(&words).next(), unknown);
        let mut words = Site::default().to_words();
        words[2] = u64::MAX;
        assert_eq!(Reader::new(&words).next(), unknown);
        let words = Freed::default().to_words();
        let cut = Some(Err(Error::CutShort { at: 0 }));
        assert_eq!(Reader::new(&words[..2]).next(), cut);
    }
}
