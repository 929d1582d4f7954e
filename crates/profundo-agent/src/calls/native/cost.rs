//! What the counting of a call costs, measured by telling of some that nobody makes.
//!
//! Of that, a part falls between the two moments at which a call is measured and seems to be the callee's, and the rest seems to be
//! the caller's.

use core::sync::atomic::{AtomicU64, Ordering};

use profundo_probe::shared::CallsHeader;
use profundo_probe::sys;

use super::thread_tree::ThreadTree;
use super::{enter, leave, now};

/// So many calls at once, and so often: the shortest time counts, for the thread may have been interrupted.
const CALLS: u64 = 256;
const TIMES: u32 = 8;
/// Costs are told for so many.
const TOLD: u64 = 1024;

static COST: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// Measures it, at the thread tree of the calling thread, where nothing was counted yet.
pub fn measure(thread_tree: &ThreadTree) {
    let function = measure as *const () as u64;
    // What handlers call meanwhile would be forgotten.
    let mask = sys::set_signal_mask(!0);
    let mut least: Option<(u64, u64)> = None;
    for _ in 0..TIMES {
        let total = || {
            // SAFETY: the thread tree is this thread's, and it is not in use.
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
        if least.is_none_or(|it| all < it.0) {
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
            place.store(cost * TOLD / CALLS, Ordering::Relaxed);
        }
    }
    tell(&tree.file().header);
}

/// Writes it down.
pub fn tell(header: &CallsHeader) {
    let [functions, _] = &header.cost;
    for (to, from) in functions.iter().zip(&COST) {
        to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}
