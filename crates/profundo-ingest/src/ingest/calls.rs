//! Calls, each of them counted.

use profundo_model::{ProcessId, Profile, Traced, Tracing};
use profundo_wire::traced::{CountedBy, TracedCalls, TracedPlace};

use super::Ingest;
use crate::traced::{self, Tables};

impl Ingest {
    /// Takes in the calls of all processes.
    pub(super) fn take_in_calls(&mut self) {
        for (process, calls) in std::mem::take(&mut self.calls) {
            let (program, shared) = self.programs.get(process, &mut self.profile);
            let tables = Tables {
                profile: &mut self.profile,
                threads: &mut program.threads,
                numbers: &mut shared.numbers,
                stacks: &mut program.stacks,
            };
            traced::take_in(tables, &calls, self.clock);
            for note in notes(&calls) {
                self.note(note);
            }
        }
    }
}

/// Counts that are a recording by themselves.
impl Ingest {
    /// The row of a process, given its number in the recording.
    pub fn process_of(&mut self, process: u32) -> ProcessId {
        self.programs.get(process, &mut self.profile).0.id()
    }

    /// A profile of these calls of a process, and of nothing else, while the recording goes on.
    pub fn profile_of_calls(
        &mut self,
        process: u32,
        calls: &[TracedCalls],
        tracing: Tracing,
    ) -> Profile {
        let traced = Traced {
            tracing,
            ..Traced::default()
        };
        // Rows of tables are added to the recording's, which only grow. The rest is put back.
        let meta = self.profile.meta.clone();
        let samples = std::mem::take(&mut self.profile.samples);
        let traced = std::mem::replace(&mut self.profile.traced, traced);
        let waiting = std::mem::take(&mut self.calls);
        self.calls = calls.iter().map(|calls| (process, calls.clone())).collect();
        self.take_in_calls();
        self.calls = waiting;
        let profile = &mut self.profile;
        Profile {
            meta: std::mem::replace(&mut profile.meta, meta),
            samples: std::mem::replace(&mut profile.samples, samples),
            traced: std::mem::replace(&mut profile.traced, traced),
            strings: profile.strings.clone(),
            files: profile.files.clone(),
            frames: profile.frames.clone(),
            locations: profile.locations.clone(),
            stacks: profile.stacks.clone(),
            modules: profile.modules.clone(),
            origins: profile.origins.clone(),
            processes: profile.processes.clone(),
            threads: profile.threads.clone(),
            tasks: profile.tasks.clone(),
            ..Profile::default()
        }
    }
}

/// The notes for the reader.
fn notes(calls: &TracedCalls) -> Vec<String> {
    let mut notes = Vec::new();
    if calls.uncounted > 0 {
        notes.push(format!(
            "{} calls are not counted: {}",
            calls.uncounted,
            match is_native(calls) {
                true => {
                    "there was no room for so many functions, places or threads, or the process tried to become another program meanwhile"
                }
                false => "there was no room for so many functions and places",
            }
        ));
    }
    if calls.unlooked > 0 {
        notes.push(format!(
            "the lines of {} functions are not counted: there was no room for so many; --lines=GLOB chooses some",
            calls.unlooked
        ));
    }
    if calls.uncounted_exceptions > 0 {
        notes.push(format!(
            "{} exceptions are not counted, or have no end: there was no room for so many lines and types",
            calls.uncounted_exceptions
        ));
    }
    if calls.forgotten_exceptions > 0 {
        notes.push(format!(
            "{} exceptions have no end, or count twice: so many were on their way at once",
            calls.forgotten_exceptions
        ));
    }
    if calls.unmatched > 0 {
        notes.push(format!(
            "{} did not fit the beginnings of calls, as where {} switch stacks: counts are right, and times of these functions are not",
            match calls.unmatched {
                1 => "1 end of a call".to_owned(),
                several => format!("{several} ends of calls"),
            },
            if is_native(calls) { "coroutines" } else { "greenlets" },
        ));
    }
    notes.extend(how(calls).map(str::to_owned));
    if !calls.is_closed && calls.counted_by.is_timed() && has_open(calls) {
        notes.push(
            "a process was killed, or replaced in a way that is out of sight: its calls that had not ended count, and how \
             long they had taken is not known"
                .to_owned(),
        );
    }
    if calls.is_replaced {
        notes.push(
            "the program has set a profiler or tracer of its own, which takes our place: what was called in that thread from \
             then on is not counted"
                .to_owned(),
        );
    }
    notes
}

/// The way native functions were counted.
fn how(calls: &TracedCalls) -> Option<&'static str> {
    match calls.counted_by {
        CountedBy::Ends => is_native(calls).then_some(
            "native functions were counted by what -finstrument-functions has put into them, with each call's time; those that \
             were built without it are part of their callers",
        ),
        CountedBy::Beginnings => Some(
            "native functions were counted by what -pg has put into them: who called them is known (unless by -mfentry, gcc 16's \
             default), and not for how long; those that were built without it are not counted",
        ),
        CountedBy::Kernel => Some(
            "native functions were counted by the kernel (uprobes), without times; whoever else ran the same file meanwhile counts too",
        ),
        CountedBy::Llvm => Some(
            "native functions were counted by the counters that LLVM has put into them, without callers and times; those that were \
             built without it are not counted",
        ),
        CountedBy::Gcc => Some(
            "native functions were counted by the counters that gcc's --coverage has put into them, without callers and times; calls \
             that were inlined before count as lines alone",
        ),
    }
}

fn is_native(calls: &TracedCalls) -> bool {
    calls
        .functions
        .iter()
        .any(|function| function.address.is_some())
}

/// Whether a call without a known caller had not ended.
fn has_open(calls: &TracedCalls) -> bool {
    let is_thread = |row: u32| {
        let node = (row as usize)
            .checked_sub(1)
            .and_then(|row| calls.nodes.get(row));
        node.is_some_and(|node| matches!(node.place, TracedPlace::Thread { .. }))
    };
    let mut outermost = calls.nodes.iter().filter(|node| is_thread(node.parent));
    outermost.any(|node| node.calls + node.resumes > 0 && node.total == 0)
}
