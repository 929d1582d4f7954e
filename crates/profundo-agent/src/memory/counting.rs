//! The work that is added to each allocation: its bytes are subtracted from the thread's budget.
//! When that runs out, the block is sampled.

use core::ffi::c_void;

use profundo_probe::heap::Caller;
use profundo_unwind::Regs;
use profundo_wire::Source;

use crate::memory::ends;
use crate::memory::exact::{allocated, exact};
use crate::memory::local::{Local, local};
use crate::memory::sampled::{Given, sample};
use crate::memory::state::is_exact;

type Block = *mut c_void;

/// Counts a block that was allocated while `left` was taken, and samples it if its turn has come.
#[inline(always)]
pub(crate) fn count(
    local: &Local,
    left: u64,
    block: Block,
    size: usize,
    source: Source,
    caller: impl FnOnce() -> Caller,
) {
    let size = size as u64;
    // Where every block counts, a budget may be left from an earlier recording.
    if size < left && (Local::is_inside(left) || !is_exact()) {
        return local.set(left.wrapping_sub(size));
    }
    let given = Given {
        address: block as u64,
        size,
        source,
        left,
    };
    let caller = caller();
    if exact().is_some() {
        let Regs { ip, sp, fp, .. } = caller.registers;
        return allocated(local, &given, ip, sp, fp, caller.base);
    }
    sample(local, given, caller);
}

/// Calls an allocation, and counts its block.
#[inline(always)]
pub(crate) fn counted(
    size: usize,
    source: Source,
    get: impl FnOnce() -> Block,
    caller: impl FnOnce() -> Caller,
) -> Block {
    let local = local();
    let left = local.take();
    let block = get();
    count(local, left, block, size, source, caller);
    block
}

/// Calls a reallocation. The old block is removed before that: afterwards another thread may have
/// its place.
#[inline(always)]
pub(crate) fn resized(
    old: Block,
    size: usize,
    source: Source,
    get: impl FnOnce() -> Block,
    caller: impl FnOnce() -> Caller,
) -> Block {
    let local = local();
    let gone = ends::remove_block(old as u64);
    let left = local.take();
    let block = get();
    if block.is_null() && size > 0 {
        // Nothing has changed.
        local.set(left);
        if let Some(gone) = gone {
            ends::put_back(old as u64, gone);
        }
        return block;
    }
    if let Some(gone) = gone {
        ends::report_freed(gone);
    }
    count(local, left, block, size, source, caller);
    block
}
