//! Several recordings become one profile. Nothing is averaged and nothing is lost: each sum over
//! the merged profile is the sum over its inputs.
//!
//! Names, frames, locations and stacks that are alike become one row, so the tables grow with the
//! distinct ones. Processes, threads and tasks stay apart, whatever numbers they have: a process id
//! may be used twice, and thread 1 of each recording is its main thread. Each process knows the
//! recording that it comes from, its [`Origin`], which has the labels.
//!
//! The samples of one input follow those of the input before, each in its own order. So the
//! uncertainty of a share is still estimated from neighbours in time.

mod error;
mod events;
mod joined;
mod meta;
mod places;

use profundo_model::{
    Alignment, Nanos, Origin, OriginId, Process, ProcessId, Profile, StringId, TaskId, Thread,
    ThreadId,
};

pub use error::MergeError;
pub use joined::{JoinedPiece, Joining};

use meta::Metas;
use places::{Maps, Places};

/// The name of an input, and its labels.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InputLabels {
    /// The name of its file, without the extension.
    pub name: String,
    /// Keys and values. One that the input had already is replaced.
    pub labels: Vec<(String, String)>,
}

/// The key of the label that an input without any gets.
pub const DEFAULT_KEY: &str = "recording";

/// Merges profiles that have their names already. They are not settled yet: see
/// [`crate::settle()`].
pub fn merge(
    inputs: &[(Profile, InputLabels)],
    alignment: Alignment,
) -> Result<Profile, MergeError> {
    let starts = inputs.iter().map(|(input, _)| input.meta.started_at_unix);
    let mut merging = Merging::new(alignment, starts.min().unwrap_or(0));
    for (input, labels) in inputs {
        merging.add(input, labels)?;
    }
    Ok(merging.finish())
}

/// A merged profile that grows input by input.
///
/// Between two inputs, its samples and other events may be taken out of [`Self::profile_mut`], to
/// be written to a file: then the memory grows with the tables alone.
#[derive(Debug)]
pub struct Merging {
    profile: Profile,
    alignment: Alignment,
    /// The earliest start of any input, in nanoseconds since 1970.
    first_start: u64,
    /// The end of the last input.
    end: Nanos,
    places: Places,
    metas: Metas,
    /// The number of moments' sites so far: moments may have been taken out.
    sites: usize,
}

/// The rows of one input in the tables of the merged profile.
struct Rows {
    maps: Maps,
    processes: Vec<ProcessId>,
    threads: Vec<ThreadId>,
    tasks: Vec<TaskId>,
    /// The start on the clock of the merged profile.
    begins: Nanos,
}

impl Rows {
    fn time(&self, time: Nanos) -> Nanos {
        Nanos(time.0.saturating_add(self.begins.0))
    }

    fn process(&self, process: ProcessId) -> ProcessId {
        self.processes[process.index()]
    }

    fn thread(&self, thread: ThreadId) -> ThreadId {
        self.threads[thread.index()]
    }

    fn task(&self, task: TaskId) -> TaskId {
        self.tasks[task.index()]
    }
}

impl Merging {
    /// A profile without inputs. By the clock, `first_start` is time 0: the earliest start of all
    /// inputs, in nanoseconds since 1970.
    pub fn new(alignment: Alignment, first_start: u64) -> Self {
        Self {
            profile: Profile::default(),
            alignment,
            first_start,
            end: Nanos(0),
            places: Places::default(),
            metas: Metas::default(),
            sites: 0,
        }
    }

    /// The merged profile so far. Only its samples, its traffic, and the blocks, copies, moments
    /// and gauges of its heap may be taken out.
    pub fn profile_mut(&mut self) -> &mut Profile {
        &mut self.profile
    }

    /// Adds an input. Fails where its data cannot stand beside that of the inputs before, which are
    /// left as they were.
    pub fn add(&mut self, input: &Profile, labels: &InputLabels) -> Result<(), MergeError> {
        let begins = self.begins(input, &labels.name)?;
        self.metas.add(&mut self.profile, input, &labels.name)?;
        let profile = &mut self.profile;
        let (processes, threads) = (id(profile.processes.len()), id(profile.threads.len()));
        let tasks = id(profile.tasks.len());
        // A thread may point at a process that is not there.
        let owners = input
            .threads
            .iter()
            .map(|(_, thread)| thread.process.index() + 1);
        let most = owners.max().unwrap_or(0).max(input.processes.len());
        let rows = Rows {
            maps: self.places.add(profile, input),
            processes: (0..id(most))
                .map(|row| ProcessId(processes + row))
                .collect(),
            threads: (0..id(input.threads.len()))
                .map(|row| ThreadId(threads + row))
                .collect(),
            tasks: (0..id(input.tasks.len()))
                .map(|row| TaskId(tasks + row))
                .collect(),
            begins,
        };
        self.add_owners(input, labels, &rows);
        events::add(&mut self.profile, input, &rows, &mut self.sites);
        let end = begins.0.saturating_add(length(input).0);
        self.end = self.end.max(Nanos(end));
        Ok(())
    }

