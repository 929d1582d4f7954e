//! The code of every allocation: a load of the switch, and where allocations are recorded, a
//! subtraction.
//!
//! A thread counts down the bytes until the next sampled allocation. The countdown lies in
//! thread-local storage that has no destructor and needs no initialisation, so it is there from a
//! thread's first instruction to its last.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use profundo_probe::heap::followed::Block;
use profundo_probe::heap::switch::Wanted;
use profundo_probe::heap::{CountSlot, Gaps, SWITCH, Shade, Watch};
use profundo_probe::sys;

use super::{following, memory};
use crate::probe;

/// The usual gap between two sampled allocations, in bytes or in allocations: the bits of an `f64`.
static MEAN: AtomicU64 = AtomicU64::new(0);

struct Local {
    /// The rule of the countdown.
    rule: Cell<u64>,
    /// A countdown: an allocation is recorded when it is below 0.
    left: Cell<i64>,
    gaps: Cell<Gaps>,
    is_seeded: Cell<bool>,
    /// The address of the last sampled block, and the countdown drawn then: as long as that is what
    /// is left, nothing else has been allocated.
    last: Cell<u64>,
    drawn: Cell<i64>,
    /// True if the thread works for us.
    is_ours: Cell<bool>,
    /// True if the thread is recording, and was interrupted by a signal handler that allocates.
    is_inside: Cell<bool>,
    slot: Cell<Option<&'static CountSlot>>,
}

thread_local! {
    static LOCAL: Local = const {
        Local {
            rule: Cell::new(0),
            left: Cell::new(0),
            gaps: Cell::new(Gaps::new(0)),
            is_seeded: Cell::new(false),
            last: Cell::new(0),
            drawn: Cell::new(0),
            is_ours: Cell::new(false),
            is_inside: Cell::new(false),
            slot: Cell::new(None),
        }
    };
}

/// A block that is about to be moved, or to become larger or smaller where it is.
#[derive(Debug, Clone, Copy)]
#[must_use = "whoever moves a block says what became of it"]
pub struct Moving {
    recorded: Option<Block>,
    /// Its address and its word, if all blocks are followed.
    followed: Option<(u64, Shade)>,
}

/// Reports a block allocated by the calling thread. `wanted` is added to the common requests.
#[inline]
pub fn allocated(wanted: Wanted, address: *mut u8, size: usize) {
    let wanted = SWITCH.load().or(wanted);
    if !wanted.is_nothing() {
        note_allocated(wanted, address, size);
    }
}

/// Reports a block that is about to be freed.
#[inline]
pub fn freeing(wanted: Wanted, address: *mut u8, size: usize) {
    let wanted = SWITCH.load().or(wanted);
    if wanted.is_nothing() {
        return;
    }
    if wanted.is_counting() {
        count_freed(wanted, size);
    }
    if wanted.is_recording()
        && let Some(block) = let_go(wanted, address)
    {
        end(wanted, block, is_last(block));
    }
    if wanted.is_following() {
        following::let_go(address as u64);
    }
}

/// Reports a block that is about to be moved. Another thread may get its place before `moved` is
/// called.
#[inline]
pub fn moving(wanted: Wanted, address: *mut u8) -> Moving {
    let wanted = SWITCH.load().or(wanted);
    let recorded = match wanted.is_recording() {
        true => let_go(wanted, address),
        false => None,
    };
    let followed = match wanted.is_following() {
        true => following::moving(address as u64).map(|shade| (address as u64, shade)),
        false => None,
    };
    Moving { recorded, followed }
}

/// Reports a moved block: the old one is gone, and there is a new one.
#[inline]
pub fn moved(wanted: Wanted, moving: Moving, old_size: usize, address: *mut u8, size: usize) {
    let wanted = SWITCH.load().or(wanted);
    if wanted.is_nothing() {
        return;
    }
    if let Some(block) = moving.recorded {
        // The block in its place was allocated before.
        end(wanted, block, false);
    }
    if wanted.is_counting() {
        count_freed(wanted, old_size);
        count_resized();
    }
    if let Some((old, shade)) = moving.followed
        && old != address as u64
    {
        following::moved(old, shade);
    }
    note_allocated(wanted, address, size);
}

/// Reports that a block could not be moved and stays in place.
#[cold]
pub fn stayed(moving: Moving) {
    if let Some((address, shade)) = moving.followed {
        following::stayed(address, shade);
    }
    if let Some(block) = moving.recorded {
        within(|watch| watch.keep(SWITCH.load().rule(), block));
    }
}

#[inline]
fn note_allocated(wanted: Wanted, address: *mut u8, size: usize) {
    LOCAL.with(|local| {
        if wanted.is_counting() {
            count(local, wanted, size);
        }
        if wanted.is_recording() {
            let amount = match wanted.is_by_events() {
                true => 1,
                false => size as i64,
            };
            let left = local.left.get().wrapping_sub(amount);
            local.left.set(left);
            if left < 0 || local.rule.get() != wanted.rule() {
                chosen(local, wanted, address, size, amount);
            }
        }
        if wanted.is_following() {
            follow(local, address, size);
        }
    });
}

