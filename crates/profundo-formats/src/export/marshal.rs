//! The part of Python's `marshal` that a table of calls needs, in the form of version 4, which
//! every Python 3 reads.
//!
//! A repeated text is a number: that of its first occurrence among all marked ones.

use rustc_hash::FxHashMap;

/// The mark of a value that later ones may refer to.
const MARKED: u8 = 0x80;

/// Values in the making.
#[derive(Debug, Default)]
pub(super) struct Marshal {
    pub bytes: Vec<u8>,
    texts: FxHashMap<String, u32>,
}

impl Marshal {
    /// Starts a dictionary: keys and values follow in turn, up to [`Marshal::end_dict`].
    pub(super) fn dict(&mut self) {
        self.bytes.push(b'{');
    }

    pub(super) fn end_dict(&mut self) {
        self.bytes.push(b'0');
    }

    /// Starts a tuple: its values follow.
    pub(super) fn tuple(&mut self, values: u8) {
        self.bytes.extend([b')', values]);
    }

    pub(super) fn int(&mut self, number: u64) {
        if let Ok(small) = i32::try_from(number) {
            self.bytes.push(b'i');
            self.bytes.extend(small.to_le_bytes());
            return;
        }
        // Digits of 15 bits, the lowest first.
        let digits = (u64::BITS - number.leading_zeros()).div_ceil(15);
        self.bytes.push(b'l');
        self.bytes.extend(digits.to_le_bytes());
        for at in 0..digits {
            let digit = (number >> (15 * at)) & 0x7fff;
            self.bytes.extend((digit as u16).to_le_bytes());
        }
    }

    pub(super) fn float(&mut self, number: f64) {
        self.bytes.push(b'g');
        self.bytes.extend(number.to_le_bytes());
    }

    pub(super) fn text(&mut self, text: &str) {
        if let Some(known) = self.texts.get(text) {
            self.bytes.push(b'r');
            self.bytes.extend(known.to_le_bytes());
            return;
        }
        let number = u32::try_from(self.texts.len()).expect("fewer than 2^32 names");
        self.texts.insert(text.to_owned(), number);
        match u8::try_from(text.len()) {
            Ok(length) if text.is_ascii() => self.bytes.extend([b'z' | MARKED, length]),
            _ => {
                let length = u32::try_from(text.len()).expect("a name is shorter than 4 GB");
                self.bytes.push(b'u' | MARKED);
                self.bytes.extend(length.to_le_bytes());
            }
        }
        self.bytes.extend(text.as_bytes());
    }
}
