//! Memory of last resort: a few pages of our own, handed out and never taken back.
//!
//! No code in here allocates. But an allocation that slipped in must not end up in the program's
//! `malloc`, which may be replaced, half initialised, or locked by the thread that we run on.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering};

const BYTES: usize = 64 << 10;

#[repr(C, align(64))]
struct Arena {
    memory: UnsafeCell<[u8; BYTES]>,
    used: AtomicUsize,
}

// SAFETY: each byte is handed out once.
unsafe impl Sync for Arena {}

// SAFETY: the pieces do not overlap, are as large and aligned as asked, and stay for ever.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let base = self.memory.get().cast::<u8>();
        let taken = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                let end = start(base, used, layout)?.checked_add(layout.size())?;
                (end <= BYTES).then_some(end)
            });
        match taken.ok().and_then(|used| start(base, used, layout)) {
            Some(start) => base.wrapping_add(start),
            None => ptr::null_mut(),
        }
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

/// The offset of a new piece in the arena, of which `used` bytes are taken.
fn start(base: *mut u8, used: usize, layout: Layout) -> Option<usize> {
    let address = (base as usize).checked_add(used)?;
    let aligned = address.checked_next_multiple_of(layout.align())?;
    aligned.checked_sub(base as usize)
}

#[cfg_attr(not(test), global_allocator)]
#[cfg_attr(test, expect(dead_code, reason = "tests allocate as usual"))]
static ARENA: Arena = Arena {
    memory: UnsafeCell::new([0; BYTES]),
    used: AtomicUsize::new(0),
};
