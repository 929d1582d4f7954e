//! The few allocations that are sampled, and the ends of those that are followed.

use core::ptr::{self, NonNull};
use core::sync::atomic::{Ordering, compiler_fence};

use profundo_probe::clock;
use profundo_probe::heap::{Caller, NotRecorded, Recall, followed};
use profundo_unwind::Regs;
use profundo_wire::{Block, Freed, Source};

use crate::home::Home;
use crate::memory::ends::Gone;
use crate::memory::local::{Local, local};
use crate::memory::spare::Spare;
use crate::memory::state::{FEW, Heap, heap, mean};
use crate::memory::{exact, python, state};
use crate::{files, home, process, symbols, threads};

/// While nothing is recorded, the number of bytes until the next check.
const RECHECK_BYTES: u64 = 1 << 20;

/// A block that was allocated, and the thread's budget before.
#[derive(Clone, Copy)]
pub struct Given {
    pub address: u64,
    pub size: u64,
    pub source: Source,
    pub left: u64,
}

/// Samples an allocation. Until it returns, the thread's own allocations do not count.
#[cold]
#[inline(never)]
pub fn sample(local: &Local, given: Given, caller: Caller) {
    if given.address == 0 {
        return local.set(given.left);
    }
    if exact::exact().is_some() {
        let Regs { ip, sp, fp, .. } = caller.registers;
        return exact::allocated(local, &given, ip, sp, fp, caller.base);
    }
    let mean = mean();
    let (Some(heap), true) = (heap(), mean > 0) else {
        // An agent that comes or leaves records again soon.
        return local.set(if symbols::is_late() { 0 } else { RECHECK_BYTES });
    };
    if local.enters(state::recording()) && symbols::is_late() {
        enter_late(local);
    }
    if !local.has_begun() {
        // The first block of this thread counts like those that follow.
        let left = local.draw(mean);
        if left > given.size {
            return local.set(left - given.size);
        }
    }
    match home::current().filter(|_| !python::is_finalizing()) {
        Some(home) => {
            let (before, after) = local.keep_pace(clock::now(), state::most_doublings());
            let recorded = local.alone(|| record_block(home, heap, local, given, before, caller));
            if recorded.is_none() {
                let lost = &home.ring().header.memory.lost;
                lost.fetch_add(1, Ordering::Relaxed);
            }
            let number = recorded.flatten();
            let left = local.draw(mean << after);
            local.follow(number.unwrap_or(0), left);
            local.set(left);
        }
        None => local.set(local.draw(mean << local.doublings())),
    }
}

/// Records a block and follows it; returns its number.
fn record_block(
    home: Home,
    heap: &Heap,
    local: &Local,
    given: Given,
    doublings: u8,
    caller: Caller,
) -> Option<u64> {
    let number = heap.numbers.fetch_add(1, Ordering::Relaxed) + 1;
    let block = Block {
        number,
        size: given.size,
        address: given.address,
        source: given.source,
        doublings,
        ..Block::default()
    };
    // SAFETY: a process that has entered itself has a probe.
    let probe = unsafe { home.probe() };
    let lost = &home.ring().header.memory.lost;
    let recall = local.recall(make_recall);
    // SAFETY: it is this thread's, which has come from the caller just now and is here once.
    let recorded = match unsafe { recall.as_mut() }.filter(|_| !python::has_finalized()) {
        // SAFETY: as above.
        Some(recall) => unsafe { probe.record_block_with(recall, &caller, block) },
        None => probe.record_block(&caller, block),
    };
    match recorded {
        Ok(()) => {}
        Err(NotRecorded::Unwanted) => return None,
        Err(NotRecorded::NoFreeSlot | NotRecorded::Full) => {
            lost.fetch_add(1, Ordering::Relaxed);
            return None;
        }
    }
    let is_kept = if given.source == Source::Mapped {
        heap.mapped.insert(given.address, given.size, number)
    } else {
        let block = followed::Block {
            address: given.address,
            number,
            size: given.size,
        };
        let inserted = heap.followed.insert(&FEW, block);
        if let Ok(Some(former)) = inserted {
            // The former block was freed in a way that is not seen.
            freed(home, former.number, false);
        }
        inserted.is_ok()
    };
    if !is_kept {
        let unfollowed = &home.ring().header.memory.unfollowed;
        unfollowed.fetch_add(1, Ordering::Relaxed);
    }
    Some(number)
}

/// Memory for a thread's memory of its stacks, which is empty again in the child of a fork. Null:
/// there is none.
#[cold]
fn make_recall() -> *mut Recall {
    if let Some(recall) = NonNull::new(SPARE.take()) {
        // SAFETY: it is this thread's alone, and zeros are an empty one.
        unsafe { files::wipe(recall) };
        return recall.as_ptr();
    }
    match process::has_unlimited_memory() {
        true => files::map_wiped(size_of::<Recall>()).cast(),
        false => ptr::null_mut(),
    }
}

/// The memory of threads that have ended since an earlier recording.
static SPARE: Spare<Recall> = Spare::new();

/// The thread samples its first block of a recording, which the agent may have come late for. Its
/// stacks of an earlier one are forgotten.
#[cold]
fn enter_late(local: &Local) {
    threads::expect_end();
    if let Some(recall) = NonNull::new(local.kept_recall()) {
        // SAFETY: it was mapped for this thread alone, and zeros are an empty one.
        unsafe { files::wipe(recall) };
    }
}

/// The thread ends: it uses that no more.
pub fn end_thread() {
    let recall = local().take_recall();
    if let Some(recall) = NonNull::new(recall) {
        // A handler that comes now finds none.
        compiler_fence(Ordering::SeqCst);
        // SAFETY: it was mapped for this thread alone.
        unsafe { files::unmap(recall.cast(), size_of::<Recall>()) };
    }
}

/// The thread ends after the recording: another one gets that.
pub fn put_away() {
    let recall = local().take_recall();
    if !recall.is_null() {
        // A handler that comes now finds none.
        compiler_fence(Ordering::SeqCst);
        SPARE.put(recall);
    }
}

/// Removes the block at an address, if it is followed.
#[cold]
#[inline(never)]
pub fn remove_block(local: &Local, address: u64) -> Option<Gone> {
    let heap = heap()?;
    let Some(found) = local.alone(|| heap.followed.remove(&FEW, address)) else {
        // The free is noticed when another block lies there, or never.
        let header = &home::current()?.ring().header;
        header.memory.unfreed.fetch_add(1, Ordering::Relaxed);
        return None;
    };
    let found = found.filter(|_| !python::is_finalizing())?;
    Some(Gone::Followed(found, local.is_right_after(found.number)))
}

/// Reports that a block was freed.
pub fn freed(home: Home, number: u64, at_once: bool) {
    let freed = Freed {
        clock: 0,
        number,
        at_once,
    };
    // SAFETY: as above.
    if !unsafe { home.probe() }.record_freed(freed) {
        let header = &home.ring().header;
        header.memory.unfreed.fetch_add(1, Ordering::Relaxed);
    }
}

/// Follows a block again that was not freed after all.
#[cold]
pub fn follow_again(block: followed::Block) {
    if let Some(heap) = heap() {
        let _ = local().alone(|| heap.followed.insert(&FEW, block));
    }
}
