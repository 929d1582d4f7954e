//! The rows of both sides brought together, and their tests.

use profundo_model::Profile;
use rustc_hash::FxHashMap;

use super::factor::Factor;
use super::matching::{LineMap, Pairing};
use super::measure::{Key, measure};
use super::test::{Cell, Difference, Runs, Spread, difference, measured_spread, pair};
use super::{Assumed, By, Prepared, Unit, measure};
use crate::Place;

/// What has happened to the code of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Nothing that is known of.
    None,
    /// It is only after.
    New,
    /// It is only before.
    Gone,
    /// It is in another file, or at another line.
    Moved,
    /// The text of the line is another one.
    Edited,
    /// The function had this name.
    Renamed(String),
}

/// What a row is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// The name, where it is no place.
    pub name: Option<String>,
    /// The place before: in the profile of that run.
    pub before: Option<(usize, Place)>,
    /// The place after.
    pub after: Option<(usize, Place)>,
}

/// A row.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// What it is about.
    pub of: Subject,
    /// What has happened to its code.
    pub what: Change,
    /// Its own amount.
    pub own: Difference,
    /// With callees, where that is another amount.
    pub total: Option<Difference>,
    /// The nanoseconds of all calls before and after, of one run, where they were counted.
    pub times: Option<[f64; 2]>,
}

impl Row {
    /// Whether the row has changed, with its callees or without.
    pub fn is_significant(&self) -> bool {
        self.own.is_significant || self.total.is_some_and(|total| total.is_significant)
    }
}

/// A table.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Its rows.
    pub by: By,
    /// The unit of amounts.
    pub unit: Unit,
    /// True if amounts are no parts of the whole.
    pub is_count: bool,
    /// The rows: the largest changes first, then those that only changed with their callees, then
    /// chance.
    pub rows: Vec<Row>,
}

impl Table {
    /// Whether each row was counted, so that no chance is in it. The bytes of a file are estimated
    /// from samples.
    pub fn is_counted(&self) -> bool {
        matches!(self.by, By::Calls | By::Hits)
    }

    /// Rows whose own amount has changed.
    pub fn changed(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.own.is_significant)
    }

    /// Rows that have changed with their callees only.
    pub fn changed_with_callees(&self) -> impl Iterator<Item = &Row> {
        let rows = self.rows.iter().filter(|row| !row.own.is_significant);
        rows.filter(|row| row.is_significant())
    }

    /// The number of rows without a change.
    pub fn unclear(&self) -> usize {
        self.rows.iter().filter(|row| !row.is_significant()).count()
    }

    pub(super) fn own_differences(&mut self) -> impl Iterator<Item = &mut Difference> {
        let rows = self.rows.iter_mut().map(|row| &mut row.own);
        rows.filter(|own| own.before.max(own.after) > 0.0)
    }

    pub(super) fn total_differences(&mut self) -> impl Iterator<Item = &mut Difference> {
        self.rows.iter_mut().filter_map(|row| row.total.as_mut())
    }

    pub(super) fn sort(&mut self) {
        self.rows.sort_by(|a, b| {
            let rank = |row: &Row| (!row.own.is_significant, !row.is_significant());
            let size = |row: &Row| match (row.own.is_significant, row.total) {
                (false, Some(total)) if total.is_significant => total.change.abs(),
                _ => row.own.change.abs(),
            };
            (rank(a).cmp(&rank(b))).then(size(b).total_cmp(&size(a)))
        });
    }
}

/// Rows of less than this part of the whole are not looked at: the fewer the tests, the more each
/// of them sees.
const SMALLEST: f64 = 0.0005;

/// A row with this part of the whole is the whole.
const WHOLE: f64 = 0.9;

