//! Which memory is ours, for whoever looks for the program's pointers.

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// So many mappings are known. Who has a hundred gigabytes has more, and nobody looks through those.
const MOST: usize = 4096;

/// Starts and lengths; 0: unused.
static RANGES: [[AtomicU64; 2]; MOST] = [const { [const { AtomicU64::new(0) }; 2] }; MOST];
/// How many were ever used at one time, as far as there is room for them.
static USED: AtomicUsize = AtomicUsize::new(0);
/// How many had no room.
static OTHERS: AtomicUsize = AtomicUsize::new(0);

/// A mapping of ours has come.
pub fn enter(start: u64, bytes: u64) {
    for (number, [first, length]) in RANGES.iter().enumerate() {
        let taken = first.compare_exchange(0, start, Ordering::Relaxed, Ordering::Relaxed);
        if taken.is_ok() {
            length.store(bytes, Ordering::Relaxed);
            USED.fetch_max(number + 1, Ordering::Relaxed);
            return;
        }
    }
    OTHERS.fetch_add(1, Ordering::Relaxed);
}

/// One is about to go.
pub fn leave(start: u64) {
    let used = USED.load(Ordering::Relaxed);
    let mut ranges = RANGES.iter().take(used);
    if let Some([first, length]) = ranges.find(|[first, _]| first.load(Ordering::Relaxed) == start)
    {
        length.store(0, Ordering::Relaxed);
        first.store(0, Ordering::Relaxed);
    }
}

/// Where they are written down at any time, and for how many there is room.
pub fn room() -> (u64, u64) {
    (RANGES.as_ptr() as u64, MOST as u64)
}

/// Where they are written down, and how many; `None` if some are not.
pub fn ranges() -> Option<(u64, u64)> {
    let is_whole = OTHERS.load(Ordering::Relaxed) == 0;
    let used = USED.load(Ordering::Relaxed) as u64;
    is_whole.then_some((RANGES.as_ptr() as u64, used))
}
