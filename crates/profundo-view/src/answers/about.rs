//! What there is to look at: the recordings, what each holds, and what a filter can choose.

use profundo_analysis::{cells, command_name, is_recorded, records_allocations};
use profundo_model::{
    FileId, LocationKind, Measure, Part as Of, ProcessId, Profile, SampleKind, Tracing,
};
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
    /// The links that open an editor; none in a file.
    editor: Option<Editor>,
}

/// Links with `{path}` and `{line}` in them.
#[derive(Debug, Serialize)]
struct Editor {
    file: String,
    line: String,
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
    /// The name of the file; the services of a query.
    name: String,
    path: String,
    /// The file's name, or a query, as a word for a shell.
    word: String,
    /// Whether it is a store's answer to a query.
    is_answer: bool,
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
    cells: Vec<Cell>,
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
    /// Whether code of a notebook's cells is in it.
    pub cells: bool,
    pub python: bool,
    /// Whether any function has a line of a file.
    pub lines: bool,
    /// Whether there are addresses of machine code.
    pub code: bool,
}

#[derive(Debug, Serialize)]
struct Process {
    pid: u32,
    command: String,
}

/// Code of a notebook's cell: its file, as rows have it, and its name.
#[derive(Debug, Serialize)]
struct Cell {
    file: String,
    name: String,
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
        editor: library.editor_links().map(|links| Editor {
            file: links.file.clone(),
            line: links.line.clone(),
        }),
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
    let question = profile.meta.question.as_ref();
    let file = path.rsplit('/').next().unwrap_or_default();
    Recording {
        name: question.map_or(file, |question| &question.title).to_owned(),
        word: word(question.map_or(file, |question| &question.text)),
        is_answer: question.is_some(),
        path,
        command: profile
            .processes
            .first()
            .filter(|_| !profile.meta.is_of_machine && question.is_none())
            .map(|process| text(process.command)),
        started_unix_seconds: seconds(profile.meta.started_at_unix),
        duration_seconds: seconds(profile.meta.duration.0)
            .or_else(|| is_growing.then(|| seconds(last_time(profile)))?),
        is_growing,
        measures: match kinds {
            SampleKind::Cpu => "cpu",
            SampleKind::Wall => "wall",
            SampleKind::Traced => "traced",
            SampleKind::Events => "events",
            _ => "heap",
        },
        has: Has {
            samples: has_samples,
            times: has_samples && profile.has_times(),
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
            cells: cells(profile).next().is_some(),
            python: profile
                .processes
                .iter()
                .any(|process| process.runtime.0 != 0),
            lines: (profile.frames.iter()).any(|frame| frame.line > 0 && frame.file != FileId(0)),
            code: (profile.locations.iter())
                .any(|(_, location)| matches!(location.kind, LocationKind::Code(_))),
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
        cells: (cells(profile).take(MOST))
            .map(|(file, name)| Cell {
                file: file.to_owned(),
                name: name.to_owned(),
            })
            .collect(),
    }
}

/// A word as a shell reads it.
fn word(text: &str) -> String {
    // Only a word with a zero byte cannot be quoted, and no argument has one.
    shlex::try_quote(text).map_or_else(|_| String::new(), |word| word.into_owned())
}

/// The time of the last sample. A recording says how long it is only some seconds after its start.
fn last_time(profile: &Profile) -> u64 {
    let times = profile.samples.iter().map(|sample| sample.time.0);
    times.max().unwrap_or(0)
}

fn pid_of(profile: &Profile, process: ProcessId) -> Option<u32> {
    profile
        .processes
        .get(process.index())
        .map(|process| process.pid)
}

#[cfg(test)]
mod tests {
    use profundo_model::Nanos;

    use super::*;

    #[test]
    fn a_recording_that_begins_has_the_time_of_its_last_sample() {
        let mut profile = Profile::from_folded("main;work 3\nmain;idle 1").unwrap();
        for (sample, seconds) in profile.samples.iter_mut().zip([3, 2]) {
            sample.time = Nanos(seconds * 1_000_000_000);
        }
        let duration =
            |profile: &Profile, grows| recording(profile, String::new(), grows).duration_seconds;
        assert_eq!(duration(&profile, true), Some(3.0));
        assert_eq!(duration(&profile, false), None);
        profile.meta.duration = Nanos(4_000_000_000);
        assert_eq!(duration(&profile, true), Some(4.0));
        assert_eq!(duration(&Profile::default(), true), None);
    }
}
