//! The system's allocator, which counts requests by thread, and can be made to fail.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{Ordering, compiler_fence};

#[derive(Debug)]
pub struct Oracle;

/// Counts of requests. A resized block counts again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Asked {
    pub count: u64,
    pub bytes: u64,
    pub freed: u64,
    pub freed_bytes: u64,
}

thread_local! {
    static ASKED: Cell<Asked> = const {
        Cell::new(Asked { count: 0, bytes: 0, freed: 0, freed_bytes: 0 })
    };
    static FAILS: Cell<bool> = const { Cell::new(false) };
}

/// The requests of the calling thread so far.
pub fn asked() -> Asked {
    compiler_fence(Ordering::SeqCst);
    let asked = ASKED.get();
    compiler_fence(Ordering::SeqCst);
    asked
}

/// The requests of the calling thread since then.
pub fn asked_since(before: Asked) -> Asked {
    let now = asked();
    Asked {
        count: now.count - before.count,
        bytes: now.bytes - before.bytes,
        freed: now.freed - before.freed,
        freed_bytes: now.freed_bytes - before.freed_bytes,
    }
}

/// Whether the calling thread's next requests fail.
pub fn set_failing(fails: bool) {
    // The compiler assumes that an allocator reads none of the program's data, and would set this
    // later.
    compiler_fence(Ordering::SeqCst);
    FAILS.set(fails);
    compiler_fence(Ordering::SeqCst);
}

fn given(block: *mut u8, size: usize) -> *mut u8 {
    if !block.is_null() {
        let mut asked = ASKED.get();
        asked.count += 1;
        asked.bytes += size as u64;
        ASKED.set(asked);
    }
    block
}

fn taken(size: usize) {
    let mut asked = ASKED.get();
    asked.freed += 1;
    asked.freed_bytes += size as u64;
    ASKED.set(asked);
}

// SAFETY: the blocks are the system's; only cells are changed besides.
unsafe impl GlobalAlloc for Oracle {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if FAILS.get() {
            return std::ptr::null_mut();
        }
        // SAFETY: passed on.
        given(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if FAILS.get() {
            return std::ptr::null_mut();
        }
        // SAFETY: passed on.
        given(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        taken(layout.size());
        // SAFETY: passed on.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if FAILS.get() {
            return std::ptr::null_mut();
        }
        // SAFETY: passed on.
        let moved = unsafe { System.realloc(block, layout, new_size) };
        if !moved.is_null() {
            taken(layout.size());
        }
        given(moved, new_size)
    }
}
