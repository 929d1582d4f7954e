//! Threads that block our signals. They run and are never sampled, so their time is recorded here,
//! under a reason instead of a stack.

use std::collections::HashMap;
use std::fs;

use profundo_probe::{Event, Probe, Subject, SystemCall, Writer, clock};
use profundo_wire::{End, State};

use crate::clock::cpu_of;

/// Less CPU time than this without a sample says nothing: some kernels tick only every 10 ms, and
/// a signal that is blocked for a moment (while a thread starts another one) comes after it.
const SUSPICIOUS: u64 = 50_000_000;

/// The last look at each thread: CPU time in nanoseconds, and samples.
#[derive(Debug, Default)]
pub(crate) struct DeafThreads {
    has_begun: bool,
    seen: HashMap<u32, (u64, u64)>,
    writer: Writer,
}

impl DeafThreads {
    /// Looks at all threads of the program, and writes a sample for each that has run for a while
    /// without one because it blocks the signals. Returns the others that have run without one.
    pub(crate) fn find(&mut self, probe: &Probe, tids: &[u32], period: u64) -> Vec<u32> {
        let mut silent = Vec::new();
        let enough = SUSPICIOUS.max(3 * period);
        // CPU time before the session is not ours; a thread that was not there has started since.
        let begun_since = std::mem::replace(&mut self.has_begun, true);
        self.seen.retain(|tid, _| tids.contains(tid));
        for &tid in tids {
            let Some(slot) = probe.threads.find(tid) else {
                continue;
            };
            let now = (cpu_of(tid), slot.samples());
            let first = if begun_since { (0, 0) } else { now };
            let before = *self.seen.entry(tid).or_insert(first);
            let ran = now.0.saturating_sub(before.0);
            if now.1 != before.1 {
                self.seen.insert(tid, now);
            } else if ran > enough {
                self.seen.insert(tid, now);
                if blocks_signals(tid) {
                    let event = Event {
                        weight: ran,
                        state: State::Running,
                        tag: 0,
                        system_call: SystemCall::Never,
                        only_if_wanted: false,
                    };
                    let subject = Subject {
                        thread: slot.number(),
                        tid,
                        task: slot.task(),
                        span: slot.span(),
                    };
                    probe.record_for(&mut self.writer, subject, event, clock::now(), |_| {
                        (0, End::SignalsBlocked)
                    });
                    slot.clock.note_covered(ran);
                } else {
                    silent.push(tid);
                }
            }
        }
        silent
    }
}

/// Whether a thread blocks both signals that we could send it.
fn blocks_signals(tid: u32) -> bool {
    let bit = |signal: i32| 1_u64 << (signal - 1);
    let status = fs::read_to_string(format!("/proc/self/task/{tid}/status")).unwrap_or_default();
    let blocked = status
        .lines()
        .find_map(|line| line.strip_prefix("SigBlk:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0);
    blocked & bit(libc::SIGTRAP) != 0 && blocked & bit(libc::SIGURG) != 0
}
