//! What is looked at once a second.

use std::sync::atomic::Ordering;

use profundo_wire::recording::Event;

use super::{Recorder, SLOW};
use crate::permits::perf_refused;
use crate::program::Way;
use crate::sys;

impl Recorder {
    pub(super) fn look_at_slow_matters(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        /// Threads that block our signal, and debuggers, are looked for this often.
        const DEAF: u64 = 200_000_000;
        let monotonic = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        if self.running && monotonic.saturating_sub(self.deaf) >= DEAF {
            self.deaf = monotonic;
            self.look_for_deaf(sink);
        }
        self.vary_period(monotonic);
        if monotonic.saturating_sub(self.slow) < SLOW {
            return;
        }
        self.slow = monotonic;
        self.scale.look();
        let now = profundo_probe::clock::now();
        let plan = self.clock_plan();
        for program in self.programs.values_mut() {
            if let Way::Agent(agent) = &mut program.way {
                agent.mind_traps(plan, true);
            }
            program.read_times();
            program.tell_loss(sink);
            if let Way::Agent(agent) = &mut program.way {
                agent.tell(program.key, &self.scale, sink);
            }
        }
        self.mind_energy(monotonic, sink);
        self.bury_unwatched(sink);
        self.give_back_rings(now);
        self.tidy_deferred();
        self.store.tidy();
        /// More processes than are needed as parents.
        const MANY: usize = 1 << 16;
        if self.last_of.len() > MANY {
            let programs = &self.programs;
            self.last_of.retain(|_, key| programs.contains_key(key));
            let last_of = &self.last_of;
            self.last_began.retain(|pid, _| last_of.contains_key(pid));
        }
        self.say_what_is_missing(sink);
    }

    /// Changes the period of the kernel's clocks on programs without an agent, after so many of them.
    fn vary_period(&mut self, monotonic: u64) {
        const STRETCH: u64 = 50;
        let period = self.options.period;
        if self.running && monotonic.saturating_sub(self.varied) >= STRETCH * period {
            self.varied = monotonic;
            self.outside.set_period(self.periods.next(period));
        }
    }

    /// Looks for threads that block our signal.
    fn look_for_deaf(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        // Samples that are still in a ring stand for time that would otherwise seem to have none.
        self.drain(sink);
        let now = profundo_probe::clock::now();
        let mut words = Vec::new();
        let plan = self.clock_plan();
        for program in self.programs.values_mut() {
            if let Way::Agent(agent) = &mut program.way {
                agent.mind_debuggers(plan);
                agent.look_for_deaf(plan, now, &mut words);
                if !words.is_empty() {
                    let (process, words) = (program.key, &words);
                    sink(Event::Words { process, words });
                }
                words.clear();
            }
        }
    }

    /// Rings whose process ended before it had said who it is.
    fn give_back_rings(&mut self, now: u64) {
        let control = self.directory.control();
        for (index, _) in self.rings.taken(control) {
            let known = self.by_ring.get(&index);
            let pid = control
                .rings
                .get(index)
                .map_or(0, |entry| entry.pid.load(Ordering::Relaxed));
            let is_of_nobody = match known {
                None => true,
                // Refused: it stays until its process is gone.
                Some(0) => !sys::is_alive(pid),
                Some(_) => false,
            };
            if !is_of_nobody || (pid != 0 && sys::is_alive(pid)) {
                self.silent.remove(&index);
                continue;
            }
            // Once more after a second: it may be between two of its steps.
            let since = *self.silent.entry(index).or_insert(now);
            if self.scale.nanoseconds(now.saturating_sub(since)) >= SLOW / 2 {
                self.silent.remove(&index);
                self.by_ring.remove(&index);
                self.rings.recycle(index, control);
            }
        }
    }

    pub(super) fn say_what_is_missing(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        let starved = self.control().starved.load(Ordering::Relaxed);
        if let Some(trouble) = self.rings.trouble.as_ref().filter(|_| !self.told.no_room) {
            self.told.no_room = true;
            sink(Event::Note(format!(
                "no room for more processes in {}: {trouble}",
                self.directory.path().display()
            )));
        }
        if let Some(trouble) = self.store.take_trouble().filter(|_| !self.told.no_tables) {
            self.told.no_tables = true;
            sink(Event::Note(format!(
                "no room for unwind tables in {}: {trouble}; some stacks are walked by frame \
                 pointers only",
                self.directory.path().display()
            )));
        }
        if starved != self.told.starved {
            let more = starved.wrapping_sub(self.told.starved);
            self.told.starved = starved;
            let lost = match &self.options.calls {
                Some(calls) if calls.lines.is_some() => Lost::Lines,
                Some(_) => Lost::Calls,
                None if self.can_sample_outside() => Lost::Moments,
                None => Lost::Samples,
            };
            let are_allocations = self.options.memory.is_some();
            sink(Event::Note(starved_note(more, lost, are_allocations)));
        }
        let unmapped = self.control().unmapped.load(Ordering::Relaxed);
        let more = unmapped.wrapping_sub(std::mem::replace(&mut self.told.unmapped, unmapped));
        if more > 0 {
            sink(Event::Note(unmapped_note(more)));
        }
        if self.told.no_clock {
            return;
        }
        let mut without = 0;
        let mut refusal = None;
        for program in self.programs.values_mut() {
            if let Way::Agent(agent) = &mut program.way {
                without += agent.without_clock;
                refusal = agent.refusal.take().or(refusal);
            }
        }
        if let Some(error) = refusal.filter(|_| without > 0) {
            self.told.no_clock = true;
            let gap = perf_refused(&error);
            sink(Event::Note(format!(
                "{without} threads have no clock, and are sampled at the kernel's ticks alone: {gap}"
            )));
        }
    }
}

/// What is lost of processes that had no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lost {
    /// Their first moments: then they are sampled from outside.
    Moments,
    /// All of their samples.
    Samples,
    Calls,
    Lines,
}

/// What is said of processes that had no room.
fn starved_note(count: u32, lost: Lost, are_allocations: bool) -> String {
    let (processes, were, their) = match count {
        1 => ("1 process".to_owned(), "was", "its"),
        several => (format!("{several} processes"), "were", "their"),
    };
    let began = format!("{processes} began while the recorder was busy");
    let and_allocations = match are_allocations {
        true => format!("; {their} allocations were not recorded"),
        false => String::new(),
    };
    match lost {
        Lost::Moments => format!(
            "{began}, and {were} sampled from outside from a tenth of a second on{and_allocations}"
        ),
        Lost::Samples => format!("{began}, and {were} not sampled{and_allocations}"),
        Lost::Calls => format!("{began}: {their} calls were not counted"),
        Lost::Lines => format!("{began}: {their} lines were not counted"),
    }
}

/// What is said of processes that did not come to share memory with us.
fn unmapped_note(count: u32) -> String {
    let (processes, were) = match count {
        1 => ("1 process".to_owned(), "was"),
        several => (format!("{several} processes"), "were"),
    };
    format!(
        "{processes} could not map the recording's memory (another root directory, or a limit of descriptors or \
         memory), and {were} not sampled from inside"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_what_was_wanted() {
        assert_eq!(
            starved_note(1, Lost::Samples, false),
            "1 process began while the recorder was busy, and was not sampled"
        );
        assert!(
            starved_note(2, Lost::Moments, true).ends_with("; their allocations were not recorded")
        );
        assert!(unmapped_note(2).starts_with("2 processes could not map"));
        assert!(starved_note(2, Lost::Calls, false).ends_with(": their calls were not counted"));
        assert!(starved_note(1, Lost::Lines, false).ends_with(": its lines were not counted"));
    }
}
