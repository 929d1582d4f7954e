//! What becomes of a program's records and times when it has ended, and what it has lost. There may be a hundred thousand
//! programs: no telling of one looks at the others.

use profundo_model::{Nanos, ProcessEnd, ProcessId, Profile};
use profundo_wire::recording::{self, HowEnded, LossCounts};

use super::{Ingest, Program};
use crate::clock::Clock;

/// How often it is told after the end of a program before what is needed to understand its records is given back.
pub(crate) const KEPT: u64 = 100;

/// What stays of a program that has ended a while ago. Its rows are in the profile.
#[derive(Debug)]
pub(super) struct Past {
    id: ProcessId,
    started: u64,
    ended: Option<u64>,
    is_resumed: bool,
    lost: LossCounts,
    lost_cleared: LossCounts,
    /// Where it began, which its children may ask.
    directory: Box<str>,
}

impl Ingest {
    /// The row of a program, and where it began, be it alive or not.
    pub(super) fn whoever(&self, key: u32) -> Option<(ProcessId, &str)> {
        let program = self.processes.get(&key);
        let living = program.map(|program| (program.id, program.stacks.directory()));
        living.or_else(|| self.past.get(&key).map(|past| (past.id, &*past.directory)))
    }

    /// A program has become another one, if it had not ended before.
    pub(super) fn replaced(&mut self, key: u32, time: u64) {
        let program = self.processes.get_mut(&key).map(|it| &mut it.ended);
        let past = self.past.get_mut(&key).map(|it| &mut it.ended);
        for ended in program.into_iter().chain(past) {
            ended.get_or_insert(time);
        }
    }

    /// How many programs there are whose records are understood.
    #[cfg(test)]
    pub(crate) fn understood(&self) -> usize {
        let programs = self.processes.values();
        programs.count()
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
        for past in self.past.values() {
            past.settle_times(&self.clock, &mut self.profile);
        }
    }

    /// The same of one program. There may be very many others.
    pub(super) fn settle_times_of(&mut self, key: u32) {
        if let Some(program) = self.processes.get(&key) {
            program.settle_times(&self.clock, &mut self.profile);
        }
        if let Some(past) = self.past.get(&key) {
            past.settle_times(&self.clock, &mut self.profile);
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
            if let Some(program) = self.processes.remove(&key) {
                match program.has_calls {
                    true => drop(self.processes.insert(key, program)),
                    false => drop(self.past.insert(key, Past::of(program))),
                }
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

/// What two cycle counters of a process are as times, as soon as the clock is known.
fn settle_times(
    (clock, profile): (&Clock, &mut Profile),
    id: ProcessId,
    started: Option<u64>,
    ended: Option<u64>,
) {
    if !clock.is_known() {
        return;
    }
    let row = &mut profile.processes[id.index()];
    if let Some(started) = started.filter(|&started| started > 0) {
        row.started = Some(clock.since_start(started));
    }
    if let Some(ended) = ended.filter(|&ended| ended > 0) {
        row.ended = Some(clock.since_start(ended));
    }
}

impl Past {
    fn of(program: Program) -> Self {
        Self {
            id: program.id,
            started: program.started,
            ended: program.ended,
            is_resumed: program.is_resumed,
            lost: program.lost,
            lost_cleared: program.lost_cleared,
            directory: program.stacks.directory().into(),
        }
    }

    /// Something is told of it after all. Its threads are known again by the kernel's numbers.
    pub(super) fn again(&self, key: u32, is_single: bool) -> Program {
        Program {
            is_resumed: true,
            lost: self.lost,
            lost_cleared: self.lost_cleared,
            ..Program::new(self.id, key, is_single)
        }
    }

    /// What it had lost is to be forgotten.
    pub(super) fn clear(&mut self) {
        self.lost_cleared = self.lost;
    }

    pub(super) fn id(&self) -> ProcessId {
        self.id
    }

    fn settle_times(&self, clock: &Clock, profile: &mut Profile) {
        let started = (!self.is_resumed).then_some(self.started);
        settle_times((clock, profile), self.id, started, self.ended);
    }
}

impl Program {
    fn settle_times(&self, clock: &Clock, profile: &mut Profile) {
        let started = (!self.is_resumed).then_some(self.started);
        settle_times((clock, profile), self.id, started, self.ended);
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
