//! The counts of allocations by thread: a few numbers for each, which it alone writes.
//!
//! So counting takes no locked instruction, and the process's numbers are the sums of all. A thread
//! that has ended leaves its numbers where they are; the next one goes on from there.

use core::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};

/// The numbers of one thread, and of those before it. All zero is a free one.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct CountSlot {
    /// The owner's thread id; 0 before the first one, [`SHARED`] for all threads without a slot.
    tid: AtomicU32,
    count: AtomicU64,
    bytes: AtomicU64,
    freed: AtomicU64,
    freed_bytes: AtomicU64,
    /// Bytes allocated by ourselves, needed only for the live bytes.
    own_bytes: AtomicU64,
    /// Resized blocks, which are counted as allocated and as freed, too.
    resized: AtomicU64,
    /// The most bytes allocated here and not freed here at a time, since the peak was last asked
    /// for.
    peak: AtomicI64,
}

/// The owner of the slot for all threads without one.
const SHARED: u32 = u32::MAX;

/// The counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counted {
    /// Allocations.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Blocks that were freed.
    pub freed: u64,
    /// Their bytes.
    pub freed_bytes: u64,
    /// Blocks that were resized, which are among the allocations and among the freed ones.
    pub resized: u64,
    /// Live bytes: allocated less freed, by any thread.
    pub live: i64,
}

/// All slots.
#[derive(Debug)]
pub struct Counts {
    slots: &'static [CountSlot],
    used: AtomicU32,
    /// The next slot to check for an ended thread.
    next: AtomicU32,
}

impl CountSlot {
    #[inline]
    fn add(&self, number: &AtomicU64, more: u64) {
        if self.tid.load(Ordering::Relaxed) == SHARED {
            number.fetch_add(more, Ordering::Relaxed);
        } else {
            let sum = number.load(Ordering::Relaxed).wrapping_add(more);
            number.store(sum, Ordering::Relaxed);
        }
    }

    /// Counts a block allocated by its thread, or by ourselves, which does not show.
    #[inline]
    pub fn allocated(&self, size: u64, by_us: bool) {
        if by_us {
            self.add(&self.own_bytes, size);
        } else {
            self.add(&self.count, 1);
            self.add(&self.bytes, size);
        }
        let live = self.live();
        if live > self.peak.load(Ordering::Relaxed) {
            self.peak.store(live, Ordering::Relaxed);
        }
    }

    /// Counts a block freed by its thread.
    #[inline]
    pub fn freed(&self, size: u64, by_us: bool) {
        if !by_us {
            self.add(&self.freed, 1);
        }
        self.add(&self.freed_bytes, size);
    }

    /// Counts a block resized by its thread, besides its old and its new size.
    #[inline]
    pub fn resized(&self, by_us: bool) {
        if !by_us {
            self.add(&self.resized, 1);
        }
    }

    #[inline]
    fn live(&self) -> i64 {
        let allocated = self.bytes.load(Ordering::Relaxed);
        let own = self.own_bytes.load(Ordering::Relaxed);
        let freed = self.freed_bytes.load(Ordering::Relaxed);
        allocated.wrapping_add(own).wrapping_sub(freed) as i64
    }

    /// The counts so far.
    pub fn counted(&self) -> Counted {
        Counted {
            count: self.count.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            freed: self.freed.load(Ordering::Relaxed),
            freed_bytes: self.freed_bytes.load(Ordering::Relaxed),
            resized: self.resized.load(Ordering::Relaxed),
            live: self.live(),
        }
    }

    /// Starts to watch the peak of the thread. Returns the present value, and the peak so far for
    /// an earlier watcher: see [`Self::end_peak`].
    pub fn begin_peak(&self) -> (i64, i64) {
        let live = self.live();
        (live, self.peak.swap(live, Ordering::Relaxed))
    }

    /// The peak since `begin_peak`, whose second number is `before`.
    pub fn end_peak(&self, before: i64) -> i64 {
        self.peak.fetch_max(before, Ordering::Relaxed)
    }

    /// After a fork the thread has another id; by the old one, it might be taken for one that has
    /// ended.
    pub fn renumber(&self, tid: u32) {
        if self.tid.load(Ordering::Relaxed) != SHARED {
            self.tid.store(tid, Ordering::Relaxed);
        }
    }
}

impl Counts {
    /// Slots over zeroed memory.
    pub const fn new(slots: &'static [CountSlot]) -> Self {
        Self {
            slots,
            // The first one is shared.
            used: AtomicU32::new(1),
            next: AtomicU32::new(1),
        }
    }

