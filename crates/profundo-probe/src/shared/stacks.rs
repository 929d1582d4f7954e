//! The stacks that have got a number: a file for each process, `stacks.N` beside its ring, which the process appends
//! to and the command reads.
//!
//! Stacks that get their numbers one after another mostly have the same callers. So an entry has only the frames that
//! differ from those of the stack before it in the same window, and says how many of the outermost ones it has in
//! common with that:
//!
//! ```text
//! ┌───────────────────────────┬──────────────────────────┬──────────────┬──────────┬──────────┐
//! │ kind, source,             │ number, kept native      │ head of the  │ native   │ Python's │
//! │ words of the entry        │ frames, kept words of    │ sample       │ frames   │ words    │
//! │                           │ Python's                 │              │ (new)    │ (new)    │
//! └───────────────────────────┴──────────────────────────┴──────────────┴──────────┴──────────┘
//! ```
//!
//! A place among the native frames is counted from the root here, so that it is the same whatever was called
//! since. Entries of the kind [`entry_kind::RECORDS`] have records as they stand in a ring.
//!
//! The file is a set of windows. The recorder gives a window its memory, all zero, and says so in
//! [`StackWindows`]; the process only writes into memory that is mapped and there. One thread at a time writes to a
//! window. The first word of an entry is written last, so whoever reads it finds the whole entry, and a thread that is
//! killed leaves no half one. Stacks have frames in common only with stacks of the same window. A window
//! that was read to its end is given its memory anew, and may be used again.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use profundo_wire::{PythonWord, SAMPLE_HEAD_WORDS, SampleHead, Source};

/// What stands before the number of a process's file.
pub const STACKS_FILE: &str = "stacks.";

/// How many words a window has: room for the largest entry, which has the records of a chunk, and for many small ones.
pub const WINDOW_WORDS: usize = 1 << 15;

/// How many windows there are: 32 MiB, which is the most that a process may be ahead of the recorder.
pub const WINDOWS: usize = 128;

/// How long the file is. Only windows that were given have memory.
pub const STACKS_BYTES: usize = 8 * WINDOW_WORDS * WINDOWS;

/// Which windows may be written to.
#[derive(Debug)]
#[repr(C)]
pub struct StackWindows {
    /// Windows that have their memory and no writer: bit `n % 64` of word `n / 64`. The recorder sets a bit, and the process
    /// clears it when it takes the window.
    pub free: [AtomicU64; WINDOWS / 64],
    /// How many windows were taken so far.
    pub taken: AtomicU32,
    /// How often the recorder has given room, for stacks or for rows. A process without room waits for it to change.
    pub given: AtomicU32,
    /// What `given` was when a process waited in vain, plus one. Until it changes nobody waits again.
    pub vain: AtomicU32,
    /// Of each window how many words were read, plus one. 0: it has no memory.
    pub read: [AtomicU32; WINDOWS],
}

impl StackWindows {
    /// How many windows are free.
    pub fn free(&self) -> u32 {
        let words = self.free.iter();
        words
            .map(|it| it.load(Ordering::Relaxed).count_ones())
            .sum()
    }

    /// Whether a window is free.
    pub fn is_free(&self, window: usize) -> bool {
        let word = self.free.get(window / 64);
        word.is_some_and(|it| it.load(Ordering::Acquire) >> (window % 64) & 1 != 0)
    }

    /// Gives a window, which has its memory.
    pub fn give(&self, window: usize) {
        if let (Some(word), Some(read)) = (self.free.get(window / 64), self.read.get(window)) {
            read.store(1, Ordering::Relaxed);
            // Release pairs with the acquire in `take`: the memory is there and zero.
            word.fetch_or(1 << (window % 64), Ordering::Release);
        }
    }

    /// Takes a free window; `None`: there is none.
    pub fn take(&self) -> Option<usize> {
        for (number, word) in self.free.iter().enumerate() {
            // Acquire pairs with the release in `give`.
            let taken = word.fetch_update(Ordering::Acquire, Ordering::Relaxed, |bits| {
                (bits != 0).then(|| bits & (bits - 1))
            });
            if let Ok(bits) = taken {
                self.taken.fetch_add(1, Ordering::Relaxed);
                return Some(64 * number + bits.trailing_zeros() as usize);
            }
        }
        None
    }
}

/// How many words stand before the frames of an entry.
pub const STACK_WORDS: usize = 2 + SAMPLE_HEAD_WORDS;

/// What an entry is.
pub mod entry_kind {
    /// Nothing so far.
    pub const NOTHING: u64 = 0;
    /// A stack.
    pub const STACK: u64 = 1;
    /// Records. One word says how many words the entry has.
    pub const RECORDS: u64 = 2;
    /// The rest of the window is not used.
    pub const END: u64 = 3;
}

/// What an entry says of a stack, besides its frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewStack {
    /// Its number.
    pub number: u32,
    /// Whose allocator is asked there.
    pub source: Source,
    /// How many native frames, and how many words of Python's, it has in common with the stack before it in the window.
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

    /// The words before the frames: the first one, which is written last, and the others.
    pub fn to_words(&self) -> (u64, [u64; STACK_WORDS - 1]) {
        let [native, python] = self.kept.map(u64::from);
        let mut others = [0; STACK_WORDS - 1];
        if let Some((second, head)) = others.split_first_mut() {
            *second = native << 48 | python << 32 | u64::from(self.number);
            head.copy_from_slice(&self.head.to_words());
        }
        let first = entry_kind::STACK << 56 | (self.source as u64) << 40 | self.words() as u64;
        (first, others)
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

#[cfg(test)]
mod tests {
    use super::*;
    use profundo_wire::{End, Gil, PythonEnd, State};

    #[test]
    fn an_entry_is_read_as_it_was_written() {
        let stack = NewStack {
            number: 4_000_000,
            source: Source::Python,
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
        let (first, others) = stack.to_words();
        let mut damaged = [&[first][..], &others].concat();
        assert_eq!(NewStack::from_words(&damaged), Some(stack));
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
    fn a_window_has_one_writer() {
        // SAFETY: all zero is a valid one.
        let windows = unsafe { std::boxed::Box::<StackWindows>::new_zeroed().assume_init() };
        assert_eq!(windows.take(), None);
        for window in [70, 3] {
            windows.give(window);
        }
        assert!(windows.is_free(70) && !windows.is_free(71));
        assert_eq!((windows.free(), windows.take()), (2, Some(3)));
        assert_eq!((windows.take(), windows.take()), (Some(70), None));
        assert_eq!(windows.taken.load(Ordering::Relaxed), 2);
    }
}