/// The same row on both sides.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Joint<'a> {
    Function(u32),
    GoneFunction(u32),
    Line(&'a str, u32),
    GoneLine(&'a str, u32),
    Named(String, Option<(&'a str, u32)>),
}

struct DraftRow {
    of: Subject,
    what: Change,
    own: [Vec<Cell>; 2],
    total: [Vec<Cell>; 2],
    has_total: bool,
    times: [f64; 2],
    has_times: bool,
    /// Whether the code is on both sides, wherever it has an amount.
    is_on_both: bool,
}

/// A table in the making.
pub(super) struct Draft {
    pub(super) by: By,
    unit: Unit,
    pub(super) is_count: bool,
    rows: Vec<DraftRow>,
}

impl Draft {
    pub(super) fn new(prepared: &mut Prepared<'_>, by: By) -> Self {
        if by == By::Stack {
            return super::stacks::draft(prepared);
        }
        let (unit, is_count) = match by {
            By::Calls | By::Hits => (Unit::Count, true),
            By::Io => (Unit::Bytes, true),
            _ => (prepared.unit, false),
        };
        let mut draft = Self {
            by,
            unit,
            is_count,
            rows: Vec::new(),
        };
        let mut numbers: FxHashMap<Joint<'_>, usize> = FxHashMap::default();
        let mut maps = LineMaps::default();
        let runs = [0, 1].map(|side| prepared.profiles[side].len());
        // The rows after come first: their names are the ones that are shown.
        for side in [1, 0] {
            for run in 0..runs[side] {
                let found = measure(prepared, by, side, run);
                for row in found.rows {
                    let (joint, what) = maps.joint(prepared, by, side, run, &row.of);
                    let at = *numbers.entry(joint).or_insert_with(|| {
                        draft.rows.push(DraftRow::new(&row.of, runs));
                        draft.rows.len() - 1
                    });
                    let into = &mut draft.rows[at];
                    into.add(side, run, &row.of);
                    if what != Change::None {
                        into.what = what;
                    }
                    into.own[side][run] += row.own;
                    if let Some(total) = row.total {
                        into.total[side][run] += total;
                        into.has_total = true;
                    }
                    if let Some(time) = row.time {
                        into.times[side] += time / runs[side] as f64;
                        into.has_times = true;
                    }
                }
            }
        }
        let is_of_lines = matches!(by, By::Line | By::Hits);
        for row in draft.rows.iter_mut().filter(|_| is_of_lines) {
            row.is_on_both = maps.is_on_both(prepared, &row.of);
        }
        draft.fill(prepared);
        draft
    }

    /// Gives rows without samples the uncertainty of nothing, which is that of one sample.
    fn fill(&mut self, prepared: &Prepared<'_>) {
        if self.is_count {
            return;
        }
        for side in [0, 1] {
            for run in 0..prepared.profiles[side].len() {
                let nothing = super::stacks::scaled_nothing(prepared, side, run);
                for row in &mut self.rows {
                    for cells in [&mut row.own, &mut row.total] {
                        if cells[side][run].value == 0.0 {
                            cells[side][run] = nothing;
                        }
                    }
                }
            }
        }
    }

    /// A draft of rows that are made elsewhere: the amounts of each run, own and with callees.
    pub(super) fn of_stacks(
        prepared: &Prepared<'_>,
        rows: impl IntoIterator<Item = (Subject, Change, [Vec<Cell>; 2], [Vec<Cell>; 2])>,
    ) -> Self {
        let row = |(of, what, own, total)| DraftRow {
            of,
            what,
            own,
            total,
            has_total: true,
            times: [0.0; 2],
            has_times: false,
            is_on_both: false,
        };
        Self {
            by: By::Stack,
            unit: prepared.unit,
            is_count: false,
            rows: rows.into_iter().map(row).collect(),
        }
    }

    /// The common factors: of single runs the one between the two; of sets that of each run.
    pub(super) fn factors(&self, prepared: &Prepared<'_>) -> Vec<Factor> {
        let [before, after] = [0, 1].map(|side| prepared.profiles[side].len());
        if prepared.is_exact || self.is_count {
            return Vec::new();
        }
        let Assumed {
            row: relative,
            whole,
            ..
        } = prepared.assumed;
        if (before, after) == (1, 1) {
            let pairs = self.rows.iter().map(|row| pair(row.runs(), relative));
            return vec![Factor::of(pairs.collect(), whole)];
        }
        let spread = measure::spread_of_wholes(prepared);
        let base: Vec<Cell> = self.rows.iter().map(|row| middle(&row.own[0])).collect();
        let of_run = |side: usize, run: usize| {
            let pairs = self.rows.iter().zip(&base).map(|(row, base)| {
                let runs = Runs {
                    before: std::slice::from_ref(base),
                    after: &row.own[side][run..=run],
                };
                pair(runs, relative)
            });
            Factor::of(pairs.collect(), spread)
        };
        let runs = (0..before)
            .map(|run| (0, run))
            .chain((0..after).map(|run| (1, run)));
        runs.map(|(side, run)| of_run(side, run)).collect()
    }

    /// Takes the factor of each run out of its amounts, as far as the runs of its side differ.
    pub(super) fn even_out(&mut self, factors: &[Factor], before: usize) {
        if factors.len() < 2 {
            return;
        }
        let (first, second) = factors.split_at(before);
        for (side, factors) in [first, second].into_iter().enumerate() {
            let middle = mean_factor(factors);
            for row in &mut self.rows {
                for cells in [&mut row.own[side], &mut row.total[side]] {
                    for (cell, factor) in cells.iter_mut().zip(factors) {
                        cell.take_out(*factor, middle);
                    }
                }
            }
        }
    }

    /// The spread between runs that the rows are tested against.
    pub(super) fn spread(&self, prepared: &Prepared<'_>, is_single: bool) -> Spread {
        let is_counted = prepared.is_exact || matches!(self.by, By::Calls | By::Hits);
        match (is_counted, is_single) {
            (true, true) => Spread::EXACT,
            (true, false) => Spread {
                relative: 0.0,
                freedom: 0.0,
            },
            (false, true) if matches!(self.by, By::Wait | By::Io) => {
                Spread::assumed(prepared.assumed.row.max(Assumed::ELAPSED.row))
            }
            (false, true) => Spread::assumed(prepared.assumed.row),
            (false, false) => {
                let rows = self.rows.iter().map(DraftRow::runs);
                measured_spread(rows).unwrap_or(Spread::assumed(prepared.assumed.row))
            }
        }
    }

    pub(super) fn finish(self, prepared: &Prepared<'_>, factor: Factor, spread: Spread) -> Table {
        let wholes = [0, 1].map(|side| {
            let cells = measure::wholes(prepared, side);
            cells.iter().map(|cell| cell.value).sum::<f64>() / cells.len() as f64
        });
        let least = match self.is_count || prepared.is_exact {
            true => 0.0,
            false => SMALLEST * wholes[0].max(wholes[1]),
        };
        // What a caller contains is a good part of the whole: it differs from run to run as the
        // whole does, and not as one function does.
        let with_callees = match prepared.is_exact || !spread.freedom.is_infinite() {
            true => factor,
            false => Factor {
                variance: factor.variance + 2.0 * prepared.assumed.whole.powi(2),
                ..factor
            },
        };
        let rows = self.rows.into_iter().filter_map(|row| {
            let own = difference(row.runs(), factor, spread);
            let total = row.has_total.then(|| {
                let [before, after] = &row.total;
                difference(Runs { before, after }, with_callees, spread)
            });
            if prepared.is_gap(&row.of) {
                return None;
            }
            let most = own.before.max(own.after);
            let most = total.map_or(most, |total| most.max(total.before).max(total.after));
            // What contains nearly all is the whole, which has its own test.
            let is_whole = |total: &Difference| {
                total.before > WHOLE * wholes[0] && total.after > WHOLE * wholes[1]
            };
            let is_own =
                |total: &Difference| (total.before, total.after) == (own.before, own.after);
            let total = total.filter(|total| !is_own(total) && !is_whole(total));
            // A function without samples may be there all the same; lines and names are not.
            let is_named = self.by != By::Function && self.by != By::Calls && !row.is_on_both;
            let what = match row.what {
                Change::None
                    if is_named && row.of.before.is_none() && most_of(&own, &total)[0] == 0.0 =>
                {
                    Change::New
                }
                Change::None
                    if is_named && row.of.after.is_none() && most_of(&own, &total)[1] == 0.0 =>
                {
                    Change::Gone
                }
                what => what,
            };
            (most > 0.0 && most >= least).then_some(Row {
                of: row.of,
                what,
                own,
                total,
                times: row.has_times.then_some(row.times),
            })
        });
        Table {
            by: self.by,
            unit: self.unit,
            is_count: self.is_count,
            rows: rows.collect(),
        }
    }
}

/// The amounts before and after, with callees.
fn most_of(own: &Difference, total: &Option<Difference>) -> [f64; 2] {
    let total = total.unwrap_or(*own);
    [own.before.max(total.before), own.after.max(total.after)]
}

/// The geometric mean of factors.
pub(super) fn mean_factor(factors: &[Factor]) -> Factor {
    let count = factors.len().max(1) as f64;
    let sum: f64 = factors.iter().map(|factor| factor.value.ln()).sum();
    let variance: f64 = factors.iter().map(|factor| factor.variance).sum();
    Factor {
        value: (sum / count).exp(),
        variance: variance / (count * count),
    }
}

/// The median of the runs' amounts.
fn middle(cells: &[Cell]) -> Cell {
    let mut sorted = cells.to_vec();
    sorted.sort_by(|a, b| a.value.total_cmp(&b.value));
    sorted[sorted.len() / 2]
}

impl DraftRow {
    fn new(of: &Key, runs: [usize; 2]) -> Self {
        let empty = || runs.map(|count| vec![Cell::default(); count]);
        Self {
            of: Subject {
                name: match of {
                    Key::Place(_) => None,
                    Key::Named(name, _) => Some(name.clone()),
                },
                before: None,
                after: None,
            },
            what: Change::None,
            own: empty(),
            total: empty(),
            has_total: false,
            times: [0.0; 2],
            has_times: false,
            is_on_both: false,
        }
    }

    fn add(&mut self, side: usize, run: usize, of: &Key) {
        let place = match of {
            Key::Place(place) => Some(*place),
            Key::Named(_, place) => *place,
        };
        let into = match side {
            0 => &mut self.of.before,
            _ => &mut self.of.after,
        };
        *into = into.or(place.map(|place| (run, place)));
    }

    fn runs(&self) -> Runs<'_> {
        Runs {
            before: &self.own[0],
            after: &self.own[1],
        }
    }
}

/// The lines of files and functions, as far as they were asked for.
#[derive(Default)]
struct LineMaps {
    of_files: FxHashMap<(u32, u32), LineMap>,
}

impl LineMaps {
    fn joint<'a>(
        &mut self,
        prepared: &mut Prepared<'a>,
        by: By,
        side: usize,
        run: usize,
        of: &Key,
    ) -> (Joint<'a>, Change) {
        let is_line = matches!(by, By::Line | By::Hits);
        match of {
            Key::Named(name, None) => (Joint::Named(name.clone(), None), Change::None),
            Key::Named(name, Some(place)) => {
                let (joint, _) = self.place(prepared, side, run, *place, true);
                let at = match joint {
                    Joint::Line(path, line) => Some((path, line)),
                    _ => None,
                };
                (Joint::Named(name.clone(), at), Change::None)
            }
            Key::Place(place) => self.place(prepared, side, run, *place, is_line),
        }
    }

    fn place<'a>(
        &mut self,
        prepared: &mut Prepared<'a>,
        side: usize,
        run: usize,
        place: Place,
        is_line: bool,
    ) -> (Joint<'a>, Change) {
        let profile = prepared.profiles[side][run];
        let function = prepared.codes[side].of(run, place);
        let line = line_of(profile, place);
        if side == 1 {
            return match is_line && line > 0 {
                true => {
                    let path = prepared.codes[1].functions[function as usize].path;
                    (Joint::Line(path, line), Change::None)
                }
                false => (Joint::Function(function), prepared.newness_of(function)),
            };
        }
        let (other, what) = prepared.after_of(function);
        if !is_line || line == 0 {
            return match other {
                Some(other) => (Joint::Function(other), what),
                None => (Joint::GoneFunction(function), Change::Gone),
            };
        }
        let path = prepared.codes[0].functions[function as usize].path;
        let to = match other {
            Some(other) => prepared.codes[1].functions[other as usize].path,
            None => prepared.matching.file(path, &prepared.codes[1]),
        };
        let map = self.map(prepared, function, other, [path, to]);
        match map.of(line) {
            None => (Joint::GoneLine(path, line), Change::Gone),
            Some(mapped) => {
                let moved = match what {
                    Change::Renamed(_) | Change::Moved => what,
                    _ if mapped.is_edited => Change::Edited,
                    _ if mapped.line != line => Change::Moved,
                    _ => Change::None,
                };
                (Joint::Line(to, mapped.line), moved)
            }
        }
    }
}

