//! The bytes of the file: its mark, its byte order, and numbers and texts within bounds.

use crate::Error;

const MAGIC: &[u8] = b"JLPROF\x01\x00";
const ORDER: u32 = 0x0102_0304;
/// The kind of a file with words and names.
const WORDS_AND_NAMES: u8 = 1;

pub(super) fn is_start(start: &[u8]) -> bool {
    start.starts_with(MAGIC)
}

/// The bytes after the head.
pub(super) fn open(bytes: &[u8]) -> Result<Input<'_>, Error> {
    let malformed = |what: &str| Error::Malformed {
        format: "jlprof",
        what: what.to_owned(),
    };
    let mut input = Input {
        bytes,
        at: MAGIC.len().min(bytes.len()),
        is_big: false,
    };
    let mark = input.array().map(u32::from_le_bytes);
    input.is_big = match mark {
        Some(ORDER) => false,
        Some(mark) if mark == ORDER.swap_bytes() => true,
        _ => return Err(malformed("no mark of the byte order")),
    };
    match input.byte() {
        Some(WORDS_AND_NAMES) => Ok(input),
        _ => Err(malformed("a kind of data that is not known")),
    }
}

/// The bytes that are not read yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Whether numbers begin with their highest byte.
    pub is_big: bool,
}

impl<'a> Input<'a> {
    pub(super) fn offset(&self) -> u64 {
        self.at as u64
    }

    fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(count)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    pub(super) fn rest(&mut self) -> &'a [u8] {
        self.take(self.left()).unwrap_or_default()
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(super) fn word(&mut self) -> Option<u64> {
        let bytes = self.array()?;
        Some(word(bytes, self.is_big))
    }

    fn half(&mut self) -> Option<u32> {
        let bytes = self.array()?;
        Some(match self.is_big {
            true => u32::from_be_bytes(bytes),
            false => u32::from_le_bytes(bytes),
        })
    }

    /// A number of things of at least this size, and whether so many can be there.
    pub(super) fn count(&mut self, least: usize) -> Option<(usize, bool)> {
        let count = usize::try_from(self.word()?).unwrap_or(usize::MAX);
        Some((count, count <= self.left() / least))
    }

    /// The same, of a half word.
    pub(super) fn short_count(&mut self, least: usize) -> Option<usize> {
        let count = self.half()? as usize;
        (count <= self.left() / least).then_some(count)
    }

    /// A text with its length before it.
    pub(super) fn text(&mut self) -> Option<&'a [u8]> {
        let length = self.half()? as usize;
        self.take(length)
    }
}

pub(super) fn word(bytes: [u8; 8], is_big: bool) -> u64 {
    match is_big {
        true => u64::from_be_bytes(bytes),
        false => u64::from_le_bytes(bytes),
    }
}
