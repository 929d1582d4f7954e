//! The bytes of a record, in the order of the machine that wrote them.

/// A piece of the file, read from its start.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bytes<'a> {
    rest: &'a [u8],
    /// Whether the largest byte of a number comes first.
    is_big: bool,
}

impl<'a> Bytes<'a> {
    pub(super) fn new(rest: &'a [u8], is_big: bool) -> Self {
        Self { rest, is_big }
    }

    pub(super) fn rest(self) -> &'a [u8] {
        self.rest
    }

    pub(super) fn take(&mut self, size: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(size)?;
        self.rest = rest;
        Some(taken)
    }

    pub(super) fn skip(&mut self, size: usize) -> Option<()> {
        self.take(size).map(drop)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        let bytes = self.take(2)?.try_into().ok()?;
        Some(match self.is_big {
            true => u16::from_be_bytes(bytes),
            false => u16::from_le_bytes(bytes),
        })
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        let bytes = self.take(4)?.try_into().ok()?;
        Some(match self.is_big {
            true => u32::from_be_bytes(bytes),
            false => u32::from_le_bytes(bytes),
        })
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        let bytes = self.take(8)?.try_into().ok()?;
        Some(match self.is_big {
            true => u64::from_be_bytes(bytes),
            false => u64::from_le_bytes(bytes),
        })
    }

    /// The text up to the first zero.
    pub(super) fn text(self) -> &'a [u8] {
        let end = memchr::memchr(0, self.rest).unwrap_or(self.rest.len());
        &self.rest[..end]
    }

    /// A text behind its length, which is padded.
    pub(super) fn counted_text(&mut self) -> Option<&'a [u8]> {
        let size = usize::try_from(self.u32()?).ok()?;
        let text = Bytes::new(self.take(size)?, self.is_big);
        Some(text.text())
    }
}

impl Bytes<'_> {
    /// Another piece of the same file.
    pub(super) fn of<'b>(self, rest: &'b [u8]) -> Bytes<'b> {
        Bytes::new(rest, self.is_big)
    }
}
