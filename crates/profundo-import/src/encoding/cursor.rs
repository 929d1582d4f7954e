//! A place in bytes that are read one value after another. Reads beyond the end give `None`.

/// A place in bytes.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The number of bytes before the place.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    pub(crate) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(length)?;
        let bytes = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(bytes)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        let [byte] = self.array()?;
        Some(byte)
    }

    /// A little-endian number.
    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    /// A little-endian number.
    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// A little-endian number.
    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// A number in LEB128: seven bits a byte, the lowest first. Bits beyond the 64th are left out.
    pub(crate) fn leb128(&mut self) -> Option<u64> {
        let mut value = 0;
        for index in 0..10 {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f).unbounded_shl(7 * index);
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// A number in LEB128 that fits into 32 bits.
    pub(crate) fn leb128_u32(&mut self) -> Option<u32> {
        u32::try_from(self.leb128()?).ok()
    }

    /// UTF-16 that ends with a zero.
    pub(crate) fn utf16_until_zero(&mut self) -> Option<String> {
        let (pairs, _) = self.bytes.get(self.at..)?.as_chunks::<2>();
        let length = pairs.iter().position(|pair| *pair == [0, 0])?;
        let units = pairs.get(..length)?.iter();
        let units = units.map(|&pair| u16::from_le_bytes(pair));
        let text = char::decode_utf16(units).map(|letter| letter.unwrap_or('\u{fffd}'));
        let text = text.collect();
        self.at += 2 * length + 2;
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_follow_one_another() {
        let bytes = [1, 2, 0, 0xe5, 0x8e, 0x26, b'a', 0, 0xe4, 0, 0, 0, 9];
        let mut cursor = Cursor::new(&bytes);
        assert_eq!(cursor.byte(), Some(1));
        assert_eq!(cursor.u16(), Some(2));
        assert_eq!(cursor.leb128(), Some(624_485));
        assert_eq!(cursor.utf16_until_zero().as_deref(), Some("aä"));
        assert_eq!((cursor.at(), cursor.left()), (12, 1));
        assert_eq!(cursor.u32(), None);
        assert_eq!(Cursor::new(&[0xff; 12]).leb128(), None);
    }
}
