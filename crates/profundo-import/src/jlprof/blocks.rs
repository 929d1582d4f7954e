//! The words of samples, one block a sample. Julia 1.8 and later:
//!
//! ```text
//! address, innermost first … | thread | task | cycle clock | state | 0 | 0
//! ```
//!
//! Before: `address … | 0`. A sample without addresses is then only the 0.
//!
//! Interpreted code stands among the addresses as the word of all ones and what describes it: the
//! code and the statement; since Julia 1.4 a word of counts and as many words. The outermost
//! address may be 0.

use super::head::word;

/// The words of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Words<'a> {
    pub bytes: &'a [u8],
    pub is_big: bool,
}

impl Words<'_> {
    fn len(self) -> usize {
        self.bytes.len() / size_of::<u64>()
    }

    fn get(self, at: usize) -> Option<u64> {
        let bytes = self.bytes.get(at.checked_mul(8)?..)?.first_chunk()?;
        Some(word(*bytes, self.is_big))
    }
}

/// A sample.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block<'a> {
    /// The innermost first.
    pub addresses: &'a [u64],
    pub metadata: Option<Metadata>,
    /// Whether code was interpreted.
    pub has_interpreted: bool,
}

/// The owner of a sample.
#[derive(Debug, Clone, Copy)]
pub(super) struct Metadata {
    /// The thread, from 1.
    pub thread: u64,
    pub task: u64,
    pub clock: u64,
    /// 1 running, 2 asleep, 3 taken by the wall-time profiler.
    pub state: u64,
}

/// The number of words of metadata, and of those at the end of a block.
const METADATA: usize = 4;
const END: usize = METADATA + 2;
/// The word before what describes interpreted code.
const INTERPRETED: u64 = u64::MAX;

/// All samples, the oldest first.
pub(super) struct Blocks<'a> {
    words: Words<'a>,
    at: usize,
    has_metadata: bool,
    /// The words of the block, kept for its memory.
    block: Vec<u64>,
}

impl<'a> Blocks<'a> {
    pub(super) fn new(words: Words<'a>) -> Self {
        let mut last = [0; END];
        let has_metadata = (0..words.len()).any(|at| {
            last.rotate_left(1);
            last[END - 1] = words.get(at).unwrap_or(0);
            let [thread, task, clock, state, first, second] = last;
            (first, second) == (0, 0)
                && (1..=3).contains(&state)
                && at >= END - 1
                && [thread, task, clock].iter().all(|&word| word != 0)
        });
        Self {
            words,
            at: 0,
            has_metadata,
            block: Vec::new(),
        }
    }

    pub(super) fn has_metadata(&self) -> bool {
        self.has_metadata
    }

    /// Gives each sample to `each`, or the place of one that has no whole end.
    pub(super) fn for_each(mut self, mut each: impl FnMut(Result<Block<'_>, usize>)) {
        while self.next_words() {
            let metadata = match self.has_metadata {
                false => None,
                true => {
                    let Some(kept) = self.block.len().checked_sub(METADATA) else {
                        each(Err(self.at));
                        continue;
                    };
                    let about = Metadata {
                        thread: self.block[kept],
                        task: self.block[kept + 1],
                        clock: self.block[kept + 2],
                        state: self.block[kept + 3],
                    };
                    self.block.truncate(kept);
                    Some(about)
                }
            };
            let has_interpreted = drop_interpreted(&mut self.block);
            if self.block.is_empty() && metadata.is_none() {
                continue;
            }
            each(Ok(Block {
                addresses: &self.block,
                metadata,
                has_interpreted,
            }));
        }
    }

    /// Reads the next block without the zeros at its end. One that has no end is dropped: the file
    /// was cut.
    fn next_words(&mut self) -> bool {
        self.block.clear();
        while let Some(word) = self.words.get(self.at) {
            self.at += 1;
            let is_end = match (self.has_metadata, &self.block[..]) {
                (false, _) => word == 0,
                (true, [.., state, 0]) => word == 0 && *state != 0,
                (true, _) => false,
            };
            if is_end {
                if self.has_metadata {
                    self.block.pop();
                }
                return true;
            }
            self.block.push(word);
        }
        false
    }
}

/// Takes interpreted code and empty addresses out. Whether there was any interpreted code.
fn drop_interpreted(block: &mut Vec<u64>) -> bool {
    /// A larger word is a pointer, as before Julia 1.4.
    const LARGEST_COUNTS: u64 = 1 << 40;
    if !block.contains(&INTERPRETED) {
        block.retain(|&address| address != 0);
        return false;
    }
    let (mut from, mut to) = (0, 0);
    while let Some(&word) = block.get(from) {
        match (word, block.get(from + 1)) {
            (INTERPRETED, Some(&counts)) if counts < LARGEST_COUNTS => {
                from += 2 + (counts & 7) as usize + (counts >> 3 & 7) as usize;
            }
            (INTERPRETED, _) => from += 3,
            (address, _) => {
                if address != 0 {
                    block[to] = address;
                    to += 1;
                }
                from += 1;
            }
        }
    }
    block.truncate(to);
    true
}
