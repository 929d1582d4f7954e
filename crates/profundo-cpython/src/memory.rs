//! Where a walk gets its bytes from.

/// Reads the memory of the process whose interpreter is walked.
pub trait Memory {
    /// The word at an address that is a multiple of eight; `None` if it cannot be read.
    fn word(&mut self, address: u64) -> Option<u64>;

    /// Copies bytes; false if not all of them can be read.
    fn bytes(&mut self, address: u64, out: &mut [u8]) -> bool;

    /// Says whether the addresses to come were taken from something that may have been half
    /// written. Whoever trusts what was readable a moment ago must look again then.
    fn doubt(&mut self, _doubtful: bool) {}

    /// Says whether what is read from now on follows from what was read before: what a code object says
    /// that is known to be the one that it was.
    fn implied(&mut self, _implied: bool) {}
}

/// The 32 bits at an address that is a multiple of four.
#[inline]
pub(crate) fn half(memory: &mut impl Memory, address: u64) -> Option<u32> {
    let word = memory.word(address & !7)?;
    Some((word >> ((address & 4) * 8)) as u32)
}

/// The byte at an address.
#[inline]
pub(crate) fn byte(memory: &mut impl Memory, address: u64) -> Option<u8> {
    let word = memory.word(address & !7)?;
    Some((word >> ((address & 7) * 8)) as u8)
}
