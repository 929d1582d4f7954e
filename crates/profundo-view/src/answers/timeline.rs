//! What each process, thread or task did, over a window of time and by column of the screen; and the
//! memory, the spans and the marks of the same columns.
//!
//! The times of the filter do not cut the picture: it shows the time around them, and where they
//! are. `start=` and `end=` are the window, `tracks=` is the number of threads that have a row.

use std::collections::BTreeMap;

use profundo_analysis::{
    Activity, InWindow, ProcessMemory, Times, Track, TrackOf, TracksBy, Window, command_name,
    energy, gauges, joules_per_nanosecond, levels, marks, span_boxes,
};
use profundo_model::{Gauge, Profile, SpanId};
use serde::Serialize;

use super::{Answer, lanes, window};
use crate::library::Part;
use crate::{Error, Library, Question};

/// The tracks, if the question does not say.
const TRACKS: usize = 16;
/// The most processes with a curve of their memory: the largest.
const MEMORIES: usize = 12;
/// The name of the time without samples.
const NONE: &str = "none";
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

/// The time of a thread, a task, a process, or of all.
#[derive(Debug, Default, Serialize)]
struct Row {
    /// On a CPU in the window, and altogether, in nanoseconds.
    busy: u64,
    total: u64,
    /// By activity, the time in the window.
    times: BTreeMap<&'static str, u64>,
    /// By activity and column, thousandths of the column's time. Those of a process are the sums of
    /// its threads.
    columns: BTreeMap<&'static str, Vec<u64>>,
    /// The largest sum of a column, and of what is on a CPU in it.
    most: u64,
    most_busy: u64,
    garbage: u64,
    /// By column, the part in garbage collection. Empty where there is none.
    collecting: Vec<u64>,
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

/// The memory of a process by column, in bytes.
#[derive(Debug, Serialize)]
struct Memory {
    pid: u32,
    command: String,
    resident: Vec<Option<u64>>,
    /// In live blocks of the allocators, where allocations are counted.
    in_use: Vec<Option<u64>>,
    /// The largest of the window.
    most: u64,
    /// The largest of the whole recording.
    peak: u64,
}

/// The program's part of the machine's energy. It was counted for the whole recording: by column it
/// is divided as the CPU time is.
#[derive(Debug, Serialize)]
struct Energy {
    /// Of the machine, in the whole recording.
    joules: f64,
    /// Of the program in the window, an estimate.
    window_joules: f64,
    /// By column, the estimated power of the program.
    watts: Vec<f64>,
    most_watts: f64,
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
    let memory = gauges(profile, &part.selection(), part.filter());
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
        energy: power(profile, &found, window),
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
fn span(
    part: &Part,
    samples: Option<(u64, u64)>,
    memory: &[ProcessMemory<'_>],
) -> Option<(u64, u64)> {
    let readings = memory.iter().filter_map(|row| {
        let (first, last) = (row.readings.first()?, row.readings.last()?);
        Some((first.time.0, last.time.0))
    });
    let spans = part.profile().spans.each.iter();
    let spans = spans.map(|span| (span.from.0, span.to.map_or(span.from, |to| to).0));
    // Spans that do not pass the filter only make the picture longer where nothing else is in it.
    let all = samples.into_iter().chain(readings);
    let union = |(a, b): (u64, u64), (c, d)| (a.min(c), b.max(d));
    all.reduce(union).or_else(|| spans.reduce(union))
}

impl Row {
    /// The row of one thread or one task: `none` is the time in which it has no sample.
    fn of_track(times: &Times, window: Window) -> Self {
        let mut row = Self::new(times, window);
        let (rest, sum) = times.unsampled(window);
        if sum > 0 {
            row.times.insert(NONE, sum);
            let part = |time: &u64| time.saturating_mul(1000) / window.step;
            row.columns.insert(NONE, rest.iter().map(part).collect());
        }
        row
    }

    fn new(times: &Times, window: Window) -> Self {
        let part = |time: &u64| (time.saturating_mul(1000) + window.step / 2) / window.step;
        let columns = |times: &[u64]| times.iter().map(part).collect::<Vec<u64>>();
        let mut row = Self {
            busy: times.busy(),
            total: times.total(),
            garbage: times.collected,
            collecting: columns(&times.collecting),
            ..Self::default()
        };
        let mut sums = vec![(0_u64, 0_u64); window.columns];
        for activity in Activity::ALL {
            let list = &times.columns[activity as usize];
            let total = times.totals[activity as usize];
            if total == 0 {
                continue;
            }
            row.times.insert(activity.name(), total);
            row.columns.insert(activity.name(), columns(list));
            for (sum, time) in sums.iter_mut().zip(list) {
                sum.0 = sum.0.saturating_add(*time);
                sum.1 = sum
                    .1
                    .saturating_add(if activity.is_busy() { *time } else { 0 });
            }
        }
        row.most = sums.iter().map(|(all, _)| part(all)).max().unwrap_or(0);
        row.most_busy = sums.iter().map(|(_, busy)| part(busy)).max().unwrap_or(0);
        row
    }
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
                (true, _) => "outside of tasks",
                (false, "") => profile.strings.get(task.spawned_at),
                (false, name) => name,
            };
            ("task", task.number, name.to_owned())
        }
    };
    TrackRow {
        is,
        number: number.to_string(),
        name,
        row: Row::of_track(&track.times, window),
    }
}

fn memories(profile: &Profile, memory: &[ProcessMemory<'_>], window: Window) -> Vec<Memory> {
    let rows = memory.iter().take(MEMORIES).map(|row| {
        let curve = |value: &dyn Fn(&Gauge) -> Option<u64>| {
            let readings = row.readings.iter();
            levels(
                window,
                readings.map(|reading| (reading.time.0, value(reading))),
            )
        };
        let resident = curve(&|reading| Some(reading.resident));
        let in_use = (row.readings.iter().zip(&row.uses))
            .map(|(reading, uses)| (reading.time.0, uses.in_use.map(|figure| figure.value)));
        let in_use = levels(window, in_use);
        let most = resident.iter().chain(&in_use).flatten().max();
        Memory {
            pid: (profile.processes.get(row.process.index())).map_or(0, |process| process.pid),
            command: command_name(profile, row.process).to_owned(),
            most: most.copied().unwrap_or(0),
            peak: row.peak,
            in_use: match in_use.iter().any(Option::is_some) {
                true => in_use,
                false => Vec::new(),
            },
            resident,
        }
    });
    rows.collect()
}

fn power(profile: &Profile, found: &InWindow, window: Window) -> Option<Energy> {
    let used = energy(profile)?;
    let each = joules_per_nanosecond(profile)?;
    let busy = Activity::ALL.iter().filter(|activity| activity.is_busy());
    let mut watts = vec![0.0; window.columns];
    for activity in busy {
        let columns = &found.times.columns[*activity as usize];
        for (sum, time) in watts.iter_mut().zip(columns) {
            *sum += *time as f64 * each / (window.step as f64 / 1e9);
        }
    }
    Some(Energy {
        joules: used.joules,
        window_joules: found.times.busy() as f64 * each,
        most_watts: watts.iter().copied().fold(0.0, f64::max),
        watts,
    })
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
