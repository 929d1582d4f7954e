//! The cost of counting a call, measured by reporting some that never happen.
//!
//! A part of it falls between the two moments at which a call is measured and is attributed to the
//! callee; the rest is attributed to the caller.

use core::sync::atomic::{AtomicU64, Ordering};

use profundo_probe::shared::CallsHeader;
use profundo_probe::sys;

use super::thread_tree::ThreadTree;
use super::{enter, leave, now};

/// Calls per run. The shortest run counts, since the thread may have been interrupted.
const CALLS: u64 = 256;
const TIMES: u32 = 8;
/// Costs are reported for this many calls.
const REPORTED_CALLS: u64 = 1024;

static COST: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// Measures the cost in the calling thread's tree, in which nothing was counted yet.
pub fn measure(thread_tree: &ThreadTree) {
    let function = measure as *const () as u64;
    // Calls of signal handlers would be discarded meanwhile.
    let mask = sys::set_signal_mask(!0);
    let mut least: Option<(u64, u64)> = None;
    for _ in 0..TIMES {
        let total = || {
            // SAFETY: the tree is this thread's, and it is not in use.
            let (tree, _) = unsafe { thread_tree.work() };
            tree.total_of_native(function).1
        };
        let (before, began) = (total(), now());
        for _ in 0..CALLS {
            // SAFETY: any address will do, and any place of the stack.
            unsafe {
                enter(function, 0);
                leave(function, 0);
            }
        }
        let all = now().wrapping_sub(began);
        let inside = total().wrapping_sub(before);
        if least.is_none_or(|(shortest, _)| all < shortest) {
            least = Some((all, inside.min(all)));
        }
    }
    // SAFETY: as above.
    let (tree, calls) = unsafe { thread_tree.work() };
    let has_forgotten = tree.forget();
    tree.begin_thread(calls, sys::thread_id());
    sys::set_signal_mask(mask);
    if !has_forgotten {
        return super::stop();
    }
    if let Some((all, inside)) = least {
        let costs = [inside, all - inside];
        for (place, cost) in COST.iter().zip(costs) {
            place.store(cost * REPORTED_CALLS / CALLS, Ordering::Relaxed);
        }
    }
    write(&tree.file().header);
}

/// Writes the costs into the header.
pub fn write(header: &CallsHeader) {
    let [functions, _] = &header.cost;
    for (to, from) in functions.iter().zip(&COST) {
        to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}
