//! Our allocators of an interpreter: what is counted at each call, and the allocators before them.

use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::mem::{MaybeUninit, offset_of};
use core::sync::atomic::Ordering;

use profundo_wire::Source;

use super::{Block, chain};
use crate::machine::{bytes_second_if_small, go_on_in_before};
use crate::memory::counting::{counted, resized};
use crate::memory::ends;
use crate::memory::entry::{caller, counting_entries, entries, freeing_entries};
use crate::memory::local::local;

pub(super) type Malloc = unsafe extern "C-unwind" fn(*mut c_void, usize) -> Block;
pub(super) type Calloc = unsafe extern "C-unwind" fn(*mut c_void, usize, usize) -> Block;
pub(super) type Free = unsafe extern "C-unwind" fn(*mut c_void, Block);
pub(super) type Realloc = unsafe extern "C-unwind" fn(*mut c_void, Block, usize) -> Block;

/// `PyMemAllocatorEx`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Allocator {
    pub context: *mut c_void,
    pub malloc: Malloc,
    pub calloc: Calloc,
    pub realloc: Realloc,
    pub free: Free,
}

/// `PYMEM_DOMAIN_MEM` and `PYMEM_DOMAIN_OBJ`. Memory outside of both is `malloc`'s.
pub(super) const DOMAINS: [c_int; 2] = [1, 2];

/// The allocators that were there before ours, in the order of [`DOMAINS`].
pub(super) struct Before(UnsafeCell<MaybeUninit<[Allocator; DOMAINS.len()]>>);

// SAFETY: written before the interpreter has ours.
unsafe impl Sync for Before {}

pub(super) static BEFORE: Before = Before(UnsafeCell::new(MaybeUninit::uninit()));

impl Before {
    /// The place of a domain's.
    #[inline(always)]
    pub(super) fn of(&self, domain: usize) -> *mut Allocator {
        debug_assert!(domain < DOMAINS.len());
        self.0.get().cast::<Allocator>().wrapping_add(domain)
    }
}

/// Blocks larger than this come from `malloc`, by the interpreter's allocator for small blocks.
const SMALL: usize = 512;

/// The allocator of a domain: four functions, and one that lists them.
macro_rules! allocator {
    ($domain:literal: $malloc:ident, $calloc:ident, $realloc:ident, $free:ident) => {
        counting_entries! {
            $malloc(2: bytes_second_if_small!()) => go_on_in_before!(), {
                small = const SMALL,
                before = sym BEFORE,
                at = const $domain * size_of::<Allocator>(),
                function = const offset_of!(Allocator, malloc),
                context = const offset_of!(Allocator, context),
            }, malloc_from::<$domain>;
        }

        freeing_entries! {
            $free(second) => go_on_in_before!(), {
                before = sym BEFORE,
                at = const $domain * size_of::<Allocator>(),
                function = const offset_of!(Allocator, free),
                context = const offset_of!(Allocator, context),
            }, free_from::<$domain>;
        }

        entries! {
            $calloc(3) => calloc_from::<$domain>;
            $realloc(3) => realloc_from::<$domain>;
        }
    };
}

allocator!(0: malloc_mem, calloc_mem, realloc_mem, free_mem);
allocator!(1: malloc_object, calloc_object, realloc_object, free_object);

/// Our allocator of a domain, with the context of the one before.
pub(super) fn ours(domain: usize, context: *mut c_void) -> Allocator {
    let [malloc, calloc, realloc, free] = match domain {
        0 => [malloc_mem, calloc_mem, realloc_mem, free_mem],
        _ => [malloc_object, calloc_object, realloc_object, free_object],
    }
    .map(|function: unsafe extern "C" fn()| function as *const ());
    // SAFETY: the entries pass these arguments on, and continue in functions that take them.
    unsafe {
        Allocator {
            context,
            malloc: core::mem::transmute::<*const (), Malloc>(malloc),
            calloc: core::mem::transmute::<*const (), Calloc>(calloc),
            realloc: core::mem::transmute::<*const (), Realloc>(realloc),
            free: core::mem::transmute::<*const (), Free>(free),
        }
    }
}

/// The allocator before ours.
///
/// # Safety
/// It was written before ours were installed.
#[inline(always)]
unsafe fn before<const DOMAIN: usize>() -> Allocator {
    // SAFETY: the caller vouches.
    unsafe { BEFORE.of(DOMAIN).read() }
}

unsafe extern "C-unwind" fn malloc_from<const DOMAIN: usize>(
    _: *mut c_void,
    size: usize,
    stack: *const u64,
    frame: u64,
    base: u64,
) -> Block {
    // SAFETY: ours are called, so they were installed.
    let before = unsafe { before::<DOMAIN>() };
    // SAFETY: the arguments are the interpreter's.
    let get = || unsafe { (before.malloc)(before.context, size) };
    if chain::IS_ASKED.load(Ordering::Relaxed) {
        chain::answer();
        return get();
    }
    // SAFETY: this is called by an entry.
    let caller = || unsafe { caller(stack, frame, base) };
    counted(size, Source::Python, get, caller)
}

unsafe extern "C-unwind" fn calloc_from<const DOMAIN: usize>(
    _: *mut c_void,
    many: usize,
    size: usize,
    stack: *const u64,
    frame: u64,
    base: u64,
) -> Block {
    // SAFETY: as above.
    let before = unsafe { before::<DOMAIN>() };
    // SAFETY: as above.
    let get = || unsafe { (before.calloc)(before.context, many, size) };
    // SAFETY: this is called by an entry.
    let caller = || unsafe { caller(stack, frame, base) };
    counted(many.saturating_mul(size), Source::Python, get, caller)
}

unsafe extern "C-unwind" fn realloc_from<const DOMAIN: usize>(
    _: *mut c_void,
    old: Block,
    size: usize,
    stack: *const u64,
    frame: u64,
    base: u64,
) -> Block {
    // SAFETY: as above.
    let before = unsafe { before::<DOMAIN>() };
    // SAFETY: as above.
    let get = || unsafe { (before.realloc)(before.context, old, size) };
    // SAFETY: this is called by an entry.
    let caller = || unsafe { caller(stack, frame, base) };
    resized(old, size, Source::Python, get, caller)
}

unsafe extern "C-unwind" fn free_from<const DOMAIN: usize>(_: *mut c_void, block: Block) {
    ends::freed(block as u64);
    let local = local();
    let left = local.take();
    // SAFETY: as above.
    unsafe {
        let before = before::<DOMAIN>();
        (before.free)(before.context, block);
    }
    local.set(left);
}
