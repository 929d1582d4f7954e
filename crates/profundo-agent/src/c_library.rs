//! The C library of the program: glibc or musl.
//!
//! One agent is for both. It is linked with glibc, and calls only what both have; the functions
//! that ours interpose are looked up by name, and may be missing. Here is where the two differ for
//! it otherwise.

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

/// What `system` returns where there is no shell.
pub fn status_without_shell() -> core::ffi::c_int {
    match is_musl() {
        true => -1,
        // As if the shell had ended so.
        false => 127 << 8,
    }
}
