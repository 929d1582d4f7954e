//! The memory of programs while they are recorded.

mod readings;
mod series;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use profundo_linux::sys;
use profundo_permits::gauge_refused;
use profundo_probe::shared::Ends;
use profundo_wire::recording::{Event, Gauge as Reading};

use super::{Leaving, Part, Sink};
use crate::core::{Core, Processes};
use crate::options::Options;
use crate::program::Program;

use readings::{Gauges, LastWord, Unseen};

/// Reads memory, if it is recorded.
#[derive(Debug)]
pub(crate) struct Gauge(Option<Gauges>);

impl Gauge {
    /// The gauges, before the first program.
    pub(super) fn new(options: &Options) -> Self {
        Self((options.memory).map(|_| Gauges::new(options.agent.is_some())))
    }
}

impl Part for Gauge {
    fn until_due(&self, core: &Core) -> Duration {
        match &self.0 {
            Some(gauges) if core.running => {
                gauges.until_due(sys::nanoseconds(libc::CLOCK_MONOTONIC))
            }
            _ => Duration::MAX,
        }
    }

    /// Reads a program that is about to begin: it may be short-lived.
    fn hello(&mut self, core: &mut Core, key: u32, pid: u32) {
        if let Some(gauges) = self.0.as_mut().filter(|_| core.running) {
            gauges.begin(key, pid, sys::nanoseconds(libc::CLOCK_MONOTONIC));
        }
    }

    /// Reads programs that are new, and those that are due.
    fn turn(&mut self, core: &mut Core, sink: &mut Sink<'_>) {
        let Some(gauges) = self.0.as_mut().filter(|_| core.running) else {
            return;
        };
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        for (&key, program) in core.processes.programs.range(gauges.newest() + 1..) {
            gauges.begin(key, program.pid, now);
        }
        gauges.has_all_up_to(core.processes.last_key);
        let processes = &core.processes;
        let add = |gauge: &mut Reading| add_counts(gauge, processes);
        let unseen = gauges.read_due(now, &add, &mut |gauge| sink(Event::Gauge(gauge)));
        note_unread(unseen, core);
    }

    fn ended(
        &mut self,
        _core: &mut Core,
        program: &mut Program,
        why: Leaving,
        sink: &mut Sink<'_>,
    ) {
        let Some(gauges) = &mut self.0 else {
            return;
        };
        let now = profundo_probe::clock::now();
        let agent = program.agent();
        let word = agent.and_then(|agent| last_word(&agent.header().ends));
        let mut emit = |gauge| sink(Event::Gauge(gauge));
        match why {
            Leaving::Replaced => gauges.replaced(program.key, &mut emit),
            Leaving::Ended => gauges.ended(program.key, now, word, &mut emit),
            // All living programs are read once more at the end.
            Leaving::Alive => {}
        }
    }

    /// Reads all living programs at the end of the recording.
    fn finish(&mut self, core: &mut Core, sink: &mut Sink<'_>) {
        let Some(gauges) = &mut self.0 else {
            return;
        };
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        let mut emit = |gauge| sink(Event::Gauge(gauge));
        let processes = &core.processes;
        let add = |gauge: &mut Reading| add_counts(gauge, processes);
        let unseen = match core.running {
            true => gauges.read_last(now, &add, &mut emit),
            false => None,
        };
        gauges.finish(&mut emit);
        note_unread(unseen, core);
    }
}

/// Notes once for each file why it was not read.
fn note_unread(unseen: Option<Unseen>, core: &mut Core) {
    let Some(Unseen { file, error }) = unseen else {
        return;
    };
    if core.emitted.unread_files.insert(file) {
        core.notes.push(gauge_refused(file, &error).to_string());
    }
}

/// Adds the agent's counts: an interpreter's arenas, and live blocks where all allocations are
/// counted.
fn add_counts(gauge: &mut Reading, processes: &Processes) {
    if let Some(agent) = processes
        .programs
        .get(&gauge.process)
        .and_then(Program::agent)
    {
        let arenas = agent.header().memory.arenas.load(Ordering::Relaxed);
        // It frees arenas that it had allocated before they were counted.
        gauge.arenas = if (arenas as i64) < 0 { 0 } else { arenas };
        if let Some(sums) = &agent.sums {
            let (in_use, mapped) = sums.in_use();
            (gauge.in_use, gauge.mapped) = (Some(in_use), Some(mapped));
        }
    }
}

/// The agent's figures at the end of its process.
fn last_word(ends: &Ends) -> Option<LastWord> {
    // Acquire pairs with the agent's release: the rest is written.
    (ends.known.load(Ordering::Acquire) != 0).then_some(())?;
    let of = |number: &AtomicU64| number.load(Ordering::Relaxed);
    let peak = of(&ends.peak);
    Some(LastWord {
        peak: (peak > of(&ends.peak_before)).then_some(peak),
        minor_faults: of(&ends.minor_faults),
        major_faults: of(&ends.major_faults),
    })
}
