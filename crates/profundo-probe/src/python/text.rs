//! The interpreter's texts in words of a record.

use profundo_cpython::TextShape;
use profundo_wire::TextKind;

/// The number of words for so many bytes.
pub(super) fn words_of(bytes: u32) -> usize {
    (bytes as usize).div_ceil(8)
}

/// The first bytes of some words.
pub(super) fn as_bytes(words: &mut [u64], bytes: u32) -> &mut [u8] {
    let length = (bytes as usize).min(words.len() * 8);
    // SAFETY: the bytes are those of the words, which any bytes make.
    unsafe { core::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), length) }
}

/// The encoding of a text.
pub(super) fn kind_of(text: TextShape) -> TextKind {
    match text.width {
        1 => TextKind::One,
        2 => TextKind::Two,
        _ => TextKind::Four,
    }
}