impl LineMaps {
    /// The lines of a function, and of the one that it has become, in these files.
    fn map(
        &mut self,
        prepared: &Prepared<'_>,
        function: u32,
        other: Option<u32>,
        [path, to]: [&str; 2],
    ) -> &LineMap {
        let key = (function, other.unwrap_or(u32::MAX));
        let [before, after] = &prepared.codes;
        self.of_files.entry(key).or_insert_with(|| {
            let none = std::collections::BTreeSet::new();
            let lines = &before.functions[function as usize].lines;
            let others = other.map_or(&none, |other| &after.functions[other as usize].lines);
            LineMap::new(before.files.get(path), after.files.get(to), [lines, others])
        })
    }

    /// Whether a row that has an amount on one side only is a line that the other side has as well,
    /// such as one whose blocks were all freed.
    fn is_on_both(&mut self, prepared: &mut Prepared<'_>, of: &Subject) -> bool {
        let (side, run, place) = match (of.before, of.after) {
            (None, Some((run, place))) => (1, run, place),
            (Some((run, place)), None) => (0, run, place),
            _ => return false,
        };
        let line = line_of(prepared.profiles[side][run], place);
        let function = prepared.codes[side].of(run, place);
        let pair = match side {
            0 => prepared.after_of(function).0.map(|other| (function, other)),
            _ => (prepared.matching.before(function)).map(|one| (one, function)),
        };
        let Some((one, other)) = pair.filter(|_| line > 0) else {
            return false;
        };
        let [before, after] = &prepared.codes;
        let (from, to) = (
            &before.functions[one as usize],
            &after.functions[other as usize],
        );
        let map = self.map(prepared, one, Some(other), [from.path, to.path]);
        let is_at = |line: u32, at: u32| {
            let to = map.of(line);
            to.is_some_and(|to| to.line == at && !to.is_edited)
        };
        match side {
            0 => to.lines.iter().any(|&at| is_at(line, at)),
            _ => from.lines.iter().any(|&from| is_at(from, line)),
        }
    }
}

