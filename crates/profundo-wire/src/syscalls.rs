//! How often a thread has returned from one system call with one result, by the kernel's count:
//!
//! ```text
//!          63       56 55                   32 31                                           0
//!         ┌───────────┬───────────────────────┬─────────────────────────────────────────────┐
//! word 0  │ kind = 15 │ the error; 0: none    │ words of the whole record                   │
//!         ├───────────┴───────────────────────┼─────────────────────────────────────────────┤
//! word 1  │ thread number                     │ kernel thread id                            │
//!         ├───────────────────────────────────┴─────────────────────────────────────────────┤
//! word 2  │ from, on the cycle counter                                                      │
//! word 3  │ to, on the cycle counter                                                        │
//! word 4  │ how often                                                                       │
//! word 5  │ characters of the call's name                                                   │
//!         ├─────────────────────────────────────────────────────────────────────────────────┤
//! word 6… │ the name, two characters a word                                                 │
//!         └─────────────────────────────────────────────────────────────────────────────────┘
//! ```

use alloc::string::String;
use alloc::vec::Vec;

use crate::wait::{characters_of, words_of_text};

/// The record kind in the top byte of word 0.
pub(crate) const KIND_SYSCALLS: u64 = 15;

/// Words before the name.
const HEAD_WORDS: usize = 6;

/// The largest error of word 0.
const MOST_ERROR: u32 = (1 << 24) - 1;

/// The numbers of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SyscallsHead {
    /// The thread's number, from 1; 0 where unknown.
    pub thread: u32,
    /// The kernel's thread id.
    pub tid: u32,
    /// Start of the interval, on the cycle counter.
    pub from: u64,
    /// End of the interval, on the cycle counter.
    pub to: u64,
    /// The error that the calls ended with; 0 for none.
    pub error: u32,
    /// Their number.
    pub count: u64,
}

/// The number of a thread's calls in an interval, of one kind and with one result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Syscalls<'a> {
    /// The numbers.
    pub head: SyscallsHead,
    words: &'a [u64],
    characters: u32,
}

impl SyscallsHead {
    /// The words of the record of a call with this name.
    pub fn to_words(&self, call: &str) -> Vec<u64> {
        let (body, characters) = words_of_text(call);
        let words = HEAD_WORDS + body.len();
        let head = [
            KIND_SYSCALLS << 56 | u64::from(self.error.min(MOST_ERROR)) << 32 | words as u64,
            u64::from(self.thread) << 32 | u64::from(self.tid),
            self.from,
            self.to,
            self.count,
            u64::from(characters),
        ];
        head.into_iter().chain(body).collect()
    }
}

impl<'a> Syscalls<'a> {
    pub(crate) fn from_words(words: &'a [u64]) -> Option<Self> {
        let (&[first, ids, from, to, count, characters], body) =
            words.split_first_chunk::<HEAD_WORDS>()?;
        let characters = u32::try_from(characters).ok()?;
        let is_whole = body.len() == (characters as usize).div_ceil(2);
        is_whole.then_some(Self {
            head: SyscallsHead {
                thread: (ids >> 32) as u32,
                tid: ids as u32,
                from,
                to,
                error: (first >> 32) as u32 & MOST_ERROR,
                count,
            },
            words: body,
            characters,
        })
    }

    /// The name of the call.
    pub fn call(&self) -> String {
        characters_of(self.words, self.characters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Error, Reader, Record};

    const SOME: SyscallsHead = SyscallsHead {
        thread: 3,
        tid: 4711,
        from: 1 << 60,
        to: u64::MAX,
        error: 11,
        count: u64::MAX,
    };

    #[test]
    fn what_is_written_is_read() {
        for name in ["", "read", "epoll_pwait2"] {
            let words = SOME.to_words(name);
            let Some(Ok(Record::Syscalls(found))) = Reader::new(&words).next() else {
                panic!("{name} is no record");
            };
            assert_eq!((found.head, found.call().as_str()), (SOME, name));
        }
        // An error that is too large is recorded as the largest.
        let words = SyscallsHead {
            error: u32::MAX,
            ..SOME
        }
        .to_words("read");
        let found = Syscalls::from_words(&words).unwrap();
        assert_eq!(found.head.error, MOST_ERROR);
        assert_eq!((words[0] >> 56, words[0] as u32), (KIND_SYSCALLS, 8));
    }

    #[test]
    fn damage_is_no_record() {
        let words = SOME.to_words("read");
        let cut = Reader::new(&words[..7]).next();
        assert_eq!(cut, Some(Err(Error::CutShort { at: 0 })));
        let mut other = words;
        other[5] += 1;
        let unknown = Some(Err(Error::UnknownRecord { at: 0 }));
        assert_eq!(Reader::new(&other).next(), unknown);
        other[5] = u64::MAX;
        assert_eq!(Reader::new(&other).next(), unknown);
    }
}
