//! The code object of an interpreted function, copied when it was first seen.
//!
//! ```text
//!          63      56 55      48 47              32 31                                     0
//!         ┌──────────┬──────────┬──────────────────┬───────────────────────────────────────┐
//! word 0  │ kind = 2 │  minor   │      kinds       │ words of the whole record             │
//!         ├──────────┴──────────┴──────────────────┼───────────────────────────────────────┤
//! word 1  │ number of the code                     │ first line                            │
//! word 2  │ bytes of the file's name               │ bytes of the qualified name           │
//! word 3  │ bytes of the line table kept           │ bytes of the line table there were    │
//!         ├────────────────────────────────────────┴───────────────────────────────────────┤
//! word 4… │ the file's name, the qualified name, the line table; each padded to whole words │
//!         └────────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! `kinds` holds the bytes a character of the file's name in its low four bits, those of the
//! qualified name in the next four. Text is as the interpreter keeps it: one, two or four bytes a
//! character. `minor` is the interpreter's minor version, which says how to read the line table.

/// Words before the texts.
pub const CODE_HEAD_WORDS: usize = 4;

/// The record kind in the top byte of word 0.
pub(crate) const KIND_CODE: u64 = 2;

/// The interpreter's encoding of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum TextKind {
    /// Latin-1 or ASCII: one byte a character.
    #[default]
    One = 1,
    /// Two bytes a character.
    Two = 2,
    /// Four bytes a character.
    Four = 4,
}

impl TextKind {
    pub(crate) fn from_code(code: u64) -> Option<Self> {
        [Self::One, Self::Two, Self::Four]
            .into_iter()
            .find(|kind| *kind as u64 == code)
    }
}

/// The numbers of a code record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CodeHead {
    /// The minor version: the `x` of CPython 3.x.
    pub minor: u8,
    /// The number that frames refer to, from 1.
    pub number: u32,
    /// The function's first line.
    pub first_line: i32,
    /// Encoding and bytes of the file's name.
    pub file: (TextKind, u32),
    /// Encoding and bytes of the qualified name.
    pub name: (TextKind, u32),
    /// Bytes of the line table that were kept.
    pub lines: u32,
    /// Bytes of the whole line table.
    pub lines_in_all: u32,
}

pub(crate) fn words_of(bytes: u32) -> usize {
    (bytes as usize).div_ceil(8)
}

impl CodeHead {
    /// Length of the record in words.
    pub fn words(&self) -> usize {
        CODE_HEAD_WORDS + words_of(self.file.1) + words_of(self.name.1) + words_of(self.lines)
    }

    /// The words that stand before the texts.
    pub fn to_words(&self) -> [u64; CODE_HEAD_WORDS] {
        let two = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        [
            KIND_CODE << 56
                | u64::from(self.minor) << 48
                | (self.name.0 as u64) << 36
                | (self.file.0 as u64) << 32
                | self.words() as u64,
            two(self.number, self.first_line as u32),
            two(self.file.1, self.name.1),
            two(self.lines, self.lines_in_all),
        ]
    }

    /// Reads the words back; `None` if they are not those of a code record.
    pub fn from_words(words: [u64; CODE_HEAD_WORDS]) -> Option<Self> {
        let [first, ids, texts, lines] = words;
        let head = Self {
            minor: (first >> 48) as u8,
            number: (ids >> 32) as u32,
            first_line: ids as u32 as i32,
            file: (TextKind::from_code(first >> 32 & 15)?, (texts >> 32) as u32),
            name: (TextKind::from_code(first >> 36 & 15)?, texts as u32),
            lines: (lines >> 32) as u32,
            lines_in_all: lines as u32,
        };
        (first >> 56 == KIND_CODE && first as u32 as usize == head.words()).then_some(head)
    }
}

/// Bytes that lie in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text<'a> {
    kind: TextKind,
    words: &'a [u64],
    bytes: usize,
}

impl<'a> Text<'a> {
    /// The first `bytes` bytes of `words`; `None` if there are fewer.
    pub(crate) fn new(kind: TextKind, words: &'a [u64], bytes: u32) -> Self {
        Self {
            kind,
            words,
            bytes: bytes as usize,
        }
    }

    /// The bytes.
    pub fn bytes(self) -> impl Iterator<Item = u8> + 'a {
        self.words
            .iter()
            .flat_map(|word| word.to_ne_bytes())
            .take(self.bytes)
    }

    /// The characters; invalid ones are replaced.
    pub fn characters(self) -> impl Iterator<Item = char> + 'a {
        let width = self.kind as usize;
        let words = self.words;
        let byte = move |at: usize| {
            let word = words.get(at / 8).copied().unwrap_or_default();
            u32::from(word.to_ne_bytes()[at % 8])
        };
        (0..self.bytes / width).map(move |index| {
            let code = (0..width)
                .rev()
                .fold(0, |code, part| code << 8 | byte(index * width + part));
            char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
        })
    }
}

/// A code object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code<'a> {
    /// The numbers of its record.
    pub head: CodeHead,
    /// The file that it was compiled from.
    pub file: Text<'a>,
    /// Its qualified name; before 3.11, its name.
    pub name: Text<'a>,
    /// Its line table, in the format of the interpreter's version.
    pub lines: Text<'a>,
}

impl<'a> Code<'a> {
    /// A code object from its head and the words behind it; `None` if their number differs from the
    /// head's.
    pub(crate) fn new(head: CodeHead, words: &'a [u64]) -> Option<Self> {
        let (file, words) = words.split_at_checked(words_of(head.file.1))?;
        let (name, lines) = words.split_at_checked(words_of(head.name.1))?;
        (lines.len() == words_of(head.lines)).then_some(Self {
            head,
            file: Text::new(head.file.0, file, head.file.1),
            name: Text::new(head.name.0, name, head.name.1),
            lines: Text::new(TextKind::One, lines, head.lines),
        })
    }
}
