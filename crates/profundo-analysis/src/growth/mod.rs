//! The functions of services that have grown since the version before: by how much of their
//! service's time, how sure that is, and what it costs.
//!
//! Samples of one host depend on each other: they have its load, its data and its processor in
//! common. So the hosts of a version are its replicas, and how far they differ is the measure of
//! chance ([`Replicas`]). Where there is one host, its processes are; where there is one process,
//! only the lottery of samples is known. What all functions share, because another one takes more
//! or less of the whole, is taken out ([`crate::diff`] does the same). All functions of all
//! services are judged together ([`judge`]), so that a fleet of a thousand services does not have
//! a false alarm for each of them.

mod replicas;
#[cfg(test)]
mod tests;

use profundo_model::Profile;
use rustc_hash::FxHashMap;

pub use replicas::Replicas;

use crate::diff::Assumed;
use crate::diff::factor::Factor;
use crate::diff::test::{Cell, Difference, Runs, Spread, difference, measured_spread, pair};
use crate::shares::{FunctionNumbers, functions_of};
use crate::shown::{Shown, Sieve};
use crate::tally::{Keep, tally};
use crate::{Filter, Place, Selection};

/// A function with a larger part of everything is the whole, whose share cannot grow.
const WHOLE: f64 = 0.98;
/// A side with fewer samples says nothing of shares.
pub const FEW: u64 = 100;

/// The weight of all functions' spread beside a function's own, in replicas. Some functions differ
/// more between hosts than most do. With more weight, those were false alarms.
const FREEDOM: f64 = 2.0;

/// What a share is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Of {
    /// The function by itself.
    Itself,
    /// The function with its callees.
    Callees,
}

/// A function of a service.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// The function.
    pub place: Place,
    /// What its shares are of.
    pub of: Of,
    /// Its shares before and after, the change beyond what all functions share, and its interval.
    /// `p` is the probability of as much growth by chance.
    pub difference: Difference,
    /// Whether it has grown, and not by chance.
    pub has_grown: bool,
}

/// Two versions of a service.
#[derive(Debug, Clone, PartialEq)]
pub struct Service {
    /// The functions that can have grown by as much as is asked for.
    pub rows: Vec<Row>,
    /// The replicas from which intervals follow.
    pub replicas: Replicas,
    /// Their number before and after.
    pub counts: [usize; 2],
    /// The number of samples before and after.
    pub samples: [u64; 2],
    /// The part by which all other functions alike have changed.
    pub factor: f64,
}

impl Service {
    /// Whether a side has too few samples for a comparison.
    pub fn has_few(&self) -> bool {
        self.samples.iter().any(|samples| *samples < FEW)
    }
}

/// Compares two versions of a service: `before` and `after` are values of the label `version` in
/// the profile. Functions that cannot have grown by `at_least` of the time are left out.
pub fn growth(profile: &Profile, [before, after]: [&str; 2], at_least: f64) -> Service {
    let replicas = Replicas::of(profile, [before, after]);
    let selection = Selection::new(profile, &Filter::default());
    let groups = [before, after].map(|version| replicas.rows(profile, &selection, version));
    let counts = groups.each_ref().map(Vec::len);
    let sieve = Sieve::new(profile, Shown::default());
    let numbers = FunctionNumbers::new(profile);
    let mut places: FxHashMap<u32, Place> = FxHashMap::default();
    let mut functions: FxHashMap<u32, [Sides; 2]> = FxHashMap::default();
    let mut order: Vec<u32> = Vec::new();
    let mut samples = [0; 2];
    let [before, after] = counts;
    let empty = || [vec![Cell::default(); before], vec![Cell::default(); after]];
    for (side, groups) in groups.into_iter().enumerate() {
        for (run, rows) in groups.into_iter().enumerate() {
            let part = selection.part(rows, None, None);
            let mut whole = crate::Amount::default();
            part.stacks(profile)
                .iter()
                .for_each(|stack| whole.add(stack));
            samples[side] += whole.samples;
            let mut rule = functions_of(profile, &sieve, &numbers);
            for tally in tally(profile, &part, &mut rule, Keep::Sums).list {
                let slot = numbers.of(profile, tally.place);
                let [own, total] = functions.entry(slot).or_insert_with(|| {
                    order.push(slot);
                    [empty(), empty()]
                });
                places.entry(slot).or_insert(tally.place);
                own[side][run] = share(&tally.own, &whole);
                total[side][run] = share(&tally.total, &whole);
            }
        }
    }
    let rows = order.into_iter().flat_map(|slot| {
        let place = places[&slot];
        let [own, total] = functions.remove(&slot).unwrap_or_default();
        let has_callees = own != total;
        let total = has_callees.then_some((place, (Of::Callees, total)));
        [Some((place, (Of::Itself, own))), total]
            .into_iter()
            .flatten()
    });
    let (places, rows): (Vec<Place>, Vec<(Of, Sides)>) = rows.unzip();
    let (differences, factor) = differences(&rows);
    let rows = places.into_iter().zip(rows).zip(differences);
    let rows = rows.map(|((place, (of, _)), difference)| Row {
        place,
        of,
        difference,
        has_grown: false,
    });
    let can_have_grown = |row: &Row| {
        let Difference { before, after, .. } = row.difference;
        // The mean says nothing of the change, so this choice is no reason for false alarms.
        (before + after) / 2.0 >= at_least / 2.0 && before.min(after) < WHOLE
    };
    Service {
        rows: rows.filter(can_have_grown).collect(),
        replicas,
        counts,
        samples,
        factor,
    }
}

