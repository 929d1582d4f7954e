//! The programs of a recording. There may be a hundred thousand: an event of one never visits the
//! others.

use std::collections::VecDeque;

use profundo_model::{OriginId, Process, ProcessId, Profile};
use rustc_hash::FxHashMap;

use super::program::{PastProgram, Program, Summary};
use crate::clock::Clock;
use crate::modules::Registry;
use crate::qualified::Qualified;
use crate::threads_and_tasks::Numbers;

/// The number of clock events between the end of a program and the release of its tables.
pub(crate) const KEPT: u64 = 100;

/// The largest gap between a key and those before it.
const FAR: usize = 1 << 12;

/// The programs by their keys.
#[derive(Debug)]
pub(super) struct Programs {
    /// Programs with tables.
    present: FxHashMap<u32, Program>,
    /// Programs that have ended a while ago, with few events to come.
    past: FxHashMap<u32, PastProgram>,
    /// Programs that have ended, and the clock event at which their tables are released.
    ended: VecDeque<(u32, u64)>,
    /// The number of clock events.
    clock_events: u64,
    /// Whether the only process keeps its own numbers.
    is_single: bool,
    /// The number of processes in a continued profile.
    rows_before: usize,
    /// In a recording in pieces, the keys of the programs by their rows: a piece has only those of
    /// its time.
    keys: Option<Vec<u32>>,
    shared: Shared,
}

/// The state that all programs share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) registry: Registry,
    pub(super) numbers: Numbers,
    /// The names of functions whose interpreter knows only bare ones.
    pub(super) names: Qualified,
}

impl Programs {
    /// Continues after the processes of a profile.
    pub(super) fn after(profile: &Profile) -> Self {
        Self {
            present: FxHashMap::default(),
            past: FxHashMap::default(),
            ended: VecDeque::new(),
            clock_events: 0,
            is_single: false,
            rows_before: profile.processes.len(),
            keys: None,
            shared: Shared {
                registry: Registry::of(profile),
                numbers: Numbers::after(profile),
                names: Qualified::default(),
            },
        }
    }

    /// The only process keeps the numbers of its threads.
    pub(super) fn set_single(&mut self) {
        self.is_single = true;
    }

    /// The programs of a recording's first piece, or of a later one.
    pub(super) fn in_pieces(&mut self, before: Option<&mut Self>) {
        self.keys = Some(Vec::new());
        let numbers = &mut self.shared.numbers;
        match before {
            Some(before) => *numbers = before.shared.numbers.next_piece(),
            None => numbers.in_pieces(),
        }
    }

    /// The keys of the programs by their rows, in a piece of a recording.
    pub(super) fn keys(&self) -> &[u32] {
        self.keys.as_deref().unwrap_or_default()
    }

    /// The state that all programs share.
    pub(super) fn shared(&mut self) -> &mut Shared {
        &mut self.shared
    }

    /// The program with a key, and the state common to all programs.
    pub(super) fn get(&mut self, key: u32, profile: &mut Profile) -> (&mut Program, &mut Shared) {
        let Self {
            present,
            past,
            is_single,
            rows_before,
            keys,
            shared,
            ..
        } = self;
        let program = present.entry(key).or_insert_with(|| {
            if let Some(past) = past.get(&key) {
                return past.revive(key, *is_single);
            }
            let index = (key as usize).saturating_sub(1);
            let rows = &mut profile.processes;
            // Programs have their rows in the order of their keys, in whatever order they come: so
            // they are found again in a continued recording.
            let is_near = index < rows.len() + FAR && keys.is_none();
            let index = if is_near { index } else { rows.len() };
            if let Some(keys) = keys {
                keys.push(key);
            }
            let new = Process {
                // The labels of the recording, where it has some, are those of its processes.
                origin: profile
                    .origins
                    .len()
                    .checked_sub(1)
                    .map(OriginId::from_index),
                ..Process::default()
            };
            rows.resize(rows.len().max(index + 1), new);
            let mut program = Program::new(ProcessId::from_index(index), key, *is_single);
            if index < *rows_before {
                program.summary.is_resumed = true;
                program.stacks.resume(profile, program.id());
            }
            program
        });
        (program, shared)
    }

    /// The row and the initial working directory of a program, alive or not.
    pub(super) fn row_and_directory(&self, key: u32) -> Option<(ProcessId, &str)> {
        let program = self.present.get(&key);
        let present = program.map(|program| (program.id(), program.stacks.directory()));
        present.or_else(|| {
            let past = self.past.get(&key);
            past.map(|past| (past.summary.id, &*past.directory))
        })
    }

    /// A program was replaced by `exec`, if it had not ended before.
    pub(super) fn replaced(&mut self, key: u32, time: u64) {
        let program = self.present.get_mut(&key);
        let program = program.map(|program| &mut program.summary.ended);
        let past = self.past.get_mut(&key).map(|past| &mut past.summary.ended);
        for ended in program.into_iter().chain(past) {
            ended.get_or_insert(time);
        }
    }

    /// Turns the cycle counters of all programs into times.
    pub(super) fn settle_times(&self, clock: &Clock, profile: &mut Profile) {
        let present = self.present.values().map(|program| &program.summary);
        let past = self.past.values().map(|past| &past.summary);
        for summary in present.chain(past) {
            summary.settle_times(clock, profile);
        }
    }

    /// Like [`settle_times`](Self::settle_times), but for one program: there may be very many
    /// others.
    pub(super) fn settle_times_of(&self, key: u32, clock: &Clock, profile: &mut Profile) {
        let present = self.present.get(&key).map(|program| &program.summary);
        let past = self.past.get(&key).map(|past| &past.summary);
        for summary in present.into_iter().chain(past) {
            summary.settle_times(clock, profile);
        }
    }

    /// A program has ended: its tables are released some clock events later.
    pub(super) fn release_later(&mut self, key: u32) {
        self.ended.push_back((key, self.clock_events + KEPT));
    }

    /// Counts a clock event, and releases the tables of programs that have ended a while ago: they
    /// may be large.
    pub(super) fn release(&mut self) {
        self.clock_events += 1;
        while let Some(&(key, when)) = self.ended.front()
            && when <= self.clock_events
        {
            self.ended.pop_front();
            // Its calls are named at the end.
            if let Some(program) = self.present.remove(&key) {
                match program.has_calls {
                    true => drop(self.present.insert(key, program)),
                    false => drop(self.past.insert(key, PastProgram::of(program))),
                }
            }
        }
    }

    /// Programs with tables.
    pub(super) fn present_mut(&mut self) -> impl Iterator<Item = &mut Program> {
        self.present.values_mut()
    }

    /// Programs without tables.
    pub(super) fn past_mut(&mut self) -> impl Iterator<Item = &mut Summary> {
        self.past.values_mut().map(|past| &mut past.summary)
    }

    /// The number of programs with tables.
    #[cfg(test)]
    pub(super) fn count_present(&self) -> usize {
        self.present.len()
    }
}
