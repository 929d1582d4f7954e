//! The numbered stacks: a file for each process, `stacks.N` beside its ring, which the process
//! appends to and the command reads.
//!
//! Stacks that get their numbers one after another mostly have the same callers. So an entry has
//! only the frames that differ from those of the stack before it in the same window, and the number
//! of outermost frames in common with that:
//!
//! ```text
//! ┌───────────────────────────┬──────────────────────────┬──────────────┬──────────┬──────────┐
//! │ kind, source,             │ number, kept native      │ head of the  │ native   │ Python's │
//! │ words of the entry        │ frames, kept words of    │ sample       │ frames   │ words    │
//! │                           │ Python's                 │              │ (new)    │ (new)    │
//! └───────────────────────────┴──────────────────────────┴──────────────┴──────────┴──────────┘
//! ```
//!
//! A place among the native frames is counted from the root here, so that later calls do not change
//! it. Entries of the kind [`entry_kind::RECORDS`] have records as in a ring.
//!
//! The file is a set of windows. The recorder allocates a window, all zero, and marks it in
//! [`StackWindows`]; the process only writes into mapped and allocated memory. One thread at a time
//! writes to a window. The first word of an entry is written last, so its reader finds the whole
//! entry, and a thread that is killed leaves no half one. Stacks have frames in common only with
//! stacks of the same window. A window that was read to its end is allocated anew, and may be used
//! again.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use profundo_wire::{PythonWord, SAMPLE_HEAD_WORDS, SampleHead, Source};

/// The prefix of the number of a process's file.
pub const STACKS_FILE: &str = "stacks.";

/// The number of words of a window: room for the largest entry, which has the records of a chunk,
/// and for many small ones.
pub const WINDOW_WORDS: usize = 1 << 15;

/// The number of windows: 32 MiB, which is the most that a process may be ahead of the recorder.
pub const WINDOWS: usize = 128;

/// The size of the file. Only given windows are allocated.
pub const STACKS_BYTES: usize = 8 * WINDOW_WORDS * WINDOWS;

/// The windows that may be written to.
#[derive(Debug)]
#[repr(C)]
pub struct StackWindows {
    /// Windows with memory and without a writer: bit `n % 64` of word `n / 64`. The recorder sets a
    /// bit, and the process clears it when it takes the window.
    pub free: [AtomicU64; WINDOWS / 64],
    /// The number of windows taken so far.
    pub taken: AtomicU32,
    /// The number of times that the recorder has given room, for stacks or for rows. A process
    /// without room waits for it to change.
    pub given: AtomicU32,
    /// The value of `given` when a process waited in vain, plus one. Until it changes, no process
    /// waits again.
    pub vain: AtomicU32,
    /// For each window, the number of words read, plus one. 0: it has no memory.
    pub read: [AtomicU32; WINDOWS],
}

impl StackWindows {
    /// The number of windows free.
    pub fn free(&self) -> u32 {
        let words = self.free.iter();
        words
            .map(|word| word.load(Ordering::Relaxed).count_ones())
            .sum()
    }

    /// Whether a window is free.
    pub fn is_free(&self, window: usize) -> bool {
        let word = self.free.get(window / 64);
        word.is_some_and(|word| word.load(Ordering::Acquire) >> (window % 64) & 1 != 0)
    }

    /// Gives a window, which has memory.
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

/// The number of words before the frames of an entry.
pub const STACK_WORDS: usize = 2 + SAMPLE_HEAD_WORDS;

/// The kinds of entries.
pub mod entry_kind {
    /// Nothing so far.
    pub const NOTHING: u64 = 0;
    /// A stack.
    pub const STACK: u64 = 1;
    /// Records. One word has the number of the entry's words.
    pub const RECORDS: u64 = 2;
    /// The rest of the window is not used.
    pub const END: u64 = 3;
}

/// The numbers of a stack's entry, without its frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewStack {
    /// Its number.
    pub number: u32,
    /// The allocator that this stack asks.
    pub source: Source,
    /// The numbers of native frames and of Python's words in common with the stack before it in the
    /// window.
    pub kept: [u16; 2],
    /// The sample. Its numbers of frames include those in common.
    pub head: SampleHead,
}

impl NewStack {
    /// The number of words of its entry.
    pub fn words(&self) -> usize {
        let [native, python] = self.added();
        STACK_WORDS + native + python
    }

    /// The numbers of native frames and of Python's words in the entry.
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

/// A word of Python's on a stack of `frames` native frames, with its place counted from the other
/// end. Twice is the identity.
#[inline]
pub fn from_root(word: u64, frames: usize) -> u64 {
    match PythonWord::from_word(word) {
        PythonWord::Entry {
            native: Some(place),
        } => {
            let other = frames.checked_sub(1 + usize::from(place));
            // A place beyond the stack is none of its frames, and stays.
            let native = Some(other.map_or(place, |other| other as u16));
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
                span: 0,
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
