//! aarch64: the kernel writes down the address of the thread's list of robust locks.

use profundo_probe::sys;

/// Stores a word by the kernel, in one step. `false`: its page may not be written to. All signals
/// are blocked meanwhile, so that the thread takes no lock; should it be killed, the kernel cannot
/// read such a list, and leaves it.
pub(super) fn store_checked(address: usize, value: usize) -> bool {
    /// The size of the head of such a list.
    const BYTES: usize = 24;
    let mut bytes = BYTES;
    let length = &raw mut bytes as usize;
    // SAFETY: the kernel checks the addresses that it writes to.
    let get = |place: usize| unsafe {
        sys::call(libc::SYS_get_robust_list, [0, place, length, 0, 0, 0]) == 0
    };
    // SAFETY: the list changes for a moment, in which the thread neither takes a lock nor ends.
    let set = |list: usize| unsafe {
        sys::call(libc::SYS_set_robust_list, [list, BYTES, 0, 0, 0, 0]) == 0
    };
    let mut before = 0_usize;
    if !get(&raw mut before as usize) || !set(value) {
        return false;
    }
    let is_stored = get(address);
    set(before);
    is_stored
}
