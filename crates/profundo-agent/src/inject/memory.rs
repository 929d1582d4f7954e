//! Reading the interpreter's memory: where it is known to be mapped, in objects that something
//! holds, and where another interpreter may give it back meanwhile.

use profundo_cpython::Memory;
use profundo_probe::sys;

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

/// Memory of an interpreter whose lock is not held. The kernel says whether it is still there.
pub struct Checked;

impl Memory for Checked {
    fn word(&mut self, address: u64) -> Option<u64> {
        address.is_multiple_of(8).then(|| sys::read_word(address))?
    }

    fn bytes(&mut self, address: u64, out: &mut [u8]) -> bool {
        sys::copy_checked(address, out) == out.len()
    }
}
