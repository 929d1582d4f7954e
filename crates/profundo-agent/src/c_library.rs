//! The C library of the program: glibc or musl.
//!
//! One agent is for both. It is linked with glibc, and calls only what both have; the functions
//! that ours interpose are looked up by name, and may be missing. Here is where the two differ for
//! it otherwise.

use core::ffi::c_int;
use core::mem::MaybeUninit;
use core::ptr;

use libc::pthread_attr_t;

use crate::next_symbols;

/// True if the program has musl. A layer that makes musl look like glibc may be there, too: so it
/// is known by a function of its own loader.
pub fn is_musl() -> bool {
    next_symbols::__dls3().is_some()
}

/// True if the loader passes the program's arguments to constructors.
pub fn passes_arguments() -> bool {
    !is_musl()
}

/// True if functions of the allocator may call others of it by their public names: `calloc` calls
/// `malloc`, which is ours.
pub fn allocator_calls_us() -> bool {
    is_musl()
}

/// True if `signal` sets an action that blocks the signal itself.
pub fn signal_masks_itself() -> bool {
    !is_musl()
}

/// The attributes of a new thread with a stack that our handler fits on, if it does not: musl
/// permits two kilobytes, and what the kernel puts there for a signal may be more. `None`: they can
/// stay as they are, or the stack is the program's own.
///
/// # Safety
/// Null, or valid attributes.
pub unsafe fn with_room_for_handlers(attributes: *const pthread_attr_t) -> Option<pthread_attr_t> {
    /// About the least that glibc permits.
    const ENOUGH: usize = 32 << 10;
    if attributes.is_null() || !is_musl() {
        return None;
    }
    let (size_of, set_size, stack_of) = (
        next_symbols::pthread_attr_getstacksize()?,
        next_symbols::pthread_attr_setstacksize()?,
        next_symbols::pthread_attr_getstack()?,
    );
    let (mut size, mut own, mut own_size) = (0, ptr::null_mut(), 0);
    let mut wider = MaybeUninit::<pthread_attr_t>::uninit();
    // SAFETY: the attributes are the caller's, plain words that a copy shares nothing with; all
    // other places are ours.
    unsafe {
        let is_small = size_of(attributes, &mut size) == 0 && size < ENOUGH;
        if !is_small || stack_of(attributes, &mut own, &mut own_size) == 0 {
            return None;
        }
        wider.write(attributes.read());
        (set_size(wider.as_mut_ptr(), ENOUGH) == 0).then(|| wider.assume_init())
    }
}

/// What `system` returns where there is no shell.
pub fn status_without_shell() -> c_int {
    match is_musl() {
        true => -1,
        // As if the shell had ended so.
        false => 127 << 8,
    }
}
