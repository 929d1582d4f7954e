//! The wait of a blocked thread. The record stands right before the sample that it belongs to:
//!
//! ```text
//!          63      56 55     40 39  32 31                                                   0
//!         ┌──────────┬─────────┬──────┬─────────────────────────────────────────────────────┐
//! word 0  │ kind = 8 │    0    │ what │ words of the whole record                           │
//!         ├──────────┴─────────┴──────┴────────────┬────────────────────────────────────────┤
//! word 1  │                   0                    │ characters of the text                 │
//!         ├────────────────────────────────────────┴────────────────────────────────────────┤
//! word 2… │ the text, two characters a word: a lock's address, a file's path                │
//!         └─────────────────────────────────────────────────────────────────────────────────┘
//! ```

use alloc::string::String;
use alloc::vec::Vec;

/// The record kind in the top byte of word 0.
pub(crate) const KIND_WAIT: u64 = 8;

/// The kind of thing that a thread waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum WaitKind {
    /// The interpreter's lock.
    Gil = 1,
    /// A lock or a condition of the program: a futex.
    Lock = 2,
    /// Time to pass.
    Sleep = 3,
    /// A child process.
    Child = 4,
    /// Data to read.
    Read = 5,
    /// Room to write.
    Write = 6,
    /// An incoming connection.
    Accept = 7,
    /// An outgoing connection.
    Connect = 8,
    /// A lock on a file.
    FileLock = 9,
    /// Any of several files, or a timeout.
    Poll = 10,
    /// A signal.
    Signal = 11,
    /// A page fault.
    Fault = 12,
    /// Another system call.
    Other = 13,
    /// A free CPU.
    Cpu = 14,
    /// The end of a thread.
    Thread = 15,
}

impl WaitKind {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 15] = [
        Self::Gil,
        Self::Lock,
        Self::Sleep,
        Self::Child,
        Self::Read,
        Self::Write,
        Self::Accept,
        Self::Connect,
        Self::FileLock,
        Self::Poll,
        Self::Signal,
        Self::Fault,
        Self::Other,
        Self::Cpu,
        Self::Thread,
    ];

    fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == code)
    }
}

/// The wait of a thread, with the words of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait<'a> {
    /// The kind of the wait.
    pub kind: WaitKind,
    words: &'a [u64],
    characters: u32,
}

/// Words before the text.
const HEAD_WORDS: usize = 2;
/// The longest text in characters; longer ones are cut.
const LONGEST: usize = 4096;

/// The words of a record.
pub fn wait_words(kind: WaitKind, text: &str) -> Vec<u64> {
    let (body, characters) = words_of_text(text);
    let words = HEAD_WORDS + body.len();
    let head = [
        KIND_WAIT << 56 | (kind as u64) << 32 | words as u64,
        u64::from(characters),
    ];
    head.into_iter().chain(body).collect()
}

/// The words of a text, two characters a word, and its number of characters.
pub(crate) fn words_of_text(text: &str) -> (Vec<u64>, u32) {
    let text: Vec<u32> = text.chars().take(LONGEST).map(u32::from).collect();
    let body = text.chunks(2).map(|pair| {
        let [low, high] =
            [pair.first(), pair.get(1)].map(|character| character.copied().unwrap_or(0));
        u64::from(high) << 32 | u64::from(low)
    });
    (body.collect(), text.len() as u32)
}

/// The text of these words.
pub(crate) fn characters_of(words: &[u64], characters: u32) -> String {
    let halves = words
        .iter()
        .flat_map(|word| [*word as u32, (word >> 32) as u32]);
    let characters = halves.take(characters as usize);
    characters
        .map(|character| char::from_u32(character).unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect()
}

impl<'a> Wait<'a> {
    /// Reads the words of a record.
    pub(crate) fn from_words(words: &'a [u64]) -> Option<Self> {
        let (head, body) = words.split_first_chunk::<HEAD_WORDS>()?;
        let [first, characters] = *head;
        let characters = u32::try_from(characters).ok()?;
        let is_whole = body.len() == (characters as usize).div_ceil(2);
        is_whole.then_some(Self {
            kind: WaitKind::from_code((first >> 32) as u8)?,
            words: body,
            characters,
        })
    }

    /// Length of the record in words.
    pub fn words(&self) -> usize {
        HEAD_WORDS + self.words.len()
    }

    /// A lock's address, a file's path, or an empty text.
    pub fn text(&self) -> String {
        characters_of(self.words, self.characters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for text in ["", "a", "ab", "/tmp/päth/🦀", "0x7f00"] {
            for kind in WaitKind::ALL {
                let words = wait_words(kind, text);
                let wait = Wait::from_words(&words).unwrap();
                assert_eq!((wait.kind, wait.text().as_str()), (kind, text));
            }
        }
    }

    #[test]
    fn damage_is_no_record() {
        let words = wait_words(WaitKind::Read, "abc");
        assert_eq!(Wait::from_words(&words[..3]), None);
        assert_eq!(Wait::from_words(&words[..1]), None);
        let mut other = words.clone();
        other[0] |= 0xFF << 32;
        assert_eq!(Wait::from_words(&other), None);
        let mut other = words;
        other[1] = u64::MAX;
        assert_eq!(Wait::from_words(&other), None);
    }
}