    /// A slot for the calling thread: that of a thread that has ended by `is_alive`, an unused one,
    /// or the shared one. `None` where there is no memory at all.
    #[cold]
    pub fn enter(&self, tid: u32, is_alive: impl Fn(u32) -> bool) -> Option<&'static CountSlot> {
        const LOOKS: u32 = 4;
        let used = self
            .used
            .load(Ordering::Relaxed)
            .min(self.slots.len() as u32);
        for _ in 0..LOOKS.min(used.saturating_sub(1)) {
            let at = self.next.fetch_add(1, Ordering::Relaxed) % used;
            let Some(slot) = self.slots.get(at as usize) else {
                continue;
            };
            let owner = slot.tid.load(Ordering::Relaxed);
            let is_free = owner == tid || owner != 0 && owner != SHARED && !is_alive(owner);
            // Acquire pairs with nothing of ours: the kernel has reported the thread as gone, so
            // all its writes are done.
            let take =
                || (slot.tid).compare_exchange(owner, tid, Ordering::Acquire, Ordering::Relaxed);
            if is_free && take().is_ok() {
                return Some(slot);
            }
        }
        let at = self.used.fetch_add(1, Ordering::Relaxed);
        if let Some(slot) = self.slots.get(at as usize) {
            slot.tid.store(tid, Ordering::Relaxed);
            return Some(slot);
        }
        // It must not wrap around to small numbers.
        self.used.fetch_sub(1, Ordering::Relaxed);
        let shared = self.slots.first()?;
        shared.tid.store(SHARED, Ordering::Relaxed);
        Some(shared)
    }

    /// The sum of all threads' counts.
    pub fn sum(&self) -> Counted {
        let used = self.used.load(Ordering::Relaxed) as usize;
        let slots = self.slots.get(..used).unwrap_or(self.slots);
        slots.iter().fold(Counted::default(), |sum, slot| {
            let one = slot.counted();
            Counted {
                count: sum.count.wrapping_add(one.count),
                bytes: sum.bytes.wrapping_add(one.bytes),
                freed: sum.freed.wrapping_add(one.freed),
                freed_bytes: sum.freed_bytes.wrapping_add(one.freed_bytes),
                resized: sum.resized.wrapping_add(one.resized),
                live: sum.live.wrapping_add(one.live),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::boxed::Box;
    use std::vec::Vec;

    fn counts(slots: usize) -> Counts {
        let slots: Vec<CountSlot> = (0..slots).map(|_| CountSlot::default()).collect();
        Counts::new(Box::leak(slots.into_boxed_slice()))
    }

    #[test]
    fn slots_of_the_dead_are_gone_on_with() {
        let counts = counts(8);
        let first = counts.enter(1, |_| true).unwrap();
        first.allocated(10, false);
        // Thread 1 is dead by now.
        let second = counts.enter(2, |tid| tid != 1).unwrap();
        assert!(std::ptr::eq(first, second));
        let third = counts.enter(3, |_| true).unwrap();
        assert!(!std::ptr::eq(second, third), "thread 2 lives");
        second.allocated(20, false);
        second.freed(10, false);
        second.resized(false);
        let expected = Counted {
            count: 2,
            bytes: 30,
            freed: 1,
            freed_bytes: 10,
            resized: 1,
            live: 20,
        };
        assert_eq!(counts.sum(), expected);
    }

    #[test]
    fn a_thread_without_a_slot_is_counted_with_the_others() {
        let counts = counts(3);
        std::thread::scope(|scope| {
            for tid in 1..=8 {
                let counts = &counts;
                scope.spawn(move || {
                    let slot = counts.enter(tid, |_| true).unwrap();
                    for _ in 0..1000 {
                        slot.allocated(2, false);
                        slot.freed(1, false);
                    }
                });
            }
        });
        let sum = counts.sum();
        assert_eq!(
            (sum.count, sum.bytes, sum.freed, sum.live),
            (8000, 16_000, 8000, 8000)
        );
    }

    #[test]
    fn our_own_allocations_are_there_but_not_counted() {
        let counts = counts(2);
        let slot = counts.enter(1, |_| true).unwrap();
        slot.allocated(100, true);
        assert_eq!((counts.sum().count, counts.sum().live), (0, 100));
        // The program frees it.
        slot.freed(100, false);
        assert_eq!(counts.sum().live, 0);
    }

    #[test]
    fn a_peak_within_another_leaves_that_as_it_was() {
        let counts = counts(2);
        let slot = counts.enter(1, |_| true).unwrap();
        let (outer_live, outer) = slot.begin_peak();
        slot.allocated(100, false);
        slot.freed(100, false);
        let (live, inner) = slot.begin_peak();
        slot.allocated(30, false);
        assert_eq!(slot.end_peak(inner) - live, 30);
        assert_eq!(slot.end_peak(outer) - outer_live, 100);
    }
}
