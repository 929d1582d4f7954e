//! The state of one program: its tables while events about it may come, and a summary after that.

use profundo_model::{Nanos, ProcessEnd, ProcessId, Profile, StringId};
use profundo_wire::recording::{self, HowEnded, LossCounts, ProcessInfo};

use crate::clock::Clock;
use crate::files::Files;
use crate::stacks::Stacks;
use crate::threads_and_tasks::{Numbering, Row, Threads, root_task_of};
use crate::waits::Waits;

/// The key of the first program.
const FIRST_KEY: u32 = 1;

/// The state of one program.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) summary: Summary,
    pub(super) stacks: Stacks,
    pub(super) waits: Waits,
    pub(super) files: Files,
    pub(super) threads: Threads,
    /// The path of the interpreter's module.
    pub(super) interpreter: Option<StringId>,
    /// True if the program generates code.
    pub(super) generates: bool,
    /// True if the program has calls, which are taken in at the end.
    pub(super) has_calls: bool,
}

/// The remains of a program that has ended a while ago. Its rows are in the profile.
#[derive(Debug)]
pub(super) struct PastProgram {
    pub(super) summary: Summary,
    /// Its initial working directory, which its children may need.
    pub(super) directory: Box<str>,
}

/// The part of a program's state that outlives its tables.
#[derive(Debug)]
pub(super) struct Summary {
    pub(super) id: ProcessId,
    /// Its start, by the cycle counter.
    pub(super) started: u64,
    /// Its end, by the cycle counter.
    pub(super) ended: Option<u64>,
    /// True if the program continues a process of the profile.
    pub(super) is_resumed: bool,
    pub(super) losses: Losses,
}

/// The losses of a program.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Losses {
    /// All losses so far.
    so_far: LossCounts,
    /// Losses before the last clearing.
    before_clearing: LossCounts,
}

impl Program {
    pub(super) fn new(id: ProcessId, key: u32, is_single: bool) -> Self {
        let numbering = match (is_single, key == FIRST_KEY) {
            (true, _) => Numbering::AsRecorded,
            (false, true) => Numbering::First,
            (false, false) => Numbering::Later,
        };
        let key = if is_single { 0 } else { key };
        Self {
            summary: Summary {
                id,
                started: 0,
                ended: None,
                is_resumed: false,
                losses: Losses::default(),
            },
            stacks: Stacks::default(),
            waits: Waits::default(),
            files: Files::default(),
            threads: Threads::new(id, numbering, key),
            interpreter: None,
            generates: false,
            has_calls: false,
        }
    }

    /// Its row in the profile.
    pub(super) fn id(&self) -> ProcessId {
        self.summary.id
    }

    /// In a continued recording, gives a thread the row that the profile has for its kernel id.
    pub(super) fn adopt(&mut self, profile: &Profile, number: u32, tid: u32) {
        if !self.summary.is_resumed || self.threads.knows(number) {
            return;
        }
        let threads = profile.threads.iter();
        let known = threads.filter(|(_, thread)| thread.process == self.id() && thread.tid == tid);
        if let Some((id, thread)) = known.last() {
            let row = Row {
                id,
                root: profile.tasks.find_number(root_task_of(thread.number)),
                is_named: thread.name != StringId::default(),
            };
            self.threads.adopt(number, tid, row);
        }
    }

    /// Marks the modules of its interpreter, if it has one.
    pub(super) fn mark_interpreter(&self, profile: &mut Profile) {
        if let Some(path) = self.interpreter {
            self.stacks.module_map().mark_interpreter(profile, path);
        }
    }

    /// Fills in the row of an announced process, perhaps one that the file has already.
    pub(super) fn announce(
        &mut self,
        profile: &mut Profile,
        info: &ProcessInfo,
        directory: String,
        parent: Option<ProcessId>,
    ) {
        self.summary.started = info.started;
        self.stacks.began(directory, &info.command);
        let (id, is_resumed) = (self.id(), self.summary.is_resumed);
        let row = &mut profile.processes[id.index()];
        row.pid = info.pid;
        // A process that has ended has no command line any more, and its id may be another
        // process's by now: the file's one stays.
        if !is_resumed || profile.strings.get(row.command).is_empty() {
            row.command = profile.strings.intern(&info.command);
        }
        let strings = &mut profile.strings;
        let environment = info.environment.iter().map(|name| strings.intern(name));
        if !is_resumed || row.environment.is_empty() {
            row.environment = environment.collect();
        }
        if !is_resumed || row.labels.is_empty() {
            let labels = info.labels.iter();
            let labels = labels.map(|(key, value)| (strings.intern(key), strings.intern(value)));
            row.labels = labels.collect();
        }
        row.parent = match is_resumed {
            true => row.parent.or(parent),
            false => parent,
        };
    }

    /// Fills in the end of a process.
    pub(super) fn end(&mut self, profile: &mut Profile, end: &recording::ProcessEnd) {
        self.summary.ended = Some(end.ended);
        let row = &mut profile.processes[self.id().index()];
        row.user = end.user.map(Nanos).or(row.user);
        row.system = end.system.map(Nanos).or(row.system);
        row.end = match end.how {
            HowEnded::Unknown => row.end,
            HowEnded::Exited(code) => ProcessEnd::Exited(code),
            HowEnded::Killed(signal) => ProcessEnd::Killed(signal),
            HowEnded::Replaced => ProcessEnd::Replaced,
        };
    }
}

impl PastProgram {
    /// Keeps the remains of a program.
    pub(super) fn of(program: Program) -> Self {
        Self {
            directory: program.stacks.directory().into(),
            summary: program.summary,
        }
    }

    /// The state of a program for a late event. Its threads are recognised by the kernel's ids.
    pub(super) fn revive(&self, key: u32, is_single: bool) -> Program {
        let mut program = Program::new(self.summary.id, key, is_single);
        program.summary.is_resumed = true;
        program.summary.losses = self.summary.losses;
        program
    }
}

impl Summary {
    /// Turns the two cycle counters of a process into times, as soon as the clock is known.
    pub(super) fn settle_times(&self, clock: &Clock, profile: &mut Profile) {
        if !clock.is_known() {
            return;
        }
        let row = &mut profile.processes[self.id.index()];
        if !self.is_resumed && self.started > 0 {
            row.started = Some(clock.since_start(self.started));
        }
        if let Some(ended) = self.ended.filter(|&ended| ended > 0) {
            row.ended = Some(clock.since_start(ended));
        }
    }
}

impl Losses {
    /// Replaces the losses so far.
    pub(super) fn set(&mut self, so_far: LossCounts) {
        self.so_far = so_far;
    }

    /// Ignores the losses so far.
    pub(super) fn clear(&mut self) {
        self.before_clearing = self.so_far;
    }

    /// The losses since the last clearing.
    pub(super) fn since_clearing(&self) -> LossCounts {
        let (lost, before) = (self.so_far, self.before_clearing);
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
