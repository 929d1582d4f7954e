//! A table in the making: the rows of both sides brought together, and their tests.

use rustc_hash::FxHashMap;

use super::factor::Factor;
use super::joint::{Joint, LineMaps};
use super::measure::{Key, measure_all};
use super::table::{Change, Row, Subject, Table};
use super::test::{Cell, Difference, Runs, Spread, difference, measured_spread, pair};
use super::{Assumed, By, Prepared, Unit, measure};

/// Rows of less than this part of the whole are not looked at: the fewer the tests, the more each
/// of them sees.
const SMALLEST: f64 = 0.0005;

/// A row with this part of the whole is the whole.
const WHOLE: f64 = 0.9;

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
        let mut measured = measure_all(prepared, by);
        for side in [1, 0] {
            for (run, found) in (0..).zip(std::mem::take(&mut measured[side])) {
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

    /// The common factors: of single runs the one between the two; of sets that of each run. Parts
    /// of one run have none.
    pub(super) fn factors(&self, prepared: &Prepared<'_>) -> Vec<Factor> {
        if prepared.options.is_one_run {
            return Vec::new();
        }
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
