//! What each process, thread or task did, over a window of time and by column of the screen; and
//! the memory, the spans and the marks of the same columns.
//!
//! The times of the filter do not cut the picture: it shows the time around them, and where they
//! are. `start=` and `end=` are the window, `tracks=` is the number of threads that have a row.

mod curves;
mod row;

use profundo_analysis::{
    Activity, InWindow, Track, TrackOf, TracksBy, Window, command_name, marks, span_boxes,
};
use profundo_model::{Profile, SpanId};
use serde::Serialize;

use super::{Answer, lanes, window};
use crate::library::{Part, Readings};
use crate::{Error, Library, Question};
use curves::{Energy, Memory, memories, power};
use row::Row;

/// The tracks, if the question does not say.
const TRACKS: usize = 16;
/// The most lanes of spans.
const SPAN_LANES: usize = 12;
/// The most rows of processes: the busiest.
const PROCESSES: usize = 200;

#[derive(Debug, Serialize)]
struct Timeline {
    /// The window, in nanoseconds since the start of the recording.
    from: u64,
    to: u64,
    /// The time of a column, and the number of columns.
    step: u64,
    columns: usize,
    /// All times of the recording that pass the filter.
    span: (u64, u64),
    /// The times of the filter.
    chosen: (Option<u64>, Option<u64>),
    /// The names of the activities, in the order of a column: what runs stands at the bottom.
    activities: Vec<&'static str>,
    /// The sum of all tracks.
    all: Row,
    processes: Vec<Process>,
    /// The number of all tracks and of those that have a row; and of all processes.
    tracks: usize,
    shown: usize,
    processes_count: usize,
    memory: Vec<Memory>,
    energy: Option<Energy>,
    spans: Spans,
    marks: Vec<Mark>,
    /// Time that was counted and has no sample, so no place in time.
    unplaced: u64,
}

#[derive(Debug, Serialize)]
struct Process {
    pid: u32,
    command: String,
    row: Row,
    /// The number of all its tracks.
    count: usize,
    tracks: Vec<TrackRow>,
}

#[derive(Debug, Serialize)]
struct TrackRow {
    /// `thread` or `task`.
    is: &'static str,
    /// The number that the filter takes. Those of tasks can be larger than a number of JSON.
    number: String,
    name: String,
    row: Row,
}

/// Spans in lanes. The columns are arrays of equal length.
#[derive(Debug, Default, Serialize)]
struct Spans {
    lanes: u32,
    left_out: u64,
    name: Vec<String>,
    lane: Vec<u32>,
    from: Vec<u64>,
    to: Vec<u64>,
    is_open: Vec<bool>,
    count: Vec<u64>,
}

#[derive(Debug, Serialize)]
struct Mark {
    name: String,
    time: u64,
    count: u64,
}