/// The share of a part, and the variance that sampling gives it.
fn share(part: &crate::Amount, whole: &crate::Amount) -> Cell {
    let all = (whole.weight as f64).max(f64::MIN_POSITIVE);
    let value = part.weight as f64 / all;
    // Each sample adds its weight to the part or not: the square of what it is off.
    let squares = part.squares * (1.0 - 2.0 * value) + whole.squares * value * value;
    Cell {
        value,
        variance: squares.max(0.0) / (all * all),
    }
}

/// The shares of a function in the replicas before and after.
type Sides = [Vec<Cell>; 2];

/// The differences of rows, and the common factor of those that add up to the whole.
fn differences(rows: &[(Of, Sides)]) -> (Vec<Difference>, f64) {
    let cells: Vec<Sides> = rows.iter().map(|(_, sides)| with_unseen(sides)).collect();
    let runs = || cells.iter().map(|[before, after]| Runs { before, after });
    let is_single = runs().all(|runs| runs.before.len() < 2 && runs.after.len() < 2);
    let assumed = Spread::assumed(Assumed::USUAL.row);
    let spread = match is_single {
        true => assumed,
        false => measured_spread(runs()).map_or(assumed, |all| Spread {
            freedom: all.freedom.min(FREEDOM),
            ..all
        }),
    };
    let own = rows
        .iter()
        .zip(runs())
        .filter(|((of, _), _)| *of == Of::Itself);
    let pairs = own.map(|(_, runs)| pair(runs, spread.relative));
    let factor = Factor::of(pairs.collect(), 0.0);
    let found = runs().map(|runs| {
        let mut found = difference(runs, factor, spread);
        // Growth alone is asked for.
        found.p = match found.change > 0.0 {
            true => found.p / 2.0,
            false => 1.0 - found.p / 2.0,
        };
        found
    });
    (found.collect(), factor.value)
}

/// The same cells. A replica without any sample of a function may have a little of it, so its share
/// is no more certain than the others.
fn with_unseen(sides: &Sides) -> Sides {
    let most = sides
        .iter()
        .flatten()
        .map(|cell| cell.variance)
        .fold(0.0, f64::max);
    sides.clone().map(|side| {
        let cells = side.into_iter().map(|cell| match cell.value > 0.0 {
            true => cell,
            false => Cell {
                variance: most,
                ..cell
            },
        });
        cells.collect()
    })
}

/// Marks what has grown by at least `at_least` of its service's time, so that of all that is marked
/// in all services at most the part `false_alarms` is chance (Benjamini and Hochberg).
pub fn judge<'s>(
    services: impl IntoIterator<Item = &'s mut Service>,
    false_alarms: f64,
    at_least: f64,
) {
    let services = services.into_iter().filter(|service| !service.has_few());
    let mut rows: Vec<&mut Row> = services.flat_map(|service| &mut service.rows).collect();
    let limit = limit(
        rows.iter().map(|row| row.difference.p).collect(),
        false_alarms,
    );
    for row in &mut rows {
        let Difference { p, change, .. } = row.difference;
        row.has_grown = p <= limit && change >= at_least;
        row.difference.is_significant = row.has_grown;
    }
}

/// The largest probability that still counts, after Benjamini and Hochberg; −1 where none does.
fn limit(mut chances: Vec<f64>, false_alarms: f64) -> f64 {
    chances.sort_by(f64::total_cmp);
    let all = chances.len() as f64;
    let passing = (1..).zip(&chances);
    let passing =
        passing.filter(|(rank, chance)| **chance <= false_alarms * f64::from(*rank) / all);
    passing.map(|(_, chance)| *chance).last().unwrap_or(-1.0)
}