fn line_of(profile: &Profile, place: Place) -> u32 {
    match place {
        Place::Frame(frame) => profile.frames.get(frame).line,
        Place::Reason(_) | Place::Unknown => 0,
    }
}

impl Prepared<'_> {
    /// The function after that one before has become, and how that is known.
    pub(super) fn after_of(&mut self, function: u32) -> (Option<u32>, Change) {
        let code = &self.codes[0].functions[function as usize];
        match self
            .matching
            .forward
            .get(function as usize)
            .copied()
            .flatten()
        {
            Some((other, Pairing::Same)) => (Some(other), Change::None),
            Some((other, Pairing::Moved)) => (Some(other), Change::Moved),
            Some((other, Pairing::Renamed)) => (Some(other), Change::Renamed(code.name.to_owned())),
            // Reasons and unnamed code have no frame, and are the same by name.
            None => {
                let other = self.codes[1].find(code.name, code.path);
                (other, Change::None)
            }
        }
    }

    /// Whether a row is no code, but time of which the function is not known.
    fn is_gap(&self, of: &Subject) -> bool {
        let sides = [(0, of.before), (1, of.after)];
        of.name.is_none()
            && sides.into_iter().any(|(side, at)| match at {
                Some((run, Place::Frame(frame))) => {
                    let profile = self.profiles[side][run];
                    let is_synthetic =
                        profile.frames.get(frame).language == profundo_model::Language::Synthetic;
                    let collects = profundo_model::Reason::Collecting.name();
                    is_synthetic && profile.function_name(frame) != collects
                }
                Some((_, Place::Reason(reason))) => reason.is_gap(),
                _ => false,
            })
    }

    /// Whether a function after is new.
    pub(super) fn newness_of(&self, function: u32) -> Change {
        let is_known = self.matching.is_taken(function);
        match is_known {
            true => Change::None,
            false => Change::New,
        }
    }
}
