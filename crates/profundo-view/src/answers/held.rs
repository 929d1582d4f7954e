//! The code that held memory at one moment: `at`, in seconds since the start.

use profundo_analysis::{Figure, HeldRow, Place, Sum, held_at, records_allocations};
use profundo_model::Profile;
use profundo_report::lines_that_allocate;
use serde::Serialize;

use super::{Answer, flame};
use crate::library::choices;
use crate::{Error, Library, Question};

/// Rows of a table, if the question does not say.
const ROWS: usize = 200;

#[derive(Debug, Serialize)]
struct Held {
    at_seconds: f64,
    total: Row,
    lines: Vec<Row>,
    lines_left_out: usize,
    functions: Vec<Row>,
    functions_left_out: usize,
}

/// What a place held. A figure of a sample has the ends of its range.
#[derive(Debug, Serialize)]
struct Row {
    function: Option<String>,
    file: Option<String>,
    line: Option<u32>,
    bytes: u64,
    bytes_low: Option<u64>,
    bytes_high: Option<u64>,
    blocks: u64,
    /// The part of all that was held then.
    share: f64,
}

pub(super) fn held(library: &Library, question: &Question) -> Result<Answer, Error> {
    let part = library.part(&question.without("of").without("at"))?;
    let profile = part.profile();
    if !records_allocations(profile) {
        let why = "what is allocated was not recorded: `profundo run --memory` does";
        return Err(Error::Nothing(why.to_owned()));
    }
    let at = question
        .moment()?
        .ok_or_else(|| Error::value("at", "which moment?"))?;
    let lines = lines_that_allocate(&choices(question, part.filter())?);
    let found = held_at(profile, part.filter(), &lines, at);
    let limit = question.parsed("limit")?.unwrap_or(ROWS);
    let all = found.total.bytes().value;
    let rows = |rows: &[HeldRow], has_line| -> Vec<Row> {
        let shown = rows.iter().take(limit);
        shown
            .map(|row| named(profile, row.of, has_line, &row.held, all))
            .collect()
    };
    Answer::json(&Held {
        at_seconds: at.0 as f64 / 1e9,
        total: named(profile, None, false, &found.total, all),
        lines: rows(&found.lines, true),
        lines_left_out: found.lines.len().saturating_sub(limit),
        functions: rows(&found.functions, false),
        functions_left_out: found.functions.len().saturating_sub(limit),
    })
}

fn named(profile: &Profile, of: Option<Place>, has_line: bool, held: &Sum, all: u64) -> Row {
    let Figure { value, low, high } = held.bytes();
    let end = |end: u64| (!held.bytes().is_exact()).then_some(end);
    let file = of.map(|place| flame::file(profile, place).to_owned());
    let line = match of {
        Some(Place::Frame(frame)) if has_line => Some(profile.frames.get(frame).line),
        _ => None,
    };
    Row {
        function: of.map(|place| flame::name(profile, place)),
        file: file.filter(|file| !file.is_empty()),
        line: line.filter(|line| *line > 0),
        bytes: value,
        bytes_low: end(low),
        bytes_high: end(high),
        blocks: held.count().value,
        share: value as f64 / all.max(1) as f64,
    }
}
