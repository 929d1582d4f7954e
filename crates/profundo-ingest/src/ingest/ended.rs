//! What becomes of a program's records and times when it has ended, and what it has lost. There may be a hundred thousand
//! programs: no telling of one looks at the others.

use profundo_model::{Nanos, ProcessEnd, Profile};
use profundo_wire::recording::{self, HowEnded, LossCounts};

use super::{Ingest, Program};
use crate::clock::Clock;
use crate::files::Files;
use crate::waits::Waits;

/// How often it is told after the end of a program before what is needed to understand its records is given back.
pub(crate) const KEPT: u64 = 100;

impl Ingest {
    /// How many programs there are whose records are understood.
    #[cfg(test)]
    pub(crate) fn understood(&self) -> usize {
        let programs = self.processes.values();
        programs.filter(|it| !it.stacks.is_given_back()).count()
    }

    pub(super) fn ended(&mut self, end: &recording::ProcessEnd) {
        self.blocks.forget(end.process);
        let ((program, ..), profile) = self.program(end.process);
        program.ended = Some(end.ended);
        let row = &mut profile.processes[program.id.index()];
        row.user = end.user.map(Nanos).or(row.user);
        row.system = end.system.map(Nanos).or(row.system);
        row.end = match end.how {
            HowEnded::Unknown => row.end,
            HowEnded::Exited(code) => ProcessEnd::Exited(code),
            HowEnded::Killed(signal) => ProcessEnd::Killed(signal),
            HowEnded::Replaced => ProcessEnd::Replaced,
        };
        self.settle_times_of(end.process);
        self.ended.push_back((end.process, self.tellings + KEPT));
    }

    /// Cycle counters become times as soon as the clock is known.
    pub(super) fn settle_times(&mut self) {
        for program in self.processes.values() {
            program.settle_times(&self.clock, &mut self.profile);
        }
    }

    /// The same of one program. There may be very many others.
    pub(super) fn settle_times_of(&mut self, key: u32) {
        if let Some(program) = self.processes.get(&key) {
            program.settle_times(&self.clock, &mut self.profile);
        }
    }

    /// Nobody tells of programs any more that have ended a while ago. What their words meant may be large.
    pub(super) fn give_back(&mut self) {
        self.tellings += 1;
        while let Some(&(key, when)) = self.ended.front()
            && when <= self.tellings
        {
            self.ended.pop_front();
            // What it has called is named at the end.
            let program = self.processes.get_mut(&key);
            if let Some(program) = program.filter(|program| !program.has_calls) {
                program.stacks.give_back();
                program.files = Files::default();
                program.waits = Waits::default();
            }
        }
    }

    /// One program has lost so much so far.
    pub(super) fn count_loss(&mut self, key: u32, lost: LossCounts) {
        let program = self.program(key).0.0;
        let before = program.lost_of_recording();
        program.lost = lost;
        let now = program.lost_of_recording();
        let loss = &mut self.profile.meta.loss;
        let count = |sum: &mut u64, before: u64, now: u64| *sum = sum.saturating_sub(before) + now;
        count(&mut loss.buffer_full, before.buffer_full, now.buffer_full);
        count(&mut loss.overwritten, before.overwritten, now.overwritten);
        count(&mut loss.reentrant, before.reentrant, now.reentrant);
        let (before, now) = (before.thread_table_full, now.thread_table_full);
        count(&mut loss.thread_table_full, before, now);
    }
}

impl Program {
    fn settle_times(&self, clock: &Clock, profile: &mut Profile) {
        if !clock.is_known() {
            return;
        }
        let row = &mut profile.processes[self.id.index()];
        if self.started > 0 && !self.is_resumed {
            row.started = Some(clock.since_start(self.started));
        }
        if let Some(ended) = self.ended.filter(|&ended| ended > 0) {
            row.ended = Some(clock.since_start(ended));
        }
    }

    /// What it has lost, but for what was to be forgotten.
    fn lost_of_recording(&self) -> LossCounts {
        let (lost, before) = (self.lost, self.lost_cleared);
        LossCounts {
            buffer_full: lost.buffer_full.saturating_sub(before.buffer_full),
            overwritten: lost.overwritten.saturating_sub(before.overwritten),
            reentrant: lost.reentrant.saturating_sub(before.reentrant),
            thread_table_full: lost
                .thread_table_full
                .saturating_sub(before.thread_table_full),
        }
    }
}