/// Follows a block. One allocated by a signal handler while its thread is in here is not followed.
#[inline(never)]
fn follow(local: &Local, address: *mut u8, size: usize) {
    if !local.is_inside.replace(true) {
        following::note(address as u64, size as u64, local.is_ours.get());
        local.is_inside.set(false);
    }
}

/// The countdown has run out, or was another rule's.
#[cold]
#[inline(never)]
fn chosen(local: &Local, wanted: Wanted, address: *mut u8, size: usize, amount: i64) {
    if local.is_inside.replace(true) {
        // A signal handler that allocates while we are inside.
        return;
    }
    if local.rule.replace(wanted.rule()) != wanted.rule() {
        // The countdown begins before this allocation.
        local.left.set(draw(local).wrapping_sub(amount));
    }
    if local.left.get() < 0 {
        local.left.set(draw(local));
        local.last.set(address as u64);
        local.drawn.set(local.left.get());
        if !local.is_ours.get()
            && let (Some(watch), Some(probe)) = (memory::watch(), probe::probe())
        {
            watch.allocated(probe, wanted.rule(), address as u64, size as u64);
        }
    }
    local.is_inside.set(false);
}

/// The distance to the next sampled allocation.
fn draw(local: &Local) -> i64 {
    if !local.is_seeded.replace(true) {
        let seed = u64::from(sys::thread_id()) << 32 ^ profundo_probe::clock::now();
        local.gaps.set(Gaps::new(seed));
    }
    let mut gaps = local.gaps.get();
    let gap = gaps.gap_of(f64::from_bits(MEAN.load(Ordering::Relaxed)));
    local.gaps.set(gaps);
    i64::try_from(gap).unwrap_or(i64::MAX)
}

/// Sets the usual gap for later draws.
pub(crate) fn set_mean(mean: f64) {
    MEAN.store(mean.to_bits(), Ordering::Relaxed);
}

#[inline]
fn let_go(wanted: Wanted, address: *mut u8) -> Option<Block> {
    let watch = memory::watch()?;
    match watch.followed.may_have(watch.few, address as u64) {
        true => within(|watch| watch.let_go(wanted.rule(), address as u64)).flatten(),
        false => None,
    }
}

#[cold]
fn end(wanted: Wanted, block: Block, is_temporary: bool) {
    within(|watch| watch.freed(wanted.rule(), block, is_temporary));
}

/// Whether this thread has allocated nothing since the block.
#[cold]
fn is_last(block: Block) -> bool {
    LOCAL.with(|local| local.last.get() == block.address && local.left.get() == local.drawn.get())
}

/// Runs `work` unless the thread is in there already.
#[cold]
fn within<T>(work: impl FnOnce(&'static Watch) -> T) -> Option<T> {
    let watch = memory::watch()?;
    LOCAL.with(|local| {
        if local.is_inside.replace(true) {
            return None;
        }
        let result = work(watch);
        local.is_inside.set(false);
        Some(result)
    })
}

#[inline]
fn count(local: &Local, wanted: Wanted, size: usize) {
    if let Some(slot) = local.slot.get().or_else(|| enter(local)) {
        slot.allocated(size as u64, local.is_ours.get());
    }
    if wanted.is_watching_peak() {
        memory::LIVE.rise(size);
    }
}

#[inline]
fn count_freed(wanted: Wanted, size: usize) {
    LOCAL.with(|local| {
        if let Some(slot) = local.slot.get().or_else(|| enter(local)) {
            slot.freed(size as u64, local.is_ours.get());
        }
    });
    if wanted.is_watching_peak() {
        memory::LIVE.fall(size);
    }
}

fn count_resized() {
    LOCAL.with(|local| {
        if let Some(slot) = local.slot.get() {
            slot.resized(local.is_ours.get());
        }
    });
}

#[cold]
#[inline(never)]
fn enter(local: &Local) -> Option<&'static CountSlot> {
    // System calls made here are not the program's, whose `errno` is kept. SAFETY: the place is the
    // calling thread's own, for as long as it lives.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { *errno };
    let slot =
        memory::counts().and_then(|counts| counts.enter(sys::thread_id(), crate::proc::is_alive));
    // SAFETY: as above.
    unsafe { *errno = before };
    local.slot.set(slot);
    slot
}

/// The calling thread's counts. `None` where there is no memory for them.
pub(crate) fn slot() -> Option<&'static CountSlot> {
    LOCAL.with(|local| local.slot.get().or_else(|| enter(local)))
}

/// Sets whether the calling thread works for us; returns the former value.
pub(crate) fn set_ours(is_ours: bool) -> bool {
    LOCAL.with(|local| local.is_ours.replace(is_ours))
}

/// In the child of a fork, whose only thread is the calling one.
pub(crate) fn reset_after_fork() {
    LOCAL.with(|local| {
        local.is_inside.set(false);
        if let Some(slot) = local.slot.get() {
            slot.renumber(sys::thread_id());
        }
    });
}
