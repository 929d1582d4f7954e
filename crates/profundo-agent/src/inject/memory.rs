//! Reading the interpreter's memory: where it is known to be mapped, in objects that something
//! holds, and where another interpreter may give it back meanwhile.

use core::sync::atomic::{AtomicU64, Ordering};

use profundo_cpython::{Layout, Memory};
use profundo_probe::sys;

/// By how much the head of this interpreter's objects is longer than usual.
static LONGER_HEAD: AtomicU64 = AtomicU64::new(0);

/// Notes the length of the head of this interpreter's objects. Called before any is looked at.
pub(super) fn note_head(layout: &Layout) {
    let longer = layout.field(0, 0);
    LONGER_HEAD.store(longer, Ordering::Relaxed);
}

/// The address of a field of an object, by its place in [`profundo_cpython::objects`].
#[inline]
pub fn field_at(object: u64, place: u64) -> u64 {
    object + LONGER_HEAD.load(Ordering::Relaxed) + place
}

/// A field of an object, by its place in [`profundo_cpython::objects`].
///
/// # Safety
/// It is an object of the interpreter's that has such a field.
#[inline]
pub unsafe fn field(object: u64, place: u64) -> u64 {
    // SAFETY: the caller vouches.
    unsafe { word(field_at(object, place)) }
}

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
