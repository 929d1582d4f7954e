//! Time against the offset within each second or minute: the cells of the heatmap.

use std::collections::HashMap;

use profundo_analysis::{Cell, Grid, Hidden, Libraries, Place, Shown, heatmap_of};
use serde::Serialize;

use super::{Answer, flame, window};
use crate::{Error, Library, Question};

/// The most pauses that are named.
const PAUSES: usize = 8;

#[derive(Debug, Serialize)]
struct Heatmap {
    /// The start of the first column, in nanoseconds since the start of the recording.
    start: u64,
    /// The time of a column, and of a row.
    column: u64,
    row: u64,
    columns: usize,
    rows: usize,
    /// By cell, column by column: the time of all threads on a CPU, and in waits.
    busy: Vec<u64>,
    waiting: Vec<u64>,
    samples: Vec<u64>,
    /// By cell, the row in `functions` of the one with most time; -1 for none.
    hottest: Vec<i64>,
    hottest_time: Vec<u64>,
    functions: Vec<String>,
    /// The largest of `busy`, and of both together.
    most_busy: u64,
    most: u64,
    covered: (u64, u64),
    uncovered: u64,
    idle_threads: usize,
    idle_waiting: u64,
    /// The longest stretches without time on a CPU: start and length.
    pauses: Vec<(u64, u64)>,
    pauses_count: usize,
}

pub(super) fn heatmap(library: &Library, question: &Question) -> Result<Answer, Error> {
    let (part, _, _) = window::timeless(library, question)?;
    let profile = part.profile();
    let shown = Shown {
        hidden: match question.is("runtime") {
            true => Hidden::Nothing,
            false => Hidden::Runtime,
        },
        libraries: question.parsed("libraries")?.unwrap_or(Libraries::Shown),
    };
    let grid = Grid {
        column: question.parsed("column")?,
        row: question.parsed("row")?,
    };
    let found = heatmap_of(profile, &part.selection(), grid, shown);
    let Some(map) = found else {
        let why =
            "no sample that passes the filter has a place in time, or there are too many cells";
        return Err(Error::Nothing(why.to_owned()));
    };
    let mut rows: HashMap<Place, i64> = HashMap::new();
    let mut functions = Vec::new();
    let mut row_of = |place: Place| {
        *rows.entry(place).or_insert_with(|| {
            functions.push(flame::name(profile, place));
            functions.len() as i64 - 1
        })
    };
    let cells = &map.cells;
    let hottest = |cell: &Cell| cell.hottest.map_or(-1, |(place, _)| row_of(place));
    let hottest = cells.iter().map(hottest).collect();
    let pauses = map.pauses();
    let both = |cell: &Cell| cell.busy.saturating_add(cell.waiting);
    Answer::json(&Heatmap {
        start: map.start,
        column: map.column,
        row: map.row,
        columns: map.columns,
        rows: map.rows,
        busy: cells.iter().map(|cell| cell.busy).collect(),
        waiting: cells.iter().map(|cell| cell.waiting).collect(),
        samples: cells.iter().map(|cell| cell.samples).collect(),
        hottest,
        hottest_time: (cells.iter())
            .map(|cell| cell.hottest.map_or(0, |(_, time)| time))
            .collect(),
        functions,
        most_busy: cells.iter().map(|cell| cell.busy).max().unwrap_or(0),
        most: cells.iter().map(both).max().unwrap_or(0),
        covered: map.covered,
        uncovered: map.uncovered,
        idle_threads: map.idle.map_or(0, |idle| idle.threads),
        idle_waiting: map.idle.map_or(0, |idle| idle.waiting),
        pauses_count: pauses.len(),
        pauses: (pauses.iter().take(PAUSES))
            .map(|pause| (pause.from, pause.time))
            .collect(),
    })
}
