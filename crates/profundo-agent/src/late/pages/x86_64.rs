//! x86-64: the kernel writes down the thread's base of `gs`, which no compiler uses.

use profundo_probe::sys;

/// Stores a word by the kernel, in one step. `false`: its page may not be written to. All signals
/// are blocked meanwhile.
pub(super) fn store_checked(address: usize, value: usize) -> bool {
    const SET_GS: usize = 0x1001;
    const GET_GS: usize = 0x1004;
    let ask = |what: usize, place: usize| {
        // SAFETY: the base of `gs` changes for a moment, and the kernel checks the address.
        unsafe { sys::call(libc::SYS_arch_prctl, [what, place, 0, 0, 0, 0]) == 0 }
    };
    let mut base = 0_usize;
    if !ask(GET_GS, &raw mut base as usize) || !ask(SET_GS, value) {
        return false;
    }
    let is_stored = ask(GET_GS, address);
    ask(SET_GS, base);
    is_stored
}