pub(super) fn timeline(library: &Library, question: &Question) -> Result<Answer, Error> {
    let (part, from, to) = window::timeless(library, question)?;
    let profile = part.profile();
    let by = match question.get("by") {
        None | Some("thread") => TracksBy::Thread,
        Some("task") => TracksBy::Task,
        Some(other) => return Err(Error::value("by", format!("there is no “{other}”"))),
    };
    let known = part.timeline(by);
    let memory = part.memories();
    let Some(span) = span(&part, known.span(), &memory) else {
        let why = "nothing that passes the filter has a place in time";
        return Err(Error::Nothing(why.to_owned()));
    };
    let window = window::window(question, span)?;
    let found = known.window(window, question.parsed("tracks")?.unwrap_or(TRACKS));
    let spans = span_boxes(profile, part.filter(), window, SPAN_LANES);
    let marks = marks(profile, part.filter(), window);
    let text = |id| profile.strings.get(id).to_owned();
    Answer::json(&Timeline {
        from: window.from,
        to: window.to(),
        step: window.step,
        columns: window.columns,
        span,
        chosen: (from, to),
        activities: Activity::ALL.map(Activity::name).to_vec(),
        all: Row::new(&found.times, window),
        shown: found.processes.iter().map(|row| row.tracks.len()).sum(),
        tracks: found.count,
        processes_count: found.processes.len(),
        memory: memories(profile, &memory, window),
        energy: power(&part, &found, window),
        processes: processes(profile, found, window),
        spans: Spans {
            lanes: spans.lanes,
            left_out: spans.left_out,
            name: (spans.boxes.iter())
                .map(|span| span_name(profile, span.path))
                .collect(),
            lane: spans.boxes.iter().map(|span| span.lane).collect(),
            from: spans.boxes.iter().map(|span| span.from).collect(),
            to: spans.boxes.iter().map(|span| span.to).collect(),
            is_open: spans.boxes.iter().map(|span| span.is_open).collect(),
            count: spans.boxes.iter().map(|span| span.count).collect(),
        },
        marks: (marks.iter())
            .map(|mark| Mark {
                name: text(mark.name),
                time: mark.time,
                count: mark.count,
            })
            .collect(),
        unplaced: known.unplaced(),
    })
}

/// The times of samples, of readings of the memory, and of spans.
fn span(part: &Part, samples: Option<(u64, u64)>, memory: &[Readings]) -> Option<(u64, u64)> {
    let readings = memory.iter().filter_map(|row| {
        let (first, last) = (row.each.first()?, row.each.last()?);
        Some((first.0, last.0))
    });
    let spans = part.profile().spans.each.iter();
    let spans = spans.map(|span| (span.from.0, span.to.map_or(span.from, |to| to).0));
    // Spans that do not pass the filter only make the picture longer where nothing else is in it.
    let all = samples.into_iter().chain(readings);
    let union = |(a, b): (u64, u64), (c, d)| (a.min(c), b.max(d));
    all.reduce(union).or_else(|| spans.reduce(union))
}

fn processes(profile: &Profile, found: InWindow, window: Window) -> Vec<Process> {
    // A process without a track has a row only while there are few.
    let is_shown = |(place, row): &(usize, profundo_analysis::ProcessTracks)| {
        *place < PROCESSES || !row.tracks.is_empty()
    };
    let rows = found.processes.into_iter().enumerate().filter(is_shown);
    rows.map(|(_, row)| Process {
        pid: (profile.processes.get(row.process.index())).map_or(0, |process| process.pid),
        command: command_name(profile, row.process).to_owned(),
        row: Row::new(&row.times, window),
        count: row.count,
        tracks: (row.tracks.iter())
            .map(|track| track_row(profile, track, window))
            .collect(),
    })
    .collect()
}

fn track_row(profile: &Profile, track: &Track, window: Window) -> TrackRow {
    let (is, number, name) = match track.of {
        TrackOf::Thread(thread) => {
            let (number, name, _, _) = lanes::owner(profile, thread);
            ("thread", number, name)
        }
        TrackOf::Task(task) => {
            let task = profile.tasks.get(task);
            let name = match (task.is_root, profile.strings.get(task.name)) {
                (true, "") => "outside of tasks".to_owned(),
                // A root task has its thread's name.
                (true, thread) => format!("{thread}, outside of tasks"),
                (false, "") => profile.strings.get(task.spawned_at).to_owned(),
                (false, name) => name.to_owned(),
            };
            ("task", task.number, name)
        }
    };
    TrackRow {
        is,
        number: number.to_string(),
        name,
        row: Row::of_track(&track.times, window),
    }
}

/// The name of a span with its attributes.
fn span_name(profile: &Profile, path: SpanId) -> String {
    let path = profile.spans.paths.get(path);
    let text = |id| profile.strings.get(id);
    let mut name = text(path.name).to_owned();
    for &(key, value) in &path.attributes {
        name.push_str(&format!(" {}={}", text(key), text(value)));
    }
    name
}
