//! The descriptor that a system call was made on. The handler knows the descriptor, and writes
//! behind a sample:
//!
//! ```text
//!          63       56 55                   32 31                                           0
//!         ┌───────────┬───────────────────────┬─────────────────────────────────────────────┐
//! word 0  │ kind = 10 │           0           │ words of the whole record                   │
//!         ├───────────┴───────────────────────┴─────────────────────────────────────────────┤
//! word 1  │ the sample's cycle counter                                                      │
//! word 2  │ the descriptor                                                                  │
//!         └─────────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! The reader of the ring looks up what the descriptor is, and records that first. A late look may
//! find something else, so the record also says from which call on it is certain:
//!
//! ```text
//!         ┌───────────┬───────────────────────┬─────────────────────────────────────────────┐
//! word 0  │ kind = 11 │           0           │ words of the whole record                   │
//!         ├───────────┴───────────────────────┴─────────────────────────────────────────────┤
//! word 1  │ the cycle counter of the first call that it is true of                          │
//!         ├───────────────────────────────────┬─────────────────────────────────────────────┤
//! word 2  │ the descriptor                    │ characters of the text                      │
//!         ├───────────────────────────────────┴─────────────────────────────────────────────┤
//! word 3… │ the text, two characters a word: a file's path; none if it is not known         │
//!         └─────────────────────────────────────────────────────────────────────────────────┘
//! ```

use alloc::string::String;
use alloc::vec::Vec;

use crate::wait::{characters_of, words_of_text};

/// The record kinds in the top byte of word 0.
pub(crate) const KIND_CALL: u64 = 10;
pub(crate) const KIND_OPENED: u64 = 11;

/// Length of a [`Call`] record in words.
pub const CALL_WORDS: usize = 3;

/// The descriptor that the preceding sample's system call was made on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Call {
    /// The sample's cycle counter.
    pub clock: u64,
    /// The descriptor.
    pub descriptor: u32,
}

impl Call {
    /// The words of the record.
    pub fn to_words(&self) -> [u64; CALL_WORDS] {
        let first = KIND_CALL << 56 | CALL_WORDS as u64;
        [first, self.clock, u64::from(self.descriptor)]
    }

    pub(crate) fn from_words(words: &[u64]) -> Option<Self> {
        let &[_, clock, descriptor] = words else {
            return None;
        };
        Some(Self {
            clock,
            descriptor: u32::try_from(descriptor).ok()?,
        })
    }
}

/// The file or other object behind a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opened<'a> {
    /// The descriptor.
    pub descriptor: u32,
    /// The cycle counter of the first call that this holds for.
    pub since: u64,
    words: &'a [u64],
    characters: u32,
}

/// Words before the text.
const HEAD_WORDS: usize = 3;

/// The words that name a descriptor's file, for calls from `since` on.
pub fn opened_words(descriptor: u32, since: u64, name: &str) -> Vec<u64> {
    let (body, characters) = words_of_text(name);
    let words = HEAD_WORDS + body.len();
    let head = [
        KIND_OPENED << 56 | words as u64,
        since,
        u64::from(descriptor) << 32 | u64::from(characters),
    ];
    head.into_iter().chain(body).collect()
}

impl<'a> Opened<'a> {
    pub(crate) fn from_words(words: &'a [u64]) -> Option<Self> {
        let (&[_, since, last], body) = words.split_first_chunk::<HEAD_WORDS>()?;
        let characters = last as u32;
        let is_whole = body.len() == (characters as usize).div_ceil(2);
        is_whole.then_some(Self {
            descriptor: (last >> 32) as u32,
            since,
            words: body,
            characters,
        })
    }

    /// The file's path, or a description of another object.
    pub fn name(&self) -> String {
        characters_of(self.words, self.characters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Error, Reader, Record};

    #[test]
    fn what_is_written_is_read() {
        let call = Call {
            clock: u64::MAX,
            descriptor: 7,
        };
        let mut words = call.to_words().to_vec();
        for name in ["", "/tmp/päth/🦀", "pipe"] {
            words.extend(opened_words(u32::MAX, 1 << 63, name));
        }
        let mut records = Reader::new(&words).map(Result::unwrap);
        assert_eq!(records.next(), Some(Record::Call(call)));
        for name in ["", "/tmp/päth/🦀", "pipe"] {
            let Some(Record::Opened(opened)) = records.next() else {
                panic!("{name} is no record");
            };
            assert_eq!((opened.descriptor, opened.since), (u32::MAX, 1 << 63));
            assert_eq!(opened.name(), name);
        }
    }

    #[test]
    fn damage_is_no_record() {
        let mut words = Call::default().to_words();
        words[2] = u64::MAX;
        let unknown = Some(Err(Error::UnknownRecord { at: 0 }));
        assert_eq!(Reader::new(&words).next(), unknown);
        let mut words = opened_words(3, 0, "abc");
        words[2] += 2;
        assert_eq!(Reader::new(&words).next(), unknown);
    }
}
