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

    /// Says whether the next reads are of a code object, which several frames may share.
    #[inline]
    fn of_code(&mut self, _of_code: bool) {}

    /// The walk comes to a frame. An observer that knows this frame and all outer ones ends the walk here.
    #[inline]
    fn arrive(&mut self, _arrival: Arrival) -> bool {
        false
    }
}

/// The state of a walk that has come to a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// The frame, of whatever kind it is.
    pub address: u64,
    /// The record of the loop that it belongs to, where frames say nothing of it: in 3.11.
    pub record: u64,
    /// Whether no frame of the same run was met before it.
    pub begins_run: bool,
    /// Whether that is all that the way depends on: not at a leaf that may be half pushed.
    pub is_whole: bool,
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
