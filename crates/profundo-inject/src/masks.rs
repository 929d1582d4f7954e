//! The masks of signals of a program's threads, which the command reads and changes while it holds
//! them, one after the other. A thread that waits in a call which fails when the thread is held is
//! left alone until it comes out of it, for a while.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use profundo_linux::container::{other_namespace, threads};
use profundo_linux::proc;
use profundo_probe::hidden::Known;
use profundo_process::reading::{NotHeld, Stopper};

use super::ptrace::{PTRACE_GETSIGMASK, PTRACE_SETSIGMASK, request};
use super::steps::hold_awake;

/// The masks of threads. Those that have ended are not among them, nor those that cannot be held
/// now.
pub(super) fn read(pid: u32, inside: &[u32]) -> Vec<(u32, u64)> {
    let (tids, numbers) = outside(pid, inside);
    let tids = tids.as_slice();
    let mut found = Vec::new();
    // Without these masks the threads are not sampled before they change them, and no more.
    const LONGEST: Duration = Duration::from_millis(20);
    let _ = visit(pid, tids, LONGEST, |tid, mask| {
        found.push((*numbers.get(&tid).unwrap_or(&tid), mask));
        None
    });
    found
}

/// Gives threads the masks that the program has set. Returns the number of changed masks, and the
/// threads that could not be held.
pub(super) fn restore(pid: u32, inside: &[u32], known: &Known) -> (usize, Vec<u32>) {
    let (tids, _) = outside(pid, inside);
    let tids = tids.as_slice();
    const LONGEST: Duration = Duration::from_millis(500);
    let mut changed = 0;
    let left = visit(pid, tids, LONGEST, |_, mask| {
        let shown = known.shown(mask);
        (shown != mask).then(|| {
            changed += 1;
            shown
        })
    });
    (changed, left)
}

/// Our numbers of threads that the program has named by its own, and its numbers by ours: they
/// differ in a container.
fn outside(pid: u32, inside: &[u32]) -> (Vec<u32>, HashMap<u32, u32>) {
    if inside.is_empty() || other_namespace(pid).is_none() {
        return (inside.to_vec(), HashMap::new());
    }
    let ours = threads(pid);
    let pairs = inside.iter();
    let pairs = pairs.filter_map(|inside| Some((*ours.get(inside)?, *inside)));
    let numbers: HashMap<u32, u32> = pairs.collect();
    (numbers.keys().copied().collect(), numbers)
}

/// Holds each thread, and calls `f` with its mask. It has the returned one afterwards. Returns the
/// threads that could not be held.
fn visit(
    pid: u32,
    tids: &[u32],
    longest: Duration,
    mut f: impl FnMut(u32, u64) -> Option<u64>,
) -> Vec<u32> {
    const PAUSE: Duration = Duration::from_millis(1);
    let mut stopper = Stopper::default();
    stopper.has_some_patience = true;
    let began = Instant::now();
    let mut left = tids.to_vec();
    loop {
        left.retain(|&tid| {
            let held = match hold_awake(&mut stopper, pid, tid) {
                Ok(held) => held,
                Err(NotHeld::Gone) => return false,
                Err(_) => return proc::has_thread(pid, tid),
            };
            let mut mask = 0_u64;
            let place = (&raw mut mask) as usize;
            if request(held.tid(), PTRACE_GETSIGMASK, 8, place).is_ok()
                && let Some(after) = f(tid, mask)
            {
                let place = (&raw const after) as usize;
                let _ = request(held.tid(), PTRACE_SETSIGMASK, 8, place);
            }
            held.resume();
            false
        });
        if left.is_empty() || began.elapsed() > longest {
            return left;
        }
        std::thread::sleep(PAUSE);
    }
}
