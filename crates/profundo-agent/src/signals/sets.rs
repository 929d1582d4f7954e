//! Sets of signals as the kernel knows them: eight bytes at the start of the C library's.

use core::mem::zeroed;

use libc::sigset_t;

/// The kernel's eight bytes of a set.
///
/// # Safety
/// The set is a valid one.
pub unsafe fn bits_of(set: *const sigset_t) -> u64 {
    // SAFETY: the caller vouches.
    unsafe { set.cast::<u64>().read_unaligned() }
}

/// The set of these signals.
pub fn set_of(bits: u64) -> sigset_t {
    // SAFETY: zeroed is an empty set, whose first eight bytes are the kernel's.
    unsafe {
        let mut set: sigset_t = zeroed();
        (&raw mut set).cast::<u64>().write_unaligned(bits);
        set
    }
}
