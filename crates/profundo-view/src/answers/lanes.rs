//! A flame graph in the order of time: a lane for each thread, cut to a window.

use profundo_analysis::{BoxOf, LaneOptions, TrackOf, TracksBy, command_name, in_time};
use profundo_model::{Profile, ThreadId};
use serde::Serialize;

use super::flame::Functions;
use super::{Answer, flame, window};
use crate::{Error, Library, Question};

/// The most boxes of an answer.
const MOST: usize = 50_000;
/// The lanes, if the question does not say.
const LANES: usize = 8;

#[derive(Debug, Serialize)]
struct Lanes {
    /// The window and the whole, in nanoseconds since the start of the recording.
    from: u64,
    to: u64,
    span: (u64, u64),
    /// The shortest box.
    least: u64,
    functions: Functions,
    lanes: Vec<Lane>,
    /// The number of threads that have no lane.
    left_out: usize,
}

/// A lane. The columns of its boxes are arrays of equal length.
#[derive(Debug, Serialize)]
struct Lane {
    number: u64,
    name: String,
    pid: Option<u32>,
    command: String,
    weight: u64,
    count: u64,
    rows: u32,
    /// The row in `functions`; -3 narrow boxes.
    function: Vec<i64>,
    level: Vec<u32>,
    from: Vec<u64>,
    to: Vec<u64>,
    box_weight: Vec<u64>,
    own: Vec<u64>,
    box_count: Vec<u64>,
    /// The first line, or the number of narrow boxes.
    line: Vec<u32>,
    last_line: Vec<u32>,
}

pub(super) fn lanes(library: &Library, question: &Question) -> Result<Answer, Error> {
    let (part, _, _) = window::timeless(library, question)?;
    let profile = part.profile();
    let timeline = part.timeline(TracksBy::Thread);
    let Some(span) = timeline.span() else {
        let why = "no sample that passes the filter has a place in time";
        return Err(Error::Nothing(why.to_owned()));
    };
    let window = window::window(question, span)?;
    let options = flame::options(question)?;
    let forest = part.forest(&options);
    let lane_options = LaneOptions {
        from: window.from,
        to: window.to(),
        least: window.step,
        lanes: question.parsed("lanes")?.unwrap_or(LANES),
        most: MOST,
    };
    // The order is that of the whole time: lanes stay where they are when the window moves.
    let threads: Vec<ThreadId> = (timeline.tracks())
        .filter_map(|track| match track {
            TrackOf::Thread(thread) => Some(thread),
            TrackOf::Task(_) => None,
        })
        .collect();
    let selection = part.selection();
    let (found, left_out) = in_time(profile, &forest, &selection, &threads, lane_options);
    let boxes = found.iter().flat_map(|lane| &lane.boxes);
    let (functions, rows) = Functions::of(&part, &forest, &[], boxes.map(|a_box| a_box.of));
    let lanes = found.iter().map(|lane| {
        let boxes = &lane.boxes;
        let (number, name, pid, command) = owner(profile, lane.thread);
        Lane {
            number,
            name,
            pid,
            command,
            weight: lane.weight.weight,
            count: lane.weight.count,
            rows: lane.rows,
            function: (boxes.iter())
                .map(|a_box| match a_box.of {
                    BoxOf::Function(function) => rows[function as usize],
                    _ => -3,
                })
                .collect(),
            level: boxes.iter().map(|a_box| a_box.level).collect(),
            from: boxes.iter().map(|a_box| a_box.from).collect(),
            to: boxes.iter().map(|a_box| a_box.to).collect(),
            box_weight: boxes.iter().map(|a_box| a_box.weight.weight).collect(),
            own: boxes.iter().map(|a_box| a_box.own.weight).collect(),
            box_count: boxes.iter().map(|a_box| a_box.weight.count).collect(),
            line: (boxes.iter())
                .map(|a_box| match a_box.of {
                    BoxOf::Narrow(number) => number,
                    _ => a_box.lines.0,
                })
                .collect(),
            last_line: boxes.iter().map(|a_box| a_box.lines.1).collect(),
        }
    });
    Answer::json(&Lanes {
        from: window.from,
        to: window.to(),
        span,
        least: window.step,
        lanes: lanes.collect(),
        functions,
        left_out,
    })
}

/// The number, the name, the process and the command of a thread.
pub(super) fn owner(profile: &Profile, thread: ThreadId) -> (u64, String, Option<u32>, String) {
    let row = profile.threads.get(thread);
    let process = profile.processes.get(row.process.index());
    (
        row.number,
        profile.strings.get(row.name).to_owned(),
        process.map(|process| process.pid),
        command_name(profile, row.process).to_owned(),
    )
}
