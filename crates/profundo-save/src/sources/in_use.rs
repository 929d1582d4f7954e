//! The earliest time at which processes may have had the code of a file. Text written into the file
//! later is not certainly what ran.

use profundo_model::{FileId, ModuleId, ProcessId, Profile};
use rustc_hash::FxHashMap;

/// The kernel's start time of a process may be early by this many nanoseconds.
const TICK: u64 = 10_000_000;

/// The start times of processes, and the first process that had code of each file. All times are in
/// nanoseconds since 1970.
#[derive(Debug, Default)]
pub(super) struct InUse {
    processes: FxHashMap<ProcessId, u64>,
    files: FxHashMap<FileId, u64>,
    /// The first process that had each module.
    modules: FxHashMap<ModuleId, u64>,
    /// The number of processes of the profile that were examined.
    seen: usize,
}

impl InUse {
    /// Notes that a process has code of a file. Returns the earliest time at which it may have had
    /// it.
    pub(super) fn note(&mut self, profile: &Profile, process: ProcessId, file: FileId) -> u64 {
        let began = *(self.processes.entry(process)).or_insert_with(|| began(profile, process));
        let since = self.files.entry(file).or_insert(began);
        *since = began.min(*since);
        began
    }

    /// Notes the modules that processes have loaded: the profile's mappings from this one on.
    pub(super) fn note_modules(&mut self, profile: &Profile, first: usize) {
        for mapping in profile.growing.mappings.iter().skip(first) {
            let process = mapping.process;
            let began = *(self.processes.entry(process)).or_insert_with(|| began(profile, process));
            let since = self.modules.entry(mapping.module).or_insert(began);
            *since = began.min(*since);
        }
    }

    /// Notes the files that the code of each module was compiled from, once it has names.
    pub(super) fn note_native_files(&mut self, profile: &Profile) {
        for (_, location) in profile.locations.iter() {
            let Some(&began) = location.module.and_then(|module| self.modules.get(&module)) else {
                continue;
            };
            for &frame in &location.frames {
                let since = (self.files.entry(profile.frames.get(frame).file)).or_insert(began);
                *since = began.min(*since);
            }
        }
    }

    /// The earliest time at which a file may have been in use. For a file that was not noted, the
    /// start of the first process.
    pub(super) fn since(&self, profile: &Profile, file: FileId) -> u64 {
        let noted = self.files.get(&file).copied();
        noted.unwrap_or_else(|| {
            let known = self.processes.values().copied().min();
            known.unwrap_or(u64::MAX).min(profile.meta.started_at_unix)
        })
    }

    /// Notes the start of each process that has no parent in the recording.
    pub(super) fn note_roots(&mut self, profile: &Profile) {
        let first = self.seen.min(profile.processes.len());
        self.seen = profile.processes.len();
        for (index, process) in profile.processes.iter().enumerate().skip(first) {
            if process.parent.is_none() {
                let id = ProcessId::from_index(index);
                (self.processes.entry(id)).or_insert_with(|| began(profile, id));
            }
        }
    }
}

/// The start of a process's program: at its `exec`, or at that of the process that forked it. For a
/// process that ran before the recording, at its own start.
fn began(profile: &Profile, process: ProcessId) -> u64 {
    let recording = profile.meta.started_at_unix;
    let mut row = &profile.processes[process.index()];
    let mut has_executed = false;
    // A circle of parents would be an error in the recording.
    for _ in 0..profile.processes.len() {
        let Some(parent) = row.parent.map(|id| &profile.processes[id.index()]) else {
            break;
        };
        has_executed = parent.pid == row.pid;
        if has_executed || parent.command != row.command {
            break;
        }
        row = parent;
    }
    let started = row.started.map_or(0, |started| started.0);
    let first_seen = recording.saturating_add(started);
    let by_kernel = profundo_linux::proc::process_started(row.pid);
    let by_kernel = by_kernel.map_or(u64::MAX, |started| started.saturating_add(TICK));
    let is_root = row.parent.is_none();
    if is_root || !has_executed && by_kernel < recording {
        first_seen.min(by_kernel)
    } else {
        first_seen
    }
}
