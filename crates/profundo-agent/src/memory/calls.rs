//! `malloc` and its family.
//!
//! Each function that hands out memory begins with a few instructions that pass on where it was called from,
//! and jumps to the function of the same meaning below. So the stack that is told of begins with the program's
//! own frame, and nothing of ours has to be walked.

use core::arch::naked_asm;
use core::ffi::{c_int, c_void};
use core::ptr;

use profundo_probe::heap::Caller;
use profundo_unwind::Regs;
use profundo_wire::Source;

use crate::memory::local::{Local, local};
use crate::memory::sampled::{Given, look};
use crate::memory::{ends, real};

type Block = *mut c_void;

/// The function of this name, as the program calls it: it goes on in another one, which gets the caller's
/// registers as further arguments.
macro_rules! entry {
    ($($name:ident => $inner:path, $stack:literal, $frame:literal, $base:literal;)*) => {$(
        /// # Safety
        /// As for the function of the C library.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                concat!("mov ", $stack, ", rsp"),
                concat!("mov ", $frame, ", rbp"),
                concat!("mov ", $base, ", rbx"),
                "jmp {inner}",
                ".cfi_endproc",
                inner = sym $inner,
            )
        }
    )*};
}

entry! {
    malloc => malloc_from, "rsi", "rdx", "rcx";
    valloc => valloc_from, "rsi", "rdx", "rcx";
    pvalloc => pvalloc_from, "rsi", "rdx", "rcx";
    calloc => calloc_from, "rdx", "rcx", "r8";
    realloc => realloc_from, "rdx", "rcx", "r8";
    memalign => memalign_from, "rdx", "rcx", "r8";
    aligned_alloc => aligned_alloc_from, "rdx", "rcx", "r8";
    reallocarray => reallocarray_from, "rcx", "r8", "r9";
    posix_memalign => posix_memalign_from, "rcx", "r8", "r9";
}

/// What the entries pass on.
///
/// # Safety
/// They come from one of the entries, whose caller waits.
#[inline(always)]
pub(super) unsafe fn caller(stack: *const u64, frame: u64, base: u64) -> Caller {
    // SAFETY: the caller has pushed where it goes on.
    let ip = unsafe { *stack };
    let registers = Regs {
        ip,
        sp: stack as u64 + 8,
        fp: frame,
    };
    Caller { registers, base }
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
    look(local, given, caller());
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

/// What the entries lead to. Mostly nothing is to be done but to take the bytes off, and the real function is
/// jumped to.
macro_rules! from {
    ($($name:ident, $seldom:ident($($argument:ident: $type:ty),*) = $real:ident, $size:expr;)*) => {$(
        unsafe extern "C-unwind" fn $name(
            $($argument: $type,)*
            stack: *const u64,
            frame: u64,
            base: u64,
        ) -> Block {
            if local().may_pass($size as u64)
                && let Some(real) = real::$real()
            {
                // SAFETY: the program's own arguments.
                return unsafe { real($($argument),*) };
            }
            // SAFETY: as this is called.
            unsafe { $seldom($($argument,)* stack, frame, base) }
        }

        #[cold]
        #[inline(never)]
        unsafe extern "C-unwind" fn $seldom(
            $($argument: $type,)*
            stack: *const u64,
            frame: u64,
            base: u64,
        ) -> Block {
            let get = || match real::$real() {
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
    malloc_from, malloc_seldom(size: usize) = malloc, size;
    valloc_from, valloc_seldom(size: usize) = valloc, size;
    pvalloc_from, pvalloc_seldom(size: usize) = pvalloc, size;
    calloc_from, calloc_seldom(count: usize, size: usize) = calloc, count.saturating_mul(size);
    memalign_from, memalign_seldom(alignment: usize, size: usize) = memalign, size;
    aligned_alloc_from, aligned_alloc_seldom(alignment: usize, size: usize) = aligned_alloc, size;
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
    let gone = ends::given_back(old as u64);
    let left = local.take();
    let block = get();
    if block.is_null() && size > 0 {
        // Nothing has changed.
        local.set(left);
        if let Some(gone) = gone {
            ends::taken_back(old as u64, gone);
        }
        return block;
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
    let get = || match real::realloc() {
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
    let get = || match real::reallocarray() {
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
        let Some(real) = real::posix_memalign() else {
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

/// # Safety
/// As for `free`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn free(block: Block) {
    if !ends::may_matter(block as u64)
        && let Some(real) = real::free()
    {
        // SAFETY: the caller's argument, passed on.
        return unsafe { real(block) };
    }
    // SAFETY: as this is called.
    unsafe { free_seldom(block) };
}

#[cold]
#[inline(never)]
unsafe extern "C-unwind" fn free_seldom(block: Block) {
    ends::given_back(block as u64);
    if let Some(real) = real::free() {
        // SAFETY: the caller's argument, passed on.
        unsafe { real(block) };
    }
}
