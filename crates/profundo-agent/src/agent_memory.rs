//! The agent's own memory, which a search for the program's pointers skips.

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Capacity. Heaps above ~100 GB need more mappings; they are not searched.
const MOST: usize = 4096;

/// Starts and lengths; 0: unused.
static RANGES: [[AtomicU64; 2]; MOST] = [const { [const { AtomicU64::new(0) }; 2] }; MOST];
/// The most mappings that were used at one time, as far as there was room.
static USED: AtomicUsize = AtomicUsize::new(0);
/// The number of mappings that had no room.
static OTHERS: AtomicUsize = AtomicUsize::new(0);

/// Notes a new mapping of the agent's.
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

/// Notes that a mapping is about to go.
pub fn leave(start: u64) {
    let used = USED.load(Ordering::Relaxed);
    let mut ranges = RANGES.iter().take(used);
    if let Some([first, length]) = ranges.find(|[first, _]| first.load(Ordering::Relaxed) == start)
    {
        length.store(0, Ordering::Relaxed);
        first.store(0, Ordering::Relaxed);
    }
}

/// Visits the starts of the mappings of this length.
pub fn each_of(bytes: usize, mut visit: impl FnMut(u64)) {
    let used = USED.load(Ordering::Relaxed);
    for [first, length] in RANGES.iter().take(used) {
        let start = first.load(Ordering::Relaxed);
        if start != 0 && length.load(Ordering::Relaxed) == bytes as u64 {
            visit(start);
        }
    }
}

/// The place at which the mappings are written down at any time, and the most that fit.
pub fn room() -> (u64, u64) {
    (RANGES.as_ptr() as u64, MOST as u64)
}

/// The place and number of the mappings that are written down; `None` if some are missing.
pub fn ranges() -> Option<(u64, u64)> {
    let is_whole = OTHERS.load(Ordering::Relaxed) == 0;
    let used = USED.load(Ordering::Relaxed) as u64;
    is_whole.then_some((RANGES.as_ptr() as u64, used))
}
