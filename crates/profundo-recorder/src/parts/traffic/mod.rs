//! The traffic of threads: at each tick of the wall clock, the counts of those that have run are
//! read.

mod ledger;

use std::collections::HashMap;

use profundo_linux::proc;
use profundo_linux::sys;
use profundo_permits::{traffic_refused, try_traffic};

use super::{Change, Sink, emit_words};
use crate::core::{Core, ThreadId};

use ledger::{Files, Ledger, Stretch};

/// Reading may take this part of the time between two ticks.
const PART: u64 = 20;

/// Counts traffic, as a part of the wall clock.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    ledger: Ledger,
    files: Files,
    has_noted_refusal: bool,
    /// The traffic until sampling was paused. It is emitted with the next words.
    stopped: Vec<Stretch>,
}

impl Traffic {
    /// Begins with existing threads; an error where the kernel does not count.
    pub(super) fn begin(pid: u32, tids: &[u32], now: u64) -> Result<Self, String> {
        try_traffic().map_err(|error| not_recorded(&error))?;
        let mut traffic = Self::default();
        traffic.ledger.begin(pid, tids, now, &mut traffic.files);
        Ok(traffic)
    }

    /// Resumes after a pause with a program's threads.
    pub(super) fn begin_anew(&mut self, pid: u32, now: u64) {
        let tids = proc::threads(pid);
        self.ledger.begin(pid, &tids, now, &mut self.files);
    }

    /// Notes that a thread was given a CPU or left it.
    pub(super) fn change(&mut self, ThreadId { pid, tid }: ThreadId, change: Change, time: u64) {
        self.ledger.change(pid, tid, change, time);
    }

    /// Notes that changes were lost.
    pub(super) fn lose_track(&mut self, now: u64) {
        self.ledger.lose_track(now);
    }

    /// Reads threads that have run since the last tick. If there are too many, each has the same
    /// chance: the draw decides which one is the first.
    pub(super) fn read_due(
        &mut self,
        core: &mut Core,
        draw: usize,
        tick: u64,
        sink: &mut Sink<'_>,
    ) {
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        let mut found = Vec::new();
        let until = now + tick / PART;
        let goes_on = || sys::nanoseconds(libc::CLOCK_MONOTONIC) < until;
        self.ledger
            .read(now, draw, &mut self.files, goes_on, &mut found);
        if let Some(error) = self.ledger.take_refused()
            && !std::mem::replace(&mut self.has_noted_refusal, true)
        {
            core.notes.push(not_recorded(&error));
        }
        emit(&found, core, sink);
        core.drain_calls(sink);
    }

    /// Emits the rest of a program that has ended or was replaced.
    pub(super) fn finish(&mut self, core: &Core, pid: u32, sink: &mut Sink<'_>) {
        let rest = self.rest(core, Some(pid));
        emit(&rest, core, sink);
    }

    /// Sampling is about to be paused: the rest of all programs is kept until it can be emitted.
    pub(super) fn stop(&mut self, core: &Core) {
        let rest = self.rest(core, None);
        self.stopped.extend(rest);
    }

    /// Emits what was kept at the pause.
    pub(super) fn emit_stopped(&mut self, core: &Core, sink: &mut Sink<'_>) {
        let stopped = std::mem::take(&mut self.stopped);
        emit(&stopped, core, sink);
    }

    /// Forgets what was kept at the pause.
    pub(super) fn forget_stopped(&mut self) {
        self.stopped.clear();
    }

    /// The rest of one process, or of all.
    fn rest(&mut self, core: &Core, of: Option<u32>) -> Vec<Stretch> {
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        let mut rest = Vec::new();
        let Self { ledger, files, .. } = self;
        let pids = of.map_or_else(|| ledger.pids(), |pid| vec![pid]);
        for &pid in &pids {
            ledger.finish(pid, now, files, &mut rest);
        }
        // The count of the first process includes others only where children are recorded.
        let first = core.processes.root.filter(|_| core.options.follow);
        let has_ended = |pid| proc::stat(pid).is_none_or(|stat| stat.has_ended());
        if let Some(first) = first.filter(|&first| match of {
            Some(pid) => pid == first && has_ended(pid),
            None => true,
        }) {
            ledger.finish_first(first, now, files, &mut rest);
        }
        for pid in pids {
            // If the process runs another program, its counts go on.
            if has_ended(pid) {
                ledger.forget(pid, now, files);
            }
        }
        rest
    }
}

/// Emits stretches of traffic.
fn emit(stretches: &[Stretch], core: &Core, sink: &mut Sink<'_>) {
    let mut by_program: HashMap<u32, Vec<u64>> = HashMap::new();
    for stretch in stretches {
        let Some(&key) = core.processes.last_of.get(&stretch.pid) else {
            continue;
        };
        let number = core.processes.number_of(key, stretch.tid).unwrap_or(0);
        let record = profundo_wire::Traffic {
            thread: number,
            tid: stretch.tid,
            waits: stretch.waits,
            from: core.scale.cycles_at(stretch.from),
            to: core.scale.cycles_at(stretch.to),
            read: stretch.counters.read,
            written: stretch.counters.written,
            fetched: stretch.counters.fetched,
            stored: stretch.counters.stored,
        };
        by_program.entry(key).or_default().extend(record.to_words());
    }
    emit_words(by_program, sink);
}

fn not_recorded(error: &std::io::Error) -> String {
    format!(
        "what is read and written is not recorded: {}",
        traffic_refused(error)
    )
}
