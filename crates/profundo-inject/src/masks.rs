//! The masks of signals of a program's threads, which the command changes for the agent while it
//! holds them, one after the other.

use std::time::{Duration, Instant};

use profundo_linux::proc;
use profundo_probe::shared::MaskChange;
use profundo_process::reading::Stopper;

use super::ptrace::{PTRACE_GETSIGMASK, PTRACE_SETSIGMASK, request};
use super::steps::waits_in_vain;

/// Changes masks. A thread that has ended, or has changed its mask meanwhile, is left alone; so is
/// one in a call that would fail if it was held.
pub(super) fn change(pid: u32, changes: &[MaskChange]) {
    /// The time that a thread gets to come out of such a call.
    const LONGEST: Duration = Duration::from_millis(100);
    const PAUSE: Duration = Duration::from_millis(1);
    let mut stopper = Stopper::default();
    stopper.has_some_patience = true;
    for change in changes {
        let tid = change.tid;
        let began = Instant::now();
        while waits_in_vain(pid, tid) && began.elapsed() < LONGEST {
            std::thread::sleep(PAUSE);
        }
        if !proc::has_thread(pid, tid) || waits_in_vain(pid, tid) {
            continue;
        }
        let Ok(held) = stopper.hold_in_any_state(pid, tid) else {
            continue;
        };
        let mut mask = 0_u64;
        let place = (&raw mut mask) as usize;
        if request(held.tid(), PTRACE_GETSIGMASK, 8, place).is_ok() && mask == change.before {
            let after = change.after;
            let _ = request(
                held.tid(),
                PTRACE_SETSIGMASK,
                8,
                (&raw const after) as usize,
            );
        }
        held.resume();
    }
}
