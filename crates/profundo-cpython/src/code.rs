//! The parts of a code object: its identity, and its name.

use crate::layout::Layout;
use crate::layout::objects::{bytes, object, text};
use crate::memory::{Memory, half};

/// The identity of a code object, which distinguishes it from a former one at the same address.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct CodeKey {
    /// The address of the code object.
    pub address: u64,
    /// The address of its line table.
    pub lines: u64,
    /// The length of the line table.
    pub lines_length: u64,
    /// The first bytes of the line table.
    pub lines_begin: u64,
    /// The line that the function begins on.
    pub first_line: u32,
    /// The address of its name.
    pub name: u64,
}

impl CodeKey {
    /// The key in a word. Two different ones collide once in 2^64.
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

/// The identity of a code object.
#[inline]
pub fn code_key(layout: &Layout, memory: &mut impl Memory, code: u64) -> Option<CodeKey> {
    let at = |offset: u16| code.wrapping_add(u64::from(offset));
    let lines = memory.word(at(layout.code.lines))?;
    let lines_length = memory.word(layout.field(lines, object::SIZE))?;
    let lines_begin = memory.word(layout.field(lines, bytes::FIRST))?;
    Some(CodeKey {
        address: code,
        lines,
        lines_length,
        // There may be anything behind the end.
        lines_begin: match lines_length {
            0 => 0,
            1..8 => lines_begin & ((1 << (lines_length * 8)) - 1),
            _ => lines_begin,
        },
        first_line: half(memory, at(layout.code.first_line))?,
        name: memory.word(at(layout.code.name))?,
    })
}

/// The characters of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TextShape {
    /// The address of the first one.
    pub address: u64,
    /// Their length in bytes.
    pub bytes: u32,
    /// Bytes a character: 1, 2 or 4.
    pub width: u8,
}

/// The places of those parts of a code object that are worth keeping.
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

/// Longer ones are taken for damaged.
const LONGEST_TEXT: u64 = 1 << 20;
const LONGEST_TABLE: u64 = 1 << 28;

/// The characters of a text, if an object is one.
pub fn text(layout: &Layout, memory: &mut impl Memory, object: u64) -> Option<TextShape> {
    let length = memory.word(layout.field(object, text::LENGTH))?;
    let state = half(memory, layout.field(object, text::STATE))?;
    let (width, is_compact, is_ascii) = layout.objects.form_of_text(state);
    if is_compact == 0 || !matches!(width, 1 | 2 | 4) || length > LONGEST_TEXT {
        return None;
    }
    let head = if is_ascii == 1 {
        layout.objects.ascii_head
    } else {
        layout.objects.text_head
    };
    Some(TextShape {
        address: object.wrapping_add(u64::from(head)),
        bytes: length as u32 * width,
        width: width as u8,
    })
}

/// The places of the parts of a code object.
pub fn code_shape(layout: &Layout, memory: &mut impl Memory, key: &CodeKey) -> Option<CodeShape> {
    let file = key.address.wrapping_add(u64::from(layout.code.file));
    let file = memory.word(file)?;
    let lines = TextShape {
        address: layout.field(key.lines, bytes::FIRST),
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