    /// The merged profile.
    pub fn finish(mut self) -> Profile {
        let names = self.profile.origin_names();
        self.profile.meta.duration = self.end;
        self.metas.finish(&mut self.profile, &names);
        self.profile
    }

    fn begins(&self, input: &Profile, name: &str) -> Result<Nanos, MergeError> {
        let started = input.meta.started_at_unix;
        Ok(match self.alignment {
            Alignment::Start => Nanos(0),
            Alignment::Sequence => self.end,
            Alignment::Clock if started == 0 => {
                return Err(MergeError::NoClock(name.to_owned()));
            }
            Alignment::Clock => Nanos(started.saturating_sub(self.first_start)),
        })
    }

    /// Adds processes with their origins, threads and tasks.
    fn add_owners(&mut self, input: &Profile, labels: &InputLabels, rows: &Rows) {
        let first_origin = self.profile.origins.len();
        self.add_origins(input, labels, rows);
        let profile = &mut self.profile;
        let text = |id: StringId| rows.maps.strings[id.index()];
        for process in &input.processes {
            let before = process.origin.map_or(0, OriginId::index);
            let before = before.min(input.origins.len().saturating_sub(1));
            profile.processes.push(Process {
                command: text(process.command),
                parent: process.parent.map(|parent| rows.process(parent)),
                started: process.started.map(|time| rows.time(time)),
                ended: process.ended.map(|time| rows.time(time)),
                runtime: text(process.runtime),
                environment: process.environment.iter().copied().map(text).collect(),
                labels: (process.labels.iter())
                    .map(|&(key, value)| (text(key), text(value)))
                    .collect(),
                origin: Some(OriginId::from_index(first_origin + before)),
                ..process.clone()
            });
        }
        for (_, thread) in input.threads.iter() {
            profile.threads.push(Thread {
                name: text(thread.name),
                process: rows.process(thread.process),
                ..*thread
            });
        }
        for (_, task) in input.tasks.iter() {
            profile.tasks.push(profundo_model::Task {
                name: text(task.name),
                spawned_at: text(task.spawned_at),
                ..*task
            });
        }
    }

    /// Adds the origins of an input: its own where it was merged or labelled before, or one.
    fn add_origins(&mut self, input: &Profile, labels: &InputLabels, rows: &Rows) {
        let profile = &mut self.profile;
        let name = profile.strings.intern(&labels.name);
        let text = |id: StringId| rows.maps.strings[id.index()];
        let mut origins: Vec<Origin> = (input.origins.iter())
            .map(|origin| Origin {
                name: text(origin.name),
                labels: (origin.labels.iter())
                    .map(|&(key, value)| (text(key), text(value)))
                    .collect(),
                begins: rows.time(origin.begins),
                ..origin.clone()
            })
            .collect();
        if origins.is_empty() {
            origins.push(Origin {
                started_at_unix: input.meta.started_at_unix,
                begins: rows.begins,
                duration: length(input),
                period: input.meta.period,
                ..Origin::default()
            });
        }
        for mut origin in origins {
            if origin.name == StringId(0) {
                origin.name = name;
                // A recording with labels did not know its length when it got them.
                origin.duration = length(input);
                origin.period = input.meta.period;
                origin.started_at_unix = input.meta.started_at_unix;
            }
            for (key, value) in &labels.labels {
                let (key, value) = (profile.strings.intern(key), profile.strings.intern(value));
                origin.set_label(key, value);
            }
            if origin.labels.is_empty() {
                let key = profile.strings.intern(DEFAULT_KEY);
                origin.set_label(key, origin.name);
            }
            profile.origins.push(origin);
        }
    }
}

/// The number of rows, as an id.
fn id(rows: usize) -> u32 {
    u32::try_from(rows).expect("a table holds fewer than 2^32 rows")
}

/// The length of a recording: up to its last sample or the end of its last process, where it has
/// nothing better.
fn length(input: &Profile) -> Nanos {
    let samples = input.samples.iter().map(|sample| sample.time);
    let gathered = input.gathered.rows.iter().map(|many| many.last);
    let ends = input.processes.iter().filter_map(|process| process.ended);
    let last = samples.chain(gathered).chain(ends).max();
    input.meta.duration.max(last.unwrap_or_default())
}
