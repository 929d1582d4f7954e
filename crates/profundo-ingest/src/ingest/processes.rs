//! Processes that are announced, grow and end.

use profundo_model::{ProcessEnd, is_generated_code};
use profundo_wire::recording::{self, LossCounts, ModuleInfo, ProcessInfo, ThreadInfo};

use super::Ingest;

impl Ingest {
    /// Takes in an announced process, perhaps one that the file has already.
    pub(super) fn process(&mut self, info: &ProcessInfo) {
        let profile = &mut self.profile;
        let parent = self.programs.row_and_directory(info.parent);
        // The child of a fork has its parent's code, whatever its directory is by then.
        let forker = parent.filter(|(parent, _)| {
            let command = profile.processes[parent.index()].command;
            profile.strings.get(command) == info.command
        });
        let directory = match forker.map(|(_, directory)| directory) {
            Some(directory) if !directory.is_empty() => directory.to_owned(),
            _ => info.directory.clone(),
        };
        let parent = parent.map(|(parent, _)| parent);
        let (program, _) = self.programs.get(info.key, profile);
        let parent = parent.filter(|&parent| parent != program.id());
        program.announce(profile, info, directory, parent);
        // A replaced program has ended, even without an event about it.
        if let Some(parent) = parent
            && profile.processes[parent.index()].pid == info.pid
        {
            self.programs.replaced(info.parent, info.started);
            profile.processes[parent.index()].end = ProcessEnd::Replaced;
            (self.programs).settle_times_of(info.parent, &self.clock, profile);
        }
        (self.programs).settle_times_of(info.key, &self.clock, profile);
    }

    /// Takes in new and unloaded modules.
    pub(super) fn modules(&mut self, process: u32, modules: &[ModuleInfo]) {
        let (program, shared) = self.programs.get(process, &mut self.profile);
        let profile = &mut self.profile;
        program.generates |= modules.iter().any(|module| is_generated_code(&module.path));
        let id = program.id();
        (program.stacks).modules(profile, &mut shared.registry, id, modules);
        program.mark_interpreter(profile);
    }

    /// Takes in a thread that is new, or of which more is known now.
    pub(super) fn thread(&mut self, process: u32, thread: &ThreadInfo, gil_wait: u64) {
        let (program, shared) = self.programs.get(process, &mut self.profile);
        let profile = &mut self.profile;
        program.adopt(profile, thread.number, thread.tid);
        let has_lock = program.interpreter.is_some() || gil_wait > 0;
        let gil_wait = has_lock.then_some(gil_wait);
        (program.threads).update(profile, &mut shared.numbers, thread, gil_wait);
    }

    /// Takes in the interpreter of a process, and the module that it is in.
    pub(super) fn runtime(&mut self, process: u32, runtime: &str, module: &str) {
        let (program, _) = self.programs.get(process, &mut self.profile);
        let profile = &mut self.profile;
        program.interpreter = Some(profile.strings.intern(module));
        program.mark_interpreter(profile);
        let runtime = profile.strings.intern(runtime);
        profile.processes[program.id().index()].runtime = runtime;
    }

    /// Takes in the losses of one program so far.
    pub(super) fn count_loss(&mut self, key: u32, lost: LossCounts) {
        let (program, _) = self.programs.get(key, &mut self.profile);
        let losses = &mut program.summary.losses;
        let before = losses.since_clearing();
        losses.set(lost);
        let now = losses.since_clearing();
        let loss = &mut self.profile.meta.loss;
        let count = |sum: &mut u64, before: u64, now: u64| *sum = sum.saturating_sub(before) + now;
        count(&mut loss.buffer_full, before.buffer_full, now.buffer_full);
        count(&mut loss.overwritten, before.overwritten, now.overwritten);
        count(&mut loss.reentrant, before.reentrant, now.reentrant);
        let (before, now) = (before.thread_table_full, now.thread_table_full);
        count(&mut loss.thread_table_full, before, now);
    }

    /// Takes in the end of a process.
    pub(super) fn ended(&mut self, end: &recording::ProcessEnd) {
        self.allocations.blocks.forget(end.process);
        let (program, _) = self.programs.get(end.process, &mut self.profile);
        program.end(&mut self.profile, end);
        (self.programs).settle_times_of(end.process, &self.clock, &mut self.profile);
        self.programs.release_later(end.process);
    }
}
