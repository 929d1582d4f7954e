//! The bytes that a thread has read and written in an interval, by the kernel's count:
//!
//! ```text
//!          63      56 55              32 31                                                  0
//!         ┌──────────┬──────────────────┬────────────────────────────────────────────────────┐
//! word 0  │ kind = 9 │ how often it     │ words of the whole record                          │
//!         │          │ left a CPU       │                                                    │
//!         ├──────────┴──────────────────┼────────────────────────────────────────────────────┤
//! word 1  │ thread number               │ kernel thread id                                   │
//!         ├─────────────────────────────┴────────────────────────────────────────────────────┤
//! word 2  │ from, on the cycle counter                                                       │
//! word 3  │ to, on the cycle counter                                                         │
//! word 4  │ bytes that calls have read                                                       │
//! word 5  │ bytes that calls have written                                                    │
//! word 6  │ bytes that were fetched from storage for it                                      │
//! word 7  │ bytes that it has made to be sent to storage                                     │
//!         └──────────────────────────────────────────────────────────────────────────────────┘
//! ```

/// The record kind in the top byte of word 0.
pub(crate) const KIND_TRAFFIC: u64 = 9;

/// Length of a record in words.
pub const TRAFFIC_WORDS: usize = 8;

/// The largest count of word 0.
const MOST_WAITS: u32 = (1 << 24) - 1;

/// The bytes that a thread has read and written in an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// The thread's number, from 1; 0 where unknown.
    pub thread: u32,
    /// The kernel's thread id.
    pub tid: u32,
    /// Voluntary context switches in the interval.
    pub waits: u32,
    /// Start of the interval, on the cycle counter.
    pub from: u64,
    /// End of the interval, on the cycle counter.
    pub to: u64,
    /// Bytes read by system calls, from any kind of file.
    pub read: u64,
    /// Bytes written by system calls.
    pub written: u64,
    /// Bytes fetched from storage for the thread.
    pub fetched: u64,
    /// Bytes to be sent to storage because of the thread.
    pub stored: u64,
}

impl Traffic {
    /// The words of the record.
    pub fn to_words(&self) -> [u64; TRAFFIC_WORDS] {
        [
            KIND_TRAFFIC << 56 | u64::from(self.waits.min(MOST_WAITS)) << 32 | TRAFFIC_WORDS as u64,
            u64::from(self.thread) << 32 | u64::from(self.tid),
            self.from,
            self.to,
            self.read,
            self.written,
            self.fetched,
            self.stored,
        ]
    }

    /// Reads the words of a record.
    pub(crate) fn from_words(words: &[u64]) -> Option<Self> {
        let &[first, ids, from, to, read, written, fetched, stored] = words else {
            return None;
        };
        Some(Self {
            thread: (ids >> 32) as u32,
            tid: ids as u32,
            waits: (first >> 32) as u32 & MOST_WAITS,
            from,
            to,
            read,
            written,
            fetched,
            stored,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Error, Reader, Record};

    const SOME: Traffic = Traffic {
        thread: 3,
        tid: 4711,
        waits: 17,
        from: 1 << 60,
        to: u64::MAX,
        read: 1,
        written: u64::MAX,
        fetched: 4096,
        stored: 0,
    };

    #[test]
    fn what_is_written_is_read() {
        let many = Traffic {
            waits: u32::MAX,
            ..SOME
        };
        let words: [_; 2] = [SOME.to_words(), many.to_words()];
        let words = words.concat();
        let records: alloc::vec::Vec<_> = Reader::new(&words).collect();
        // A count that is too large is recorded as the largest.
        let most = Traffic {
            waits: MOST_WAITS,
            ..SOME
        };
        assert_eq!(
            records,
            [Ok(Record::Traffic(SOME)), Ok(Record::Traffic(most))]
        );
    }

    #[test]
    fn damage_is_no_record() {
        let words = SOME.to_words();
        let cut = Reader::new(&words[..7]).next();
        assert_eq!(cut, Some(Err(Error::CutShort { at: 0 })));
        let mut other = words;
        other[0] -= 1;
        let shorter = Reader::new(&other).next();
        assert_eq!(shorter, Some(Err(Error::UnknownRecord { at: 0 })));
    }
}
