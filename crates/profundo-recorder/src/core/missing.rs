//! The notes about what a recording lacks: processes without a ring, unwind tables without room,
//! threads without a clock.

use std::sync::atomic::Ordering;

use profundo_permits::perf_refused;
use profundo_process::reading::Counts;
use profundo_wire::recording::Event;

use super::Core;
use crate::program::Way;

impl Core {
    /// Notes once what is missing, and why.
    pub(crate) fn note_what_is_missing(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        let starved = self.control().starved.load(Ordering::Relaxed);
        if let Some(trouble) = self
            .transport
            .rings
            .trouble
            .as_ref()
            .filter(|_| !self.emitted.no_room)
        {
            self.emitted.no_room = true;
            sink(Event::Note(format!(
                "no room for more processes in {}: {trouble}",
                self.transport.directory.path_for_programs().display()
            )));
        }
        if let Some(trouble) = self
            .transport
            .store
            .take_trouble()
            .filter(|_| !self.emitted.no_tables)
        {
            self.emitted.no_tables = true;
            sink(Event::Note(format!(
                "no room for unwind tables in {}: {trouble}; some stacks are walked by frame \
                 pointers only",
                self.transport.directory.path_for_programs().display()
            )));
        }
        if starved != self.emitted.starved {
            let more = starved.wrapping_sub(self.emitted.starved);
            self.emitted.starved = starved;
            let lost = match &self.options.calls {
                Some(calls) if calls.exceptions => Lost::Exceptions,
                Some(calls) if calls.lines.is_some() => Lost::Lines,
                Some(_) => Lost::Calls,
                None if self.can_sample_outside() => Lost::Moments,
                None => Lost::Samples,
            };
            let are_allocations = self.options.memory.is_some();
            sink(Event::Note(starved_note(more, lost, are_allocations)));
        }
        let unmapped = self.control().unmapped.load(Ordering::Relaxed);
        let more = unmapped.wrapping_sub(std::mem::replace(&mut self.emitted.unmapped, unmapped));
        if more > 0 {
            sink(Event::Note(unmapped_note(more)));
        }
        if self.emitted.no_clock {
            return;
        }
        let mut without = 0;
        let mut refusal = None;
        for program in self.processes.programs.values_mut() {
            if let Way::Agent(agent) = &mut program.way {
                without += agent.without_clock;
                refusal = agent.refusal.take().or(refusal);
            }
        }
        if let Some(error) = refusal.filter(|_| without > 0) {
            self.emitted.no_clock = true;
            let gap = perf_refused(&error);
            sink(Event::Note(format!(
                "{without} threads have no clock, and are sampled at the kernel's ticks alone: {gap}"
            )));
        }
    }

    /// Notes how the readings went, if something was left out.
    pub(crate) fn note_readings(&mut self) {
        let Counts {
            whole,
            broken,
            torn,
            refused,
            ..
        } = self.totals.readings;
        let all = whole + broken;
        if torn > 0 {
            let share = torn as f64 / all.max(1) as f64 * 100.0;
            self.notes.push(format!(
                "of {torn} of {all} samples ({share:.1} %) the Python frames were left out: the thread went \
                 on while they were read, and they may be of another instant"
            ));
        }
        if refused > 0 {
            self.notes.push(format!(
                "{refused} samples are of threads that could not be held, as those of a program under \
                 a debugger: their Python frames were read while they went on"
            ));
        }
    }
}

/// The loss of processes without a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lost {
    /// Their first moments; then they are sampled from outside.
    Moments,
    /// All of their samples.
    Samples,
    Calls,
    Lines,
    Exceptions,
}

/// The note about processes without a ring.
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
        Lost::Exceptions => format!("{began}: {their} exceptions were not counted"),
    }
}

/// The note about processes that did not map the shared memory.
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
