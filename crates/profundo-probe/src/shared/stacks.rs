//! The stacks that have got a number: a file for each process, `stacks.N` beside its ring, which the process appends
//! to and the command reads.
//!
//! Stacks that get their numbers one after another mostly have the same callers. So an entry has only the frames that
//! differ from those of the stack before it in the same stream, and says how many of the outermost ones it has in
//! common with that:
//!
//! ```text
//! ┌───────────────────────────┬──────────────────────────┬──────────────┬──────────┬──────────┐
//! │ kind, stream, source,     │ number, kept native      │ head of the  │ native   │ Python's │
//! │ words of the entry        │ frames, kept words of    │ sample       │ frames   │ words    │
//! │                           │ Python's                 │              │ (new)    │ (new)    │
//! └───────────────────────────┴──────────────────────────┴──────────────┴──────────┴──────────┘
//! ```
//!
//! A place among the native frames is counted from the root here, so that it is the same whatever was called
//! since. Entries of the kind [`entry_kind::RECORDS`] have records as they stand in a ring.
//!
//! The file is as long as what was written. It is written through a window of [`WINDOW_WORDS`], and no entry
//! crosses the end of one. The stacks of a window have nothing in common with those before it, so that whoever goes on reading for a
//! command that was killed needs that window alone. The command gives the memory of what it has read back.

use profundo_wire::{PythonWord, SAMPLE_HEAD_WORDS, SampleHead, Source};

use super::SHARES;

/// What stands before the number of a process's file.
pub const STACKS_FILE: &str = "stacks.";

/// How many words are mapped at one time: room for the largest entry, which has the records of a chunk.
pub const WINDOW_WORDS: usize = 1 << 16;

/// How many stacks are remembered, for others to have frames in common with.
pub const STREAMS: usize = SHARES;

/// How many words stand before the frames of an entry.
pub const STACK_WORDS: usize = 2 + SAMPLE_HEAD_WORDS;

/// What an entry is.
pub mod entry_kind {
    /// The rest of the window is not used.
    pub const REST: u64 = 0;
    /// A stack.
    pub const STACK: u64 = 1;
    /// Records. One word says how many words the entry has.
    pub const RECORDS: u64 = 2;
}

/// What an entry says of a stack, besides its frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewStack {
    /// Its number.
    pub number: u32,
    /// Whose allocator is asked there.
    pub source: Source,
    /// Which stack it has frames in common with: the last one of this stream.
    pub stream: u8,
    /// How many native frames, and how many words of Python's.
    pub kept: [u16; 2],
    /// The sample. Its numbers of frames count those in common too.
    pub head: SampleHead,
}

impl NewStack {
    /// How many words its entry has.
    pub fn words(&self) -> usize {
        let [native, python] = self.added();
        STACK_WORDS + native + python
    }

    /// How many native frames and words of Python's stand in the entry.
    pub fn added(&self) -> [usize; 2] {
        let [native, python] = self.kept;
        [
            usize::from(self.head.frames.saturating_sub(native)),
            usize::from(self.head.python.saturating_sub(python)),
        ]
    }

    /// The words before the frames.
    pub fn to_words(&self) -> [u64; STACK_WORDS] {
        let [native, python] = self.kept.map(u64::from);
        let mut words = [0; STACK_WORDS];
        if let Some((first, head)) = words.split_first_chunk_mut() {
            *first = [
                entry_kind::STACK << 56
                    | u64::from(self.stream) << 48
                    | (self.source as u64) << 40
                    | self.words() as u64,
                native << 48 | python << 32 | u64::from(self.number),
            ];
            head.copy_from_slice(&self.head.to_words());
        }
        words
    }

    /// Reads the words back; `None` if they are not those of a stack.
    pub fn from_words(words: &[u64]) -> Option<Self> {
        let (&[first, second], rest) = words.split_first_chunk()?;
        if first >> 56 != entry_kind::STACK {
            return None;
        }
        let stack = Self {
            number: second as u32,
            source: Source::from_code((first >> 40) as u8)?,
            stream: (first >> 48) as u8,
            kept: [(second >> 48) as u16, (second >> 32) as u16],
            head: SampleHead::from_words(*rest.first_chunk()?)?,
        };
        (stack.words() as u64 == first & 0xFFFF_FFFF).then_some(stack)
    }
}

/// Of a word of Python's on a stack of so many native frames: the same with its place counted from the other end. Done
/// twice it is what it was.
#[inline]
pub fn from_root(word: u64, frames: usize) -> u64 {
    match PythonWord::from_word(word) {
        PythonWord::Entry {
            native: Some(place),
        } => {
            let other = frames.checked_sub(1 + usize::from(place));
            // A place beyond the stack is none of its frames, and stays.
            let native = Some(other.map_or(place, |it| it as u16));
            PythonWord::Entry { native }.to_word()
        }
        _ => word,
    }
}

/// How many words two stacks have in common at their ends, where the callers are.
#[inline]
pub fn kept_of(one: &[u64], other: &[u64]) -> usize {
    let pairs = one.iter().rev().zip(other.iter().rev());
    pairs.take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use profundo_wire::{End, Gil, PythonEnd, State};

    #[test]
    fn an_entry_is_read_as_it_was_written() {
        let stack = NewStack {
            number: 4_000_000,
            source: Source::Python,
            stream: 15,
            kept: [300, 7],
            head: SampleHead {
                state: State::Allocating,
                end: End::Broken,
                frames: 310,
                python: 9,
                python_end: PythonEnd::Truncated,
                gil: Gil::None,
                clock: 77,
                weight: 0,
                task: 5,
                thread: 2,
                tid: 1234,
            },
        };
        assert_eq!((stack.words(), stack.added()), (STACK_WORDS + 12, [10, 2]));
        assert_eq!(NewStack::from_words(&stack.to_words()), Some(stack));
        let mut damaged = stack.to_words();
        damaged[0] += 1;
        assert_eq!(NewStack::from_words(&damaged), None);
        assert_eq!(NewStack::from_words(&damaged[1..]), None);
    }

    #[test]
    fn a_place_counted_from_the_root_stays_when_more_is_called() {
        let entry = |native| PythonWord::Entry { native }.to_word();
        assert_eq!(from_root(entry(Some(3)), 10), entry(Some(6)));
        assert_eq!(from_root(entry(Some(5)), 12), entry(Some(6)));
        assert_eq!(from_root(from_root(entry(Some(3)), 10), 10), entry(Some(3)));
        assert_eq!(from_root(entry(None), 10), entry(None));
        assert_eq!(from_root(1 << 62 | 7 << 32 | 4, 10), 1 << 62 | 7 << 32 | 4);
        assert_eq!(from_root(entry(Some(10)), 10), entry(Some(10)));
    }

    #[test]
    fn callers_are_in_common() {
        assert_eq!(kept_of(&[1, 2, 3], &[9, 8, 2, 3]), 2);
        assert_eq!(kept_of(&[1, 2, 3], &[]), 0);
        assert_eq!(kept_of(&[3], &[3]), 1);
    }
}
