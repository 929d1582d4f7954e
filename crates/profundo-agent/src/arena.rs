//! Memory of last resort: a few pages of our own, handed out and never taken back.
//!
//! No code in here allocates. But an allocation that slipped in must not end up in the program's
//! `malloc`, which may be replaced, half initialised, or locked by the thread that we run on.
//!
//! One piece of work is meant to allocate: a process that compiles unwind tables by itself. It gets
//! a room of its own, and all of it goes when that is done ([`with_room`]).

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::ptr;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use profundo_probe::regs;

use crate::files;

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
        if ROOM.is_ours() {
            return ROOM.take(layout);
        }
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

/// The room of a thread's piece of work. Only that thread uses it.
struct Room {
    /// The thread's own pointer; 0: no thread has a room.
    thread: AtomicU64,
    start: AtomicUsize,
    bytes: AtomicUsize,
    used: AtomicUsize,
}

static ROOM: Room = Room {
    thread: AtomicU64::new(0),
    start: AtomicUsize::new(0),
    bytes: AtomicUsize::new(0),
    used: AtomicUsize::new(0),
};

impl Room {
    #[inline]
    fn is_ours(&self) -> bool {
        let thread = self.thread.load(Ordering::Relaxed);
        thread != 0 && thread == regs::thread_pointer()
    }

    fn take(&self, layout: Layout) -> *mut u8 {
        let base = self.start.load(Ordering::Relaxed) as *mut u8;
        let used = self.used.load(Ordering::Relaxed);
        let found = start(base, used, layout);
        let end = found.and_then(|start| start.checked_add(layout.size()));
        match (found, end) {
            (Some(start), Some(end)) if end <= self.bytes.load(Ordering::Relaxed) => {
                self.used.store(end, Ordering::Relaxed);
                base.wrapping_add(start)
            }
            _ => ptr::null_mut(),
        }
    }
}

/// Does a piece of work that allocates at most so many bytes, all of which are gone afterwards: the
/// result has none of them. `None`: there is no such room. One thread does this at a time, which
/// the caller takes care of.
pub fn with_room<T: Copy>(bytes: usize, f: impl FnOnce() -> T) -> Option<T> {
    let memory = files::map_zeroed(bytes)?;
    ROOM.start
        .store(memory.as_ptr() as usize, Ordering::Relaxed);
    ROOM.bytes.store(bytes, Ordering::Relaxed);
    ROOM.used.store(0, Ordering::Relaxed);
    ROOM.thread.store(regs::thread_pointer(), Ordering::Relaxed);
    let result = f();
    ROOM.thread.store(0, Ordering::Relaxed);
    // SAFETY: the mapping is ours, and nothing that was allocated in it is left.
    unsafe { files::unmap(memory, bytes) };
    Some(result)
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
