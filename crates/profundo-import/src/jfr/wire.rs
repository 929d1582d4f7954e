//! The bytes of a chunk: numbers in LEB128 of at most nine bytes, strings in six encodings.

use std::borrow::Cow;

/// A place in a chunk. Reads beyond the end give `None`.
#[derive(Debug, Clone)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The steps that a value may still take, so that values of no bytes end too.
    fuel: u64,
}

impl<'a> Cursor<'a> {
    /// Reads from `at` on.
    pub(super) fn new(bytes: &'a [u8], at: usize) -> Self {
        let left = bytes.len().saturating_sub(at) as u64;
        Self {
            bytes,
            at,
            fuel: left.saturating_mul(4).saturating_add(1000),
        }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    /// Counts a step.
    pub(super) fn step(&mut self) -> Option<()> {
        self.fuel = self.fuel.checked_sub(1)?;
        Some(())
    }

    pub(super) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(length)?;
        let bytes = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(bytes)
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    /// A number: seven bits a byte, the lowest first; a ninth byte has eight.
    pub(super) fn number(&mut self) -> Option<u64> {
        let mut value = 0;
        for index in 0..8 {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << (7 * index);
            if byte < 0x80 {
                return Some(value);
            }
        }
        Some(value | u64::from(self.byte()?) << 56)
    }

    /// The number of things that follow.
    pub(super) fn count(&mut self) -> Option<u64> {
        let count = self.number()?;
        // Nothing is less than a byte, but for values without fields, of which one is enough.
        (count <= self.left() as u64).then_some(count)
    }

    pub(super) fn string(&mut self) -> Option<Text<'a>> {
        match self.byte()? {
            0 | 1 => Some(Text::Here(Cow::Borrowed(""))),
            2 => Some(Text::Pooled(self.number()?)),
            3 => {
                let length = self.count()?;
                let bytes = self.take(usize::try_from(length).ok()?)?;
                Some(Text::Here(String::from_utf8_lossy(bytes)))
            }
            4 => {
                let mut units = Vec::new();
                for _ in 0..self.count()? {
                    units.push(u16::try_from(self.number()?).unwrap_or(0xfffd));
                }
                Some(Text::Here(String::from_utf16_lossy(&units).into()))
            }
            5 => {
                let length = self.count()?;
                let bytes = self.take(usize::try_from(length).ok()?)?;
                Some(Text::Here(latin1(bytes)))
            }
            _ => None,
        }
    }
}

fn latin1(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if text.is_ascii() => Cow::Borrowed(text),
        _ => bytes.iter().map(|&byte| char::from(byte)).collect(),
    }
}

/// A string of a chunk.
#[derive(Debug, PartialEq)]
pub(super) enum Text<'a> {
    Here(Cow<'a, str>),
    /// The key of a string in the constant pool.
    Pooled(u64),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_at_most_nine_bytes() {
        let number = |bytes: &[u8]| Cursor::new(bytes, 0).number();
        assert_eq!(number(&[5]), Some(5));
        assert_eq!(number(&[0x85, 1]), Some(0x85));
        assert_eq!(number(&[0xff; 9]), Some(u64::MAX));
        assert_eq!(number(&[0xff; 8]), None);
    }

    #[test]
    fn strings_have_several_encodings() {
        fn string(bytes: &[u8]) -> Option<Text<'_>> {
            Cursor::new(bytes, 0).string()
        }
        let here = |text: &'static str| Some(Text::Here(Cow::Borrowed(text)));
        assert_eq!(string(&[0]), here(""));
        assert_eq!(string(&[2, 7]), Some(Text::Pooled(7)));
        assert_eq!(string(&[3, 2, 0xc3, 0xa4]), here("ä"));
        assert_eq!(string(&[4, 2, b'a', 0xe4, 1]), here("aä"));
        assert_eq!(string(&[5, 1, 0xe4]), here("ä"));
        assert_eq!(string(&[3, 9, b'a']), None);
    }
}
