//! Work that is due once a second, or a few times in a second.

use profundo_linux::sys;
use profundo_wire::recording::Event;

use super::{Recorder, SLOW};
use crate::core::Core;
use crate::program::Way;

impl Recorder {
    pub(super) fn once_a_second(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        /// The interval of checks for blocking threads, which block our signal, and for debuggers.
        const BLOCKING: u64 = 200_000_000;
        let monotonic = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        if self.core.running && monotonic.saturating_sub(self.schedule.blocking) >= BLOCKING {
            self.schedule.blocking = monotonic;
            self.core.sample_blocking_threads(sink);
        }
        self.vary_period(monotonic);
        if monotonic.saturating_sub(self.schedule.second) < SLOW {
            return;
        }
        self.schedule.second = monotonic;
        let core = &mut self.core;
        core.scale.measure();
        let now = profundo_probe::clock::now();
        let plan = core.clock_plan();
        for program in core.processes.programs.values_mut() {
            if let Way::Agent(agent) = &mut program.way {
                agent.update_trap(plan, true);
            }
            program.read_times();
            program.emit_loss(sink);
            if let Way::Agent(agent) = &mut program.way {
                agent.emit_changed_threads(program.key, &core.scale, sink);
            }
        }
        for part in self.parts.all() {
            part.second(&mut self.core, monotonic, sink);
        }
        self.end_unwatched(sink);
        let core = &mut self.core;
        let by_ring = &mut core.processes.by_ring;
        core.transport.recycle_silent(now, by_ring, &core.scale);
        core.tidy_deferred();
        core.transport.store.tidy();
        core.processes.forget_ended();
        core.note_what_is_missing(sink);
    }

    /// Changes the period of clocks on programs without an agent after every `STRETCH` periods.
    fn vary_period(&mut self, monotonic: u64) {
        const STRETCH: u64 = 50;
        let period = self.core.options.period;
        let schedule = &mut self.schedule;
        if self.core.running && monotonic.saturating_sub(schedule.varied) >= STRETCH * period {
            schedule.varied = monotonic;
            // The kernel begins a period anew that changes: half of one is lost on average.
            let period = period - period / (2 * STRETCH);
            self.outside
                .set_period(schedule.periods.next_for_a_time(period));
        }
    }
}

impl Core {
    /// Samples threads that block our signal.
    fn sample_blocking_threads(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        // Samples that are still in a ring stand for time that would otherwise seem unsampled.
        self.drain(sink);
        let now = profundo_probe::clock::now();
        let mut words = Vec::new();
        let plan = self.clock_plan();
        for program in self.processes.programs.values_mut() {
            if let Way::Agent(agent) = &mut program.way {
                agent.check_for_debugger(plan);
                agent.sample_blocking_threads(plan, now, &mut words);
                if !words.is_empty() {
                    let (process, words) = (program.key, &words);
                    sink(Event::Words { process, words });
                }
                words.clear();
            }
        }
    }
}
