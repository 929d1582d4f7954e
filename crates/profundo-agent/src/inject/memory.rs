//! Reading the interpreter's memory where it is known to be mapped: in objects that something
//! holds.

use profundo_cpython::Memory;

/// A word of the interpreter's.
///
/// # Safety
/// The word at `address` is mapped.
#[inline]
pub unsafe fn word(address: u64) -> u64 {
    // SAFETY: the caller vouches.
    unsafe { (address as *const u64).read_unaligned() }
}

/// Memory that is known to be mapped.
pub struct There;

impl Memory for There {
    fn word(&mut self, address: u64) -> Option<u64> {
        // SAFETY: only parts of objects that something holds are asked for.
        Some(unsafe { word(address) })
    }

    fn bytes(&mut self, address: u64, out: &mut [u8]) -> bool {
        // SAFETY: as above.
        unsafe { (address as *const u8).copy_to_nonoverlapping(out.as_mut_ptr(), out.len()) };
        true
    }
}
