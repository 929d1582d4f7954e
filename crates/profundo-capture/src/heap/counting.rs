//! Counts of allocations and of live bytes, from the first request on.

use std::alloc::Layout;
use std::sync::atomic::{AtomicBool, Ordering, compiler_fence};

use profundo_probe::heap::counts::Counted;
use profundo_probe::heap::{CountSlot, SWITCH};

use super::{local, memory};
use crate::error::Error;

/// While it lives, allocations are counted.
#[derive(Debug)]
pub struct Counting {
    before: Counted,
}

impl Counting {
    /// Starts to count.
    pub fn begin() -> Result<Self, Error> {
        check_installed()?;
        SWITCH.begin_counting();
        let before = sum();
        Ok(Self { before })
    }

    /// The counts of all threads since then.
    pub fn counted(&self) -> Counted {
        difference(sum(), self.before)
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        SWITCH.end_counting();
    }
}

/// Counts of the calling thread alone.
#[derive(Debug)]
pub struct Here {
    slot: &'static CountSlot,
    before: Counted,
    live: i64,
    outer_peak: i64,
}

/// Starts to count for the calling thread.
pub fn begin_here() -> Result<Here, Error> {
    check_installed()?;
    SWITCH.begin_counting();
    let Some(slot) = local::slot() else {
        SWITCH.end_counting();
        return Err(Error::refused(crate::error::Refusal::Memory));
    };
    let (live, outer_peak) = slot.begin_peak();
    let before = slot.counted();
    stay_in_order();
    Ok(Here {
        slot,
        before,
        live,
        outer_peak,
    })
}

impl Here {
    /// The thread's counts since then, and the peak of its own allocations since then, beyond
    /// earlier ones.
    pub fn counted(&self) -> (Counted, u64) {
        stay_in_order();
        let now = self.slot.counted();
        let peak = self.slot.end_peak(i64::MIN) - self.live;
        (
            difference(now, self.before),
            u64::try_from(peak).unwrap_or(0),
        )
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        self.slot.end_peak(self.outer_peak);
        SWITCH.end_counting();
    }
}

fn difference(now: Counted, before: Counted) -> Counted {
    Counted {
        count: now.count.wrapping_sub(before.count),
        bytes: now.bytes.wrapping_sub(before.bytes),
        freed: now.freed.wrapping_sub(before.freed),
        freed_bytes: now.freed_bytes.wrapping_sub(before.freed_bytes),
        resized: now.resized.wrapping_sub(before.resized),
        live: now.live.wrapping_sub(before.live),
    }
}

fn sum() -> Counted {
    stay_in_order();
    let sum = memory::counts()
        .map(|counts| counts.sum())
        .unwrap_or_default();
    stay_in_order();
    sum
}

/// The compiler assumes that an allocator has no visible effects, and might read our numbers before
/// the allocations that they count.
fn stay_in_order() {
    compiler_fence(Ordering::SeqCst);
}

/// The counts since the first request; from then on counting never stops.
pub fn counted() -> Result<Counted, Error> {
    check_installed()?;
    static ONCE: AtomicBool = AtomicBool::new(false);
    if !ONCE.swap(true, Ordering::Relaxed) {
        SWITCH.begin_counting();
    }
    Ok(sum())
}

/// The peak of live bytes since the first request, or since `reset_peak`.
pub fn peak() -> Result<i64, Error> {
    watch_peak()?;
    Ok(memory::LIVE.peak())
}

/// Starts to watch the peak, unless it is watched already.
pub fn watch_peak() -> Result<(), Error> {
    counted()?;
    memory::LIVE.begin(|| sum().live);
    Ok(())
}

/// Restarts the peak at the present value.
pub fn reset_peak() -> Result<(), Error> {
    watch_peak()?;
    memory::LIVE.reset_peak();
    Ok(())
}

pub(crate) fn check_installed() -> Result<(), Error> {
    match is_installed() {
        true => Ok(()),
        false => Err(Error::NotInstalled),
    }
}

/// Whether the program's allocator reports allocations to us. Found out by a trial, once.
pub fn is_installed() -> bool {
    static KNOWN: AtomicBool = AtomicBool::new(false);
    if KNOWN.load(Ordering::Relaxed) {
        return true;
    }
    SWITCH.begin_counting();
    let excluded = super::exclude_allocations();
    let before = local::slot().map(CountSlot::counted);
    let layout = Layout::new::<u64>();
    // SAFETY: the layout is not empty, and the block is freed at once with its own layout.
    unsafe {
        let block = std::hint::black_box(std::alloc::alloc(layout));
        if !block.is_null() {
            std::alloc::dealloc(block, layout);
        }
    }
    let after = local::slot().map(CountSlot::counted);
    drop(excluded);
    SWITCH.end_counting();
    let is_installed =
        before.map(|counted| counted.freed_bytes) != after.map(|counted| counted.freed_bytes);
    KNOWN.store(is_installed, Ordering::Relaxed);
    is_installed
}
