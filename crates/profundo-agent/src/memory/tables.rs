//! Memory for the tables of stacks. A later recording in the same process uses it again.

use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use crate::files;

/// A mapping, for ever.
struct Piece {
    start: AtomicPtr<u8>,
    bytes: AtomicUsize,
    is_used: AtomicBool,
}

/// More than there are tables, as two threads may make the same one.
const MOST: usize = 16;

static PIECES: [Piece; MOST] = [const {
    Piece {
        start: AtomicPtr::new(ptr::null_mut()),
        bytes: AtomicUsize::new(0),
        is_used: AtomicBool::new(false),
    }
}; MOST];

/// Zeroed memory that stays, empty again in the child of a fork; null if there is none.
pub fn memory(bytes: usize) -> *mut u8 {
    for piece in &PIECES {
        let start = piece.start.load(Ordering::Acquire);
        let fits = !start.is_null() && piece.bytes.load(Ordering::Relaxed) == bytes;
        // Acquire pairs with the release in `forget`.
        if fits && !piece.is_used.swap(true, Ordering::Acquire) {
            return start;
        }
    }
    let new = files::map_wiped(bytes);
    let is_free = |piece: &&Piece| {
        piece.start.load(Ordering::Relaxed).is_null()
            && !piece.is_used.swap(true, Ordering::Relaxed)
    };
    if let Some(piece) = PIECES.iter().find(is_free).filter(|_| !new.is_null()) {
        piece.bytes.store(bytes, Ordering::Relaxed);
        // Release pairs with the acquire above.
        piece.start.store(new, Ordering::Release);
    }
    new
}

/// Makes all of it zero, for the next recording.
///
/// # Safety
/// Zeros are valid for all who still use it.
pub unsafe fn forget() {
    for piece in &PIECES {
        let start = NonNull::new(piece.start.load(Ordering::Acquire));
        if let Some(start) = start {
            let bytes = piece.bytes.load(Ordering::Relaxed);
            // SAFETY: the mapping is ours, and that long; the caller vouches for the rest.
            unsafe { files::advise(start, bytes, libc::MADV_DONTNEED) };
            piece.is_used.store(false, Ordering::Release);
        }
    }
}
