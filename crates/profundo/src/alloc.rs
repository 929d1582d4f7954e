//! The allocator that reports its blocks to us.

use std::alloc::{GlobalAlloc, Layout, System};

use profundo_capture::heap::{self, Wanted};

/// An allocator around another one, through which allocations can be recorded
/// ([`allocs`](crate::allocs)) and counted ([`time!`](crate::time!)).
///
/// ```
/// #[global_allocator]
/// static ALLOC: profundo::Alloc = profundo::Alloc::system();
/// ```
///
/// While neither is in use, it reads one word per block and calls the inner allocator. Recorded
/// data is in memory mapped from the kernel, so the inner allocator serves none of our own
/// requests.
#[derive(Debug, Clone, Copy, Default)]
pub struct Alloc<A = System> {
    inner: A,
    wanted: Wanted,
}

impl Alloc {
    /// Wraps the system's allocator.
    pub const fn system() -> Self {
        Self::new(System)
    }
}

impl<A> Alloc<A> {
    /// Wraps another allocator, such as jemalloc or mimalloc.
    pub const fn new(inner: A) -> Self {
        Self {
            inner,
            wanted: Wanted::nothing(),
        }
    }

    /// Counts from the program's first allocation on, rather than from the first request: so
    /// [`allocs::live`](crate::allocs::live) and [`allocs::peak`](crate::allocs::peak) are the
    /// whole program's. It costs some nanoseconds per block, and more where many threads allocate
    /// at once.
    #[must_use]
    pub const fn counting(mut self) -> Self {
        self.wanted = self.wanted.or(Wanted::COUNTS);
        self
    }

    /// Follows every block from the program's first allocation on, with its size and allocation
    /// site, so that [`heap::snapshot`](crate::heap::snapshot) has them all. It costs about a
    /// microsecond per block, and half a byte to one byte of memory per byte in use, most where
    /// blocks are small.
    #[must_use]
    pub const fn following(mut self) -> Self {
        self.wanted = self.wanted.or(Wanted::BLOCKS);
        self
    }
}

// SAFETY: all blocks are the inner allocator's, by the layouts that we are given; our own
// bookkeeping allocates nothing, does not unwind, and does not touch the blocks.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Alloc<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: passed on.
        let block = unsafe { self.inner.alloc(layout) };
        if !block.is_null() {
            heap::allocated(self.wanted, block, layout.size());
        }
        block
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: passed on.
        let block = unsafe { self.inner.alloc_zeroed(layout) };
        if !block.is_null() {
            heap::allocated(self.wanted, block, layout.size());
        }
        block
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // Before the block is freed: another thread may be given the same address right after.
        heap::freeing(self.wanted, block, layout.size());
        // SAFETY: passed on.
        unsafe { self.inner.dealloc(block, layout) };
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let moving = heap::moving(self.wanted, block);
        // SAFETY: passed on.
        let moved = unsafe { self.inner.realloc(block, layout, new_size) };
        if moved.is_null() {
            heap::stayed(moving);
        } else {
            heap::moved(self.wanted, moving, layout.size(), moved, new_size);
        }
        moved
    }
}
