//! What there is to look at: the recordings, what each holds, and what a filter can choose.

use profundo_analysis::{command_name, is_recorded, records_allocations};
use profundo_model::{Measure, Part as Of, ProcessId, Profile, SampleKind, Tracing};
use serde::Serialize;

use super::Answer;
use crate::{Error, Library, Question};

/// The most values of one kind that a filter offers.
const MOST: usize = 500;

#[derive(Debug, Serialize)]
struct About {
    profundo: &'static str,
    version: u64,
    recordings: Vec<Recording>,
    /// The number of recordings before, where they are compared with those behind them.
    before: Option<usize>,
    snapshots: Vec<Snapshot>,
}

/// A heap snapshot.
#[derive(Debug, Serialize)]
struct Snapshot {
    /// The name of the file.
    name: String,
    path: String,
}

/// The answer for who looks for a server: no recording is read for it.
#[derive(Debug, Serialize)]
struct Alive {
    profundo: &'static str,
    paths: Vec<String>,
}

pub(super) fn alive(library: &Library) -> Result<Answer, Error> {
    let sources = (0..library.len()).filter_map(|number| library.source(number));
    Answer::json(&Alive {
        profundo: env!("CARGO_PKG_VERSION"),
        paths: sources
            .map(|source| source.path().display().to_string())
            .collect(),
    })
}

#[derive(Debug, Serialize)]
struct Recording {
    /// The name of the file.
    name: String,
    path: String,
    command: Option<String>,
    started_unix_seconds: Option<f64>,
    duration_seconds: Option<f64>,
    /// Whether the file is being written.
    is_growing: bool,
    /// `cpu`, `wall`, `traced`, `heap`.
    measures: &'static str,
    has: Has,
    processes: Vec<Process>,
    threads: Vec<Thread>,
    tasks: Vec<String>,
    spans: Vec<String>,
}

/// What a recording holds, and so which views it has.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Has {
    pub samples: bool,
    /// Whether samples have places in time.
    pub times: bool,
    pub waits: bool,
    pub memory: bool,
    pub copies: bool,
    /// Whether the resident memory was looked at.
    pub gauges: bool,
    pub calls: bool,
    pub counted_lines: bool,
    pub exceptions: bool,
    pub io: bool,
    pub syscalls: bool,
    pub spans: bool,
    pub energy: bool,
    pub python: bool,
}

#[derive(Debug, Serialize)]
struct Process {
    pid: u32,
    command: String,
}

#[derive(Debug, Serialize)]
struct Thread {
    number: u64,
    name: String,
    pid: Option<u32>,
}

pub(super) fn about(library: &Library) -> Result<Answer, Error> {
    Answer::json(&About {
        profundo: env!("CARGO_PKG_VERSION"),
        version: library.version(),
        recordings: all(library)?,
        before: library.before(),
        snapshots: library.snapshot_paths().map(snapshot).collect(),
    })
}

fn snapshot(path: &std::path::Path) -> Snapshot {
    let path = path.display().to_string();
    Snapshot {
        name: path.rsplit('/').next().unwrap_or_default().to_owned(),
        path,
    }
}

/// What each recording holds.
pub(crate) fn contents(library: &Library) -> Result<Vec<Has>, Error> {
    Ok(all(library)?.into_iter().map(|one| one.has).collect())
}

fn all(library: &Library) -> Result<Vec<Recording>, Error> {
    let mut recordings = Vec::new();
    for number in 0..library.len() {
        let question = Question::new("about").with("recording", number);
        let part = library.part(&question)?;
        let source = library.source(number);
        let path = source.map(|source| source.path().display().to_string());
        let is_growing = source.is_some_and(crate::Source::is_growing);
        let path = path.unwrap_or_default();
        recordings.push(recording(part.profile(), path, is_growing));
    }
    Ok(recordings)
}

fn recording(profile: &Profile, path: String, is_growing: bool) -> Recording {
    let seconds = |nanos: u64| (nanos > 0).then_some(nanos as f64 / 1e9);
    let strings = &profile.strings;
    let copied = Measure {
        part: Of::Copied,
        counts: false,
    };
    let traced = &profile.traced;
    let has_samples = !profile.samples.is_empty();
    let kinds = profile.meta.kind;
    let text = |id| strings.get(id).to_owned();
    let mut tasks: Vec<String> = (profile.tasks.iter())
        .filter(|(_, task)| !task.is_root)
        .map(|(_, task)| text(task.name))
        .filter(|name| !name.is_empty())
        .collect();
    tasks.sort_unstable();
    tasks.dedup();
    let mut spans: Vec<String> = (profile.spans.paths.iter())
        .map(|(_, path)| text(path.name))
        .filter(|name| !name.is_empty())
        .collect();
    spans.sort_unstable();
    spans.dedup();
    tasks.truncate(MOST);
    spans.truncate(MOST);
    Recording {
        name: path.rsplit('/').next().unwrap_or_default().to_owned(),
        path,
        command: profile
            .processes
            .first()
            .map(|process| text(process.command)),
        started_unix_seconds: seconds(profile.meta.started_at_unix),
        duration_seconds: seconds(profile.meta.duration.0),
        is_growing,
        measures: match kinds {
            SampleKind::Cpu => "cpu",
            SampleKind::Wall => "wall",
            SampleKind::Traced => "traced",
            _ => "heap",
        },
        has: Has {
            samples: has_samples,
            times: has_samples && matches!(kinds, SampleKind::Cpu | SampleKind::Wall),
            waits: kinds == SampleKind::Wall,
            memory: records_allocations(profile),
            copies: is_recorded(profile, copied),
            gauges: !profile.heap.gauges.is_empty(),
            calls: !traced.calls.is_empty() || traced.tracing == Tracing::Calls,
            counted_lines: traced.tracing.is_of_lines() || !traced.lines.is_empty(),
            exceptions: traced.tracing == Tracing::Exceptions,
            io: !profile.traffic.is_empty(),
            syscalls: !profile.syscalls.is_empty(),
            spans: !profile.spans.is_empty(),
            energy: profile.meta.energy.is_some(),
            python: profile
                .processes
                .iter()
                .any(|process| process.runtime.0 != 0),
        },
        processes: (0..)
            .zip(&profile.processes)
            .take(MOST)
            .map(|(number, process)| Process {
                pid: process.pid,
                command: command_name(profile, ProcessId(number)).to_owned(),
            })
            .collect(),
        threads: (profile.threads.iter().take(MOST))
            .map(|(_, thread)| Thread {
                number: thread.number,
                name: text(thread.name),
                pid: pid_of(profile, thread.process),
            })
            .collect(),
        tasks,
        spans,
    }
}

fn pid_of(profile: &Profile, process: ProcessId) -> Option<u32> {
    profile
        .processes
        .get(process.index())
        .map(|process| process.pid)
}
