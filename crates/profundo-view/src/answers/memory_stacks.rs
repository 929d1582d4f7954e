//! The stacks that allocate: each with what it allocated, kept, had at the peak, and freed at once.
//!
//! The members of amounts are those of the report `allocs`. Places have one list: stacks share most
//! of them.

use profundo_analysis::{
    Figure, HeapOptions, Holding, Place, allocations, by_shown_stack, records_allocations,
};
use profundo_model::Profile;
use profundo_report::lines_that_allocate;
use rustc_hash::FxHashMap;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{Answer, flame};
use crate::library::choices;
use crate::{Error, Library, Question};

/// Rows of the table, if the question does not say.
const ROWS: usize = 200;
/// The most places of one stack: of a deeper one, the innermost.
const DEEPEST: usize = 200;

#[derive(Debug, Serialize)]
struct Stacks {
    total: Map<String, Value>,
    places: Places,
    stacks: Vec<Row>,
    /// The number of stacks that have no row.
    left_out: usize,
}

/// The columns are arrays of equal length.
#[derive(Debug, Default, Serialize)]
struct Places {
    function: Vec<String>,
    file: Vec<Option<String>>,
    line: Vec<Option<u32>>,
}

#[derive(Debug, Serialize)]
struct Row {
    /// Rows of `places`, the innermost first.
    stack: Vec<usize>,
    /// The number of callers further out that are left out.
    deeper: usize,
    #[serde(flatten)]
    held: Map<String, Value>,
}

pub(super) fn memory_stacks(library: &Library, question: &Question) -> Result<Answer, Error> {
    let part = library.part(&question.without("of").without("at"))?;
    let profile = part.profile();
    if !records_allocations(profile) {
        let why = "what is allocated was not recorded: `profundo run --memory` does";
        return Err(Error::Nothing(why.to_owned()));
    }
    let choices = choices(question, part.filter())?;
    let options = HeapOptions {
        lines: lines_that_allocate(&choices),
        of_type: question.get("type").map(str::to_owned),
        ..HeapOptions::default()
    };
    let found = allocations(profile, part.filter(), &options);
    let rows = by_shown_stack(profile, &found.stacks, choices.shown);
    let limit = question.parsed("limit")?.unwrap_or(ROWS);
    let mut places = Places::default();
    let mut known = FxHashMap::default();
    let stacks = rows.iter().take(limit).map(|row| {
        let shown = row.of.iter().take(DEEPEST);
        let stack = shown.map(|&place| {
            let at = known.entry(place);
            *at.or_insert_with(|| places.add(profile, place))
        });
        Row {
            stack: stack.collect(),
            deeper: row.of.len().saturating_sub(DEEPEST),
            held: members(&row.held),
        }
    });
    let stacks = stacks.collect();
    Answer::json(&Stacks {
        total: members(&found.total),
        places,
        stacks,
        left_out: rows.len().saturating_sub(limit),
    })
}

impl Places {
    /// The row of a place.
    fn add(&mut self, profile: &Profile, place: Place) -> usize {
        let file = flame::file(profile, place).to_owned();
        let line = match place {
            Place::Frame(frame) => profile.frames.get(frame).line,
            _ => 0,
        };
        self.function.push(flame::name(profile, place));
        self.file.push((!file.is_empty()).then_some(file));
        self.line.push((line > 0).then_some(line));
        self.function.len() - 1
    }
}

/// Amounts by the names that `allocs` has for them.
fn members(held: &Holding) -> Map<String, Value> {
    let mut members = Map::new();
    let mut add = |name: &str, figure: Figure| {
        members.insert(name.to_owned(), figure.value.into());
        if !figure.is_exact() {
            members.insert(format!("{name}_low"), figure.low.into());
            members.insert(format!("{name}_high"), figure.high.into());
        }
    };
    for (name, sum) in [
        ("allocated", &held.allocated),
        ("live", &held.live),
        ("peak", &held.at_peak),
        ("temporary", &held.temporary),
    ] {
        add(&format!("{name}_bytes"), sum.bytes());
        add(&format!("{name}_blocks"), sum.count());
    }
    let seconds = held.lifetime().map(|nanos| nanos as f64 / 1e9);
    members.insert("lifetime_seconds".to_owned(), seconds.into());
    members
}
