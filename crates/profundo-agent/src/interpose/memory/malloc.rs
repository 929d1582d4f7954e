//! `malloc` and its family.
//!
//! Each function that allocates passes on its caller's registers, and continues in the function of
//! the same meaning below.

use core::ffi::{c_int, c_void};
use core::ptr;

use profundo_wire::Source;

use crate::machine::{bytes_first, bytes_product, go_on_in_real};
use crate::memory::counting::{counted, resized};
use crate::memory::entry::{caller, counting_entries, entries, freeing_entries};
use crate::memory::local::local;
use crate::memory::state::{IS_NESTED, is_exact, is_nested};
use crate::memory::{ends, next_symbols};

type Block = *mut c_void;

// The functions of these names, as the program calls them.
counting_entries! {
    export
    malloc(1: bytes_first!()) => go_on_in_real!(), {
        addresses = sym next_symbols::ADDRESSES, place = const next_symbols::Name::malloc as usize * 8,
    }, malloc_seldom;
    calloc(2: bytes_product!()) => go_on_in_real!(), {
        nested = sym IS_NESTED,
        addresses = sym next_symbols::ADDRESSES, place = const next_symbols::Name::calloc as usize * 8,
    }, calloc_seldom;
}

freeing_entries! {
    export
    free(first) => go_on_in_real!(), {
        addresses = sym next_symbols::ADDRESSES, place = const next_symbols::Name::free as usize * 8,
    }, free_seldom;
}

entries! {
    export
    valloc(1) => valloc_from;
    pvalloc(1) => pvalloc_from;
    realloc(2) => realloc_from;
    memalign(2) => memalign_from;
    aligned_alloc(2) => aligned_alloc_from;
    reallocarray(3) => reallocarray_from;
    posix_memalign(3) => posix_memalign_from;
}

/// The functions that the entries continue in.
macro_rules! from {
    ($($name:ident($($argument:ident: $type:ty),*) = $real:ident, $size:expr;)*) => {$(
        unsafe extern "C-unwind" fn $name(
            $($argument: $type,)*
            stack: *const u64,
            frame: u64,
            base: u64,
        ) -> Block {
            let get = || match next_symbols::$real() {
                // SAFETY: the program's own arguments.
                Some(real) => unsafe { real($($argument),*) },
                None => ptr::null_mut(),
            };
            // SAFETY: this is called by an entry.
            counted($size, Source::Native, get, || unsafe { caller(stack, frame, base) })
        }
    )*};
}

from! {
    malloc_seldom(size: usize) = malloc, size;
    valloc_from(size: usize) = valloc, size;
    pvalloc_from(size: usize) = pvalloc, size;
    calloc_seldom(count: usize, size: usize) = calloc, count.saturating_mul(size);
    memalign_from(alignment: usize, size: usize) = memalign, size;
    aligned_alloc_from(alignment: usize, size: usize) = aligned_alloc, size;
}

unsafe extern "C-unwind" fn realloc_from(
    old: Block,
    size: usize,
    stack: *const u64,
    frame: u64,
    base: u64,
) -> Block {
    if !ends::may_matter(old as u64)
        && !is_exact()
        && !is_nested()
        && local().may_pass(size as u64)
        && let Some(real) = next_symbols::realloc()
    {
        // SAFETY: the program's own arguments.
        return unsafe { real(old, size) };
    }
    let get = || match next_symbols::realloc() {
        // SAFETY: the program's own arguments.
        Some(real) => unsafe { real(old, size) },
        None => ptr::null_mut(),
    };
    // SAFETY: this is called by an entry.
    let caller = || unsafe { caller(stack, frame, base) };
    resized(old, size, Source::Native, get, caller)
}

unsafe extern "C-unwind" fn reallocarray_from(
    old: Block,
    count: usize,
    size: usize,
    stack: *const u64,
    frame: u64,
    base: u64,
) -> Block {
    let get = || match next_symbols::reallocarray() {
        // SAFETY: the program's own arguments.
        Some(real) => unsafe { real(old, count, size) },
        None => ptr::null_mut(),
    };
    // SAFETY: this is called by an entry.
    let caller = || unsafe { caller(stack, frame, base) };
    let all = count.saturating_mul(size);
    resized(old, all, Source::Native, get, caller)
}

unsafe extern "C-unwind" fn posix_memalign_from(
    out: *mut Block,
    alignment: usize,
    size: usize,
    stack: *const u64,
    frame: u64,
    base: u64,
) -> c_int {
    let mut result = libc::ENOMEM;
    let get = || {
        let Some(real) = next_symbols::posix_memalign() else {
            return ptr::null_mut();
        };
        // SAFETY: the program's own arguments; where it succeeds it has written a block.
        unsafe {
            result = real(out, alignment, size);
            if result == 0 { *out } else { ptr::null_mut() }
        }
    };
    // SAFETY: this is called by an entry.
    let caller = || unsafe { caller(stack, frame, base) };
    counted(size, Source::Native, get, caller);
    result
}

#[inline(never)]
unsafe extern "C-unwind" fn free_seldom(block: Block) {
    ends::freed(block as u64);
    if let Some(real) = next_symbols::free() {
        // SAFETY: the caller's argument, passed on.
        unsafe { real(block) };
    }
}
