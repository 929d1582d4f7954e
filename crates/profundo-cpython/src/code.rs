//! What a code object says: who it is, and what it is called.

use crate::layout::Layout;
use crate::memory::{Memory, half};

/// Of the length and the first byte in an object of bytes.
const BYTES_LENGTH: u64 = 16;
const BYTES: u64 = 32;
/// Of the length and the kind in a text.
const TEXT_LENGTH: u64 = 16;
const TEXT_STATE: u64 = 32;

/// What tells a code object from any that was at its address before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct CodeKey {
    /// Where it lies.
    pub address: u64,
    /// Where its line table lies.
    pub lines: u64,
    /// How long that is.
    pub lines_length: u64,
    /// What it begins with.
    pub lines_begin: u64,
    /// The line that the function begins on.
    pub first_line: u32,
    /// Where its name lies.
    pub name: u64,
}

impl CodeKey {
    /// All of it in a word. Two different ones share it once in 2^64.
    pub fn hash(&self) -> u64 {
        /// An odd number with no pattern in it.
        const MIX: u64 = 0x9E37_79B9_7F4A_7C15;
        let parts = [
            self.lines,
            self.lines_length,
            self.lines_begin,
            u64::from(self.first_line),
            self.name,
        ];
        let hash = parts.iter().fold(self.address, |hash, part| {
            let product = u128::from(hash ^ part ^ MIX) * u128::from(MIX);
            (product as u64) ^ (product >> 64) as u64 ^ hash.rotate_left(23)
        });
        hash ^ hash >> 29
    }
}

/// Who a code object is.
#[inline]
pub fn code_key(layout: &Layout, memory: &mut impl Memory, code: u64) -> Option<CodeKey> {
    let at = |offset: u16| code.wrapping_add(u64::from(offset));
    let lines = memory.word(at(layout.lines))?;
    let lines_length = memory.word(lines.wrapping_add(BYTES_LENGTH))?;
    let lines_begin = memory.word(lines.wrapping_add(BYTES))?;
    Some(CodeKey {
        address: code,
        lines,
        lines_length,
        // Behind the end may be anything.
        lines_begin: match lines_length {
            0 => 0,
            1..8 => lines_begin & ((1 << (lines_length * 8)) - 1),
            _ => lines_begin,
        },
        first_line: half(memory, at(layout.first_line))?,
        name: memory.word(at(layout.name))?,
    })
}

/// Where the characters of a text lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TextShape {
    /// The first one.
    pub address: u64,
    /// How many bytes they are.
    pub bytes: u32,
    /// Bytes a character: 1, 2 or 4.
    pub width: u8,
}

/// Where the parts of a code object lie that are worth keeping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CodeShape {
    /// The line of the function's beginning.
    pub first_line: i32,
    /// The file that it was compiled from.
    pub file: TextShape,
    /// Its qualified name; before 3.11, its name.
    pub name: TextShape,
    /// Its line table, one byte a character.
    pub lines: TextShape,
}

/// Longer ones are no such thing.
const LONGEST_TEXT: u64 = 1 << 20;
const LONGEST_TABLE: u64 = 1 << 28;

/// Where the characters of a text lie, if an object is one.
pub fn text(layout: &Layout, memory: &mut impl Memory, object: u64) -> Option<TextShape> {
    let length = memory.word(object.wrapping_add(TEXT_LENGTH))?;
    let state = half(memory, object.wrapping_add(TEXT_STATE))?;
    let (width, is_compact, is_ascii) = (state >> 2 & 7, state >> 5 & 1, state >> 6 & 1);
    if is_compact == 0 || !matches!(width, 1 | 2 | 4) || length > LONGEST_TEXT {
        return None;
    }
    let head = if is_ascii == 1 {
        layout.ascii_head
    } else {
        layout.text_head
    };
    Some(TextShape {
        address: object.wrapping_add(u64::from(head)),
        bytes: length as u32 * width,
        width: width as u8,
    })
}

/// Where the parts of a code object lie.
pub fn code_shape(layout: &Layout, memory: &mut impl Memory, key: &CodeKey) -> Option<CodeShape> {
    let file = key.address.wrapping_add(u64::from(layout.file));
    let file = memory.word(file)?;
    let lines = TextShape {
        address: key.lines.wrapping_add(BYTES),
        bytes: u32::try_from(key.lines_length)
            .ok()
            .filter(|&length| u64::from(length) <= LONGEST_TABLE)?,
        width: 1,
    };
    Some(CodeShape {
        first_line: key.first_line as i32,
        file: text(layout, memory, file)?,
        name: text(layout, memory, key.name)?,
        lines,
    })
}
