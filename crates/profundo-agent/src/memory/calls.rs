//! `malloc` and its family.
//!
//! Each function that hands out memory passes on where it was called from, and goes on in the function of the
//! same meaning below.

use core::ffi::{c_int, c_void};
use core::ptr;

use profundo_probe::heap::Caller;
use profundo_unwind::Regs;
use profundo_wire::Source;

use crate::memory::entry::{caller, counting_entries, entries, freeing_entries, go_on_in_real};
use crate::memory::exact::{allocated, exact};
use crate::memory::local::{Local, local};
use crate::memory::sampled::{Given, look};
use crate::memory::{ends, next_symbols};

type Block = *mut c_void;

// The functions of these names, as the program calls them.
counting_entries! {
    /// # Safety
    /// As for the function of the C library.
    #[unsafe(no_mangle)]
    pub malloc(1: "mov rax, rdi") => go_on_in_real!(), {
        addresses = sym next_symbols::ADDRESSES, place = const next_symbols::Name::malloc as usize * 8,
    }, malloc_seldom;
    /// # Safety
    /// As for the function of the C library.
    #[unsafe(no_mangle)]
    pub calloc(2: "mov rax, rdi\nmul rsi\njo 5f") => go_on_in_real!(), {
        addresses = sym next_symbols::ADDRESSES, place = const next_symbols::Name::calloc as usize * 8,
    }, calloc_seldom;
}

freeing_entries! {
    /// # Safety
    /// As for the function of the C library.
    #[unsafe(no_mangle)]
    pub free("rdi") => go_on_in_real!(), {
        addresses = sym next_symbols::ADDRESSES, place = const next_symbols::Name::free as usize * 8,
    }, free_seldom;
}

entries! {
    /// # Safety
    /// As for the function of the C library.
    #[unsafe(no_mangle)]
    pub valloc(1) => valloc_from;
    /// # Safety
    /// As for the function of the C library.
    #[unsafe(no_mangle)]
    pub pvalloc(1) => pvalloc_from;
    /// # Safety
    /// As for the function of the C library.
    #[unsafe(no_mangle)]
    pub realloc(2) => realloc_from;
    /// # Safety
    /// As for the function of the C library.
    #[unsafe(no_mangle)]
    pub memalign(2) => memalign_from;
    /// # Safety
    /// As for the function of the C library.
    #[unsafe(no_mangle)]
    pub aligned_alloc(2) => aligned_alloc_from;
    /// # Safety
    /// As for the function of the C library.
    #[unsafe(no_mangle)]
    pub reallocarray(3) => reallocarray_from;
    /// # Safety
    /// As for the function of the C library.
    #[unsafe(no_mangle)]
    pub posix_memalign(3) => posix_memalign_from;
}

/// Counts a block that was handed out while `left` was taken; it is looked at if it is its turn.
#[inline(always)]
pub(super) fn count(
    local: &Local,
    left: u64,
    (block, size, source): (Block, usize, Source),
    caller: impl FnOnce() -> Caller,
) {
    let size = size as u64;
    if size < left {
        return local.set(left - size);
    }
    let given = Given {
        address: block as u64,
        size,
        source,
        left,
    };
    let caller = caller();
    if exact().is_some() {
        let Regs { ip, sp, fp } = caller.registers;
        return allocated(local, &given, ip, sp, fp, caller.base);
    }
    look(local, given, caller);
}

/// Calls what hands out memory, with what it hands out counted.
#[inline(always)]
pub(super) fn counted(
    size: usize,
    source: Source,
    get: impl FnOnce() -> Block,
    caller: impl FnOnce() -> Caller,
) -> Block {
    let local = local();
    let left = local.take();
    let block = get();
    count(local, left, (block, size, source), caller);
    block
}

/// What the entries lead to.
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

/// Calls what makes another block of one. The old one is let go of before that: afterwards its place may be
/// another thread's.
#[inline(always)]
pub(super) fn resized(
    (old, size, source): (Block, usize, Source),
    get: impl FnOnce() -> Block,
    caller: impl FnOnce() -> Caller,
) -> Block {
    let local = local();
    let gone = ends::let_go(old as u64);
    let left = local.take();
    let block = get();
    if block.is_null() && size > 0 {
        // Nothing has changed.
        local.set(left);
        if let Some(gone) = gone {
            ends::put_back(old as u64, gone);
        }
        return block;
    }
    if let Some(gone) = gone {
        ends::tell(gone);
    }
    count(local, left, (block, size, source), caller);
    block
}

unsafe extern "C-unwind" fn realloc_from(
    old: Block,
    size: usize,
    stack: *const u64,
    frame: u64,
    base: u64,
) -> Block {
    if !ends::may_matter(old as u64)
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
    resized((old, size, Source::Native), get, caller)
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
    resized((old, all, Source::Native), get, caller)
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
