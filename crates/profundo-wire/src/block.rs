//! What was allocated and freed. Behind the sample of a stack that has allocated something stands what
//! it has:
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
//! `dbl` is how often the usual distance of two that are recorded had been doubled.
//!
//! When the block is freed, that is told, by whatever thread does it:
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
//! Where everything that is allocated is counted, by stacks, the first one of each stack gives it a
//! number instead:
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

/// How long the records are.
pub const BLOCK_WORDS: usize = 5;
/// As above, of one that is freed.
pub const FREED_WORDS: usize = 3;
/// As above, of a stack that gets a number.
pub const SITE_WORDS: usize = 3;

/// Whose allocator gave a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum Source {
    /// The C library's, or what stands in its place.
    #[default]
    Native = 1,
    /// The interpreter's.
    Python = 2,
    /// The kernel's.
    Mapped = 3,
    /// Nobody's: it was copied from one place to another. It has no number and no end.
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

/// The block that the sample before it has allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Block {
    /// The sample's cycle counter.
    pub clock: u64,
    /// No other block of the process has this number.
    pub number: u64,
    /// Bytes that were asked for.
    pub size: u64,
    /// Where it is.
    pub address: u64,
    /// Whose allocator gave it.
    pub source: Source,
    /// Whether it is where something keeps its elements that can grow.
    pub is_buffer: bool,
    /// How often the usual distance of two had been doubled when this one was due.
    pub doublings: u8,
}

/// A block was freed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Freed {
    /// When, on the cycle counter.
    pub clock: u64,
    /// Which.
    pub number: u64,
    /// Whether the thread that had allocated it had not allocated anything since.
    pub at_once: bool,
}

/// The stack of the sample before it has a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Site {
    /// The sample's cycle counter.
    pub clock: u64,
    /// The number.
    pub number: u32,
    /// Whose allocator is asked there.
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
        let told: Vec<_> = Reader::new(&words).map(Result::unwrap).collect();
        let expected = [
            Record::Block(block),
            Record::Freed(freed),
            Record::Site(site),
        ];
        assert_eq!(told, expected);
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
