//! The source of the bytes that a walk reads.

/// Reads the memory of the process whose interpreter is walked.
pub trait Memory {
    /// The word at an address that is a multiple of eight; `None` if it cannot be read.
    fn word(&mut self, address: u64) -> Option<u64>;

    /// Copies bytes; false if not all of them can be read.
    fn bytes(&mut self, address: u64, out: &mut [u8]) -> bool;

    /// Says whether the next addresses come from memory that may have been half written. An
    /// implementation that trusts what was readable a moment ago must check again then.
    fn doubt(&mut self, _doubtful: bool) {}

    /// Says whether the next reads follow from earlier ones: from the contents of a code object
    /// that is known to be unchanged.
    fn implied(&mut self, _implied: bool) {}

    /// Says whether the next reads are of a code object, which several frames may share.
    #[inline]
    fn of_code(&mut self, _of_code: bool) {}

    /// Called when the walk comes to a frame. An observer that knows this frame and all outer ones
    /// ends the walk here, by `true`.
    #[inline]
    fn arrive(&mut self, _arrival: Arrival) -> bool {
        false
    }
}

/// The state of a walk that has come to a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// The address of the frame, of whatever kind.
    pub address: u64,
    /// The record of its evaluation loop, where frames do not say that: in 3.11.
    pub record: u64,
    /// Whether no frame of the same run was met before it.
    pub begins_run: bool,
    /// Whether the rest of the walk depends on this alone: not at a leaf that may be half pushed.
    pub is_whole: bool,
}

/// The address of a part at an offset.
#[inline]
pub(crate) fn at(address: u64, offset: u16) -> u64 {
    address.wrapping_add(u64::from(offset))
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
