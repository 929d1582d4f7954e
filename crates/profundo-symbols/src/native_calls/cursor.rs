//! A cursor over untrusted bytes: reads beyond their end give nothing.

/// Bytes, and the position in them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(count)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(*self.take(4)?.first_chunk()?))
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(*self.take(8)?.first_chunk()?))
    }

    /// A number in groups of seven bits, the lowest first.
    pub(super) fn leb(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = *self.take(1)?.first()?;
            number |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    /// Such a number as a length: no more than the remaining bytes.
    pub(super) fn count(&mut self) -> Option<usize> {
        let count = usize::try_from(self.leb()?).ok()?;
        (count <= self.bytes.len() - self.at).then_some(count)
    }

    /// Such a number that fits into fewer bits.
    pub(super) fn leb32(&mut self) -> Option<u32> {
        u32::try_from(self.leb()?).ok()
    }

    /// Skips to the next multiple of `to` bytes.
    pub(super) fn align(&mut self, to: usize) {
        self.at = self.at.next_multiple_of(to);
    }
}

/// Bytes that were written plainly, or compressed to `length` bytes if that is not 0.
pub(super) fn unpacked(bytes: &[u8], length: usize, is_packed: bool) -> Option<Vec<u8>> {
    /// No text is compressed better than this; a larger claim is wrong, and must not decide how
    /// much is allocated.
    const MAX_RATIO: usize = 1100;
    if !is_packed {
        return Some(bytes.get(..length)?.to_vec());
    }
    if length > bytes.len().saturating_mul(MAX_RATIO) {
        return None;
    }
    let mut unpacked = Vec::with_capacity(length);
    let mut decompress = flate2::Decompress::new(true);
    let flush = flate2::FlushDecompress::Finish;
    let status = decompress
        .decompress_vec(bytes, &mut unpacked, flush)
        .ok()?;
    (status == flate2::Status::StreamEnd && unpacked.len() == length).then_some(unpacked)
}
