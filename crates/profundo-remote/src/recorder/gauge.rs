//! What programs have of the machine's memory, while they are recorded.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use profundo_probe::shared::Ends;
use profundo_wire::recording::{Event, Gauge};

use super::Recorder;
use crate::gauge::{LastWord, Unseen};
use crate::permits::gauge_refused;
use crate::program::Program;
use crate::sys;

impl Recorder {
    /// How long a turn may wait.
    pub(super) fn until_gauge(&self) -> Duration {
        match &self.gauges {
            Some(gauges) if self.running => {
                gauges.until_look(sys::nanoseconds(libc::CLOCK_MONOTONIC))
            }
            _ => Duration::MAX,
        }
    }

    /// Looks at a program that waits to begin: who knows how long it lives.
    pub(super) fn begin_gauges_of(&mut self, key: u32, pid: u32) {
        if let Some(gauges) = self.gauges.as_mut().filter(|_| self.running) {
            gauges.begin(key, pid, sys::nanoseconds(libc::CLOCK_MONOTONIC));
        }
    }

    /// Looks at programs that are new, and at those that are due.
    pub(super) fn look_at_memory(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        let Some(gauges) = self.gauges.as_mut().filter(|_| self.running) else {
            return;
        };
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        for (&key, program) in self.programs.range(gauges.newest() + 1..) {
            gauges.begin(key, program.pid, now);
        }
        gauges.has_all_up_to(self.keys);
        let programs = &self.programs;
        let add = |gauge: &mut Gauge| add_counts(gauge, programs);
        let unseen = gauges.look(now, &add, &mut |gauge| sink(Event::Gauge(gauge)));
        self.tell_unseen(unseen);
    }

    /// A program has ended or become another one.
    pub(super) fn end_gauges_of(
        &mut self,
        program: &Program,
        is_replaced: bool,
        sink: &mut dyn FnMut(Event<'_>),
    ) {
        let Some(gauges) = &mut self.gauges else {
            return;
        };
        let now = profundo_probe::clock::now();
        let agent = program.agent();
        let word = agent.and_then(|agent| last_word(&agent.header().ends));
        let mut tell = |gauge| sink(Event::Gauge(gauge));
        match is_replaced {
            true => gauges.replaced(program.key, &mut tell),
            false => gauges.ended(program.key, now, word, &mut tell),
        }
    }

    /// The recording is over while programs live.
    pub(super) fn finish_gauges(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        let Some(gauges) = &mut self.gauges else {
            return;
        };
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        let mut tell = |gauge| sink(Event::Gauge(gauge));
        let programs = &self.programs;
        let add = |gauge: &mut Gauge| add_counts(gauge, programs);
        let unseen = match self.running {
            true => gauges.look_last(now, &add, &mut tell),
            false => None,
        };
        gauges.finish(&mut tell);
        self.tell_unseen(unseen);
    }

    /// Says once of each file why it was not read.
    fn tell_unseen(&mut self, unseen: Option<Unseen>) {
        let Some(Unseen { file, error }) = unseen else {
            return;
        };
        if !self.told.unseen.contains(&file) {
            self.told.unseen.push(file);
            self.notes.push(gauge_refused(file, &error).to_string());
        }
    }
}

/// What an agent counts: an interpreter's arenas, and what is in blocks where every one is counted.
fn add_counts(gauge: &mut Gauge, programs: &BTreeMap<u32, Program>) {
    if let Some(agent) = programs.get(&gauge.process).and_then(Program::agent) {
        let arenas = agent.header().memory.arenas.load(Ordering::Relaxed);
        // It gives back arenas that it has had before they were counted.
        gauge.arenas = if (arenas as i64) < 0 { 0 } else { arenas };
        if let Some(sums) = &agent.sums {
            let (in_use, mapped) = sums.in_use();
            (gauge.in_use, gauge.mapped) = (Some(in_use), Some(mapped));
        }
    }
}

/// What an agent has said at the end of its process.
fn last_word(ends: &Ends) -> Option<LastWord> {
    // Acquire pairs with the agent's release: the rest is there.
    (ends.known.load(Ordering::Acquire) != 0).then_some(())?;
    let of = |number: &AtomicU64| number.load(Ordering::Relaxed);
    let peak = of(&ends.peak);
    Some(LastWord {
        peak: (peak > of(&ends.peak_before)).then_some(peak),
        minor_faults: of(&ends.minor_faults),
        major_faults: of(&ends.major_faults),
    })
}
