//! Walk caches for the threads that are sampled most: a few hundred, lent to slots.
//!
//! A cache makes a walk more than twice as fast and takes 8 KB. A thread gets one at its
//! sixteenth sample, if one is left, and gives it back when it has ended.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU64, Ordering};

use profundo_unwind::WalkCache;

/// The largest number of caches: the bits of a word.
pub const CACHES: usize = 256;

/// One cache, in zeroed memory.
#[derive(Debug)]
#[repr(transparent)]
pub struct Cache(UnsafeCell<WalkCache>);

// SAFETY: a cache is used by the thread that it is lent to, inside its handler, alone.
unsafe impl Sync for Cache {}

/// All caches, and a bit for each that is lent.
#[derive(Debug)]
pub struct Caches {
    caches: &'static [Cache],
    lent: [AtomicU64; CACHES / 64],
}

impl Caches {
    /// Caches over zeroed memory, of which [`CACHES`] at most are used.
    pub fn new(caches: &'static [Cache]) -> Self {
        Self {
            caches,
            lent: [const { AtomicU64::new(0) }; CACHES / 64],
        }
    }

    /// Lends a cache; `None`: all are lent.
    pub(crate) fn lend(&self) -> Option<u32> {
        for (group, bits) in self.lent.iter().enumerate() {
            let free = bits.load(Ordering::Relaxed).trailing_ones();
            let index = group * 64 + free as usize;
            // Acquire pairs with the release in `give_back`. One try per group: others may be
            // choosing at this moment, and the next sample is another occasion.
            if free < 64
                && index < self.caches.len()
                && bits.fetch_or(1 << free, Ordering::Acquire) & (1 << free) == 0
            {
                return Some(index as u32);
            }
        }
        None
    }

    /// Takes back a cache whose thread has ended.
    pub(crate) fn give_back(&self, index: u32) {
        if let Some(bits) = self.lent.get(index as usize / 64) {
            bits.fetch_and(!(1 << (index % 64)), Ordering::Release);
        }
    }

    /// The cache itself, for the one thread that it is lent to.
    pub(crate) fn get(&self, index: u32) -> Option<*mut WalkCache> {
        self.caches.get(index as usize).map(|cache| cache.0.get())
    }
}
