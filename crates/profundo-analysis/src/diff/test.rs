//! The test of one row, and the bound on false alarms over all of them.
//!
//! The amount of a row after is compared with that before, times the common factor. What can make
//! them differ by chance is added up: the lottery of sampling on both sides, the uncertainty of the
//! factor, and the spread between runs. With one run on each side that spread is assumed; with sets
//! of runs it is measured, row by row, and each row's own spread is drawn to that of all rows,
//! because a spread from three runs is itself uncertain.

use super::Assumed;
use super::factor::{Factor, Pair};
use super::student::{quantile, two_sided};

/// The part of false alarms among all rows that are named, at most.
pub const FALSE_ALARMS: f64 = 0.05;

/// An amount, with the variance that sampling gives it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cell {
    /// The amount on the common scale.
    pub value: f64,
    /// The variance.
    pub variance: f64,
}

impl Cell {
    /// Takes a run's factor out, as far as it is not that of its side. How uncertain the factor is
    /// counts once, in the factor between the sides.
    pub(crate) fn take_out(&mut self, factor: Factor, of_side: Factor) {
        let by = factor.value / of_side.value;
        self.value /= by;
        self.variance /= by * by;
    }
}

impl std::ops::AddAssign for Cell {
    fn add_assign(&mut self, more: Self) {
        self.value += more.value;
        self.variance += more.variance;
    }
}

/// A difference with its interval, and the verdict on it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Difference {
    /// The amount before: the mean of the runs.
    pub before: f64,
    /// The amount after.
    pub after: f64,
    /// The change beyond the common factor: where that is 1, `after - before`.
    pub change: f64,
    /// The lower end of its 95 % interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The probability of a change as large by chance.
    pub p: f64,
    /// The standard deviation of the change.
    pub deviation: f64,
    /// Whether it is a change, and not chance: set once all rows are known.
    pub is_significant: bool,
}

impl Difference {
    /// Half of the width of the interval.
    pub fn margin(&self) -> f64 {
        (self.high - self.low) / 2.0
    }
}

/// What is known of the spread between runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    /// The relative spread of a row between runs.
    pub relative: f64,
    /// The number of runs' worth that it counts for beside a row's own.
    pub freedom: f64,
}

impl Spread {
    /// The assumption for single runs. It is taken as certain: nothing could correct it.
    pub(crate) const fn assumed(relative: f64) -> Self {
        Self {
            relative,
            freedom: f64::INFINITY,
        }
    }
    /// Counts are the same in every run of the same program.
    pub(crate) const EXACT: Self = Self {
        relative: 0.0,
        freedom: f64::INFINITY,
    };
}

/// The amounts of one row in all runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Runs<'a> {
    pub before: &'a [Cell],
    pub after: &'a [Cell],
}

/// Mean, variance of the mean, and the freedom of that variance.
#[derive(Debug, Clone, Copy)]
struct Side {
    mean: f64,
    variance: f64,
    freedom: f64,
}

fn side(cells: &[Cell], spread: Spread) -> Side {
    let count = cells.len() as f64;
    let mean = cells.iter().map(|cell| cell.value).sum::<f64>() / count;
    let sampling = cells.iter().map(|cell| cell.variance).sum::<f64>() / count;
    let assumed = (spread.relative * mean).powi(2) + sampling;
    let own = count - 1.0;
    let squares: f64 = cells.iter().map(|cell| (cell.value - mean).powi(2)).sum();
    let each = match spread.freedom.is_finite() {
        true => (spread.freedom * assumed + squares) / (spread.freedom + own).max(1.0),
        false => assumed,
    };
    Side {
        mean,
        variance: each.max(sampling) / count,
        freedom: own + spread.freedom,
    }
}

/// The difference of a row.
pub(crate) fn difference(runs: Runs<'_>, factor: Factor, spread: Spread) -> Difference {
    let (before, after) = (side(runs.before, spread), side(runs.after, spread));
    let expected = before.mean * factor.value;
    let scaled = before.variance * factor.value * factor.value;
    let common = expected * expected * factor.variance;
    let variance = scaled + after.variance + common;
    let change = after.mean - expected;
    // Welch and Satterthwaite.
    let parts =
        scaled.powi(2) / before.freedom.max(1.0) + after.variance.powi(2) / after.freedom.max(1.0);
    let freedom = match before.freedom.is_finite() && after.freedom.is_finite() && parts > 0.0 {
        true => (scaled + after.variance).powi(2) / parts,
        false => f64::INFINITY,
    };
    let deviation = variance.sqrt();
    let p = match (deviation > 0.0, change == 0.0) {
        (_, true) => 1.0,
        (true, false) => two_sided(change / deviation, freedom),
        (false, false) => 0.0,
    };
    let half = match deviation > 0.0 {
        true => quantile(0.05, freedom) * deviation,
        false => 0.0,
    };
    Difference {
        before: before.mean,
        after: after.mean,
        change,
        low: change - half,
        high: change + half,
        p,
        deviation,
        is_significant: false,
    }
}

/// The two sides of a row as the factor needs them.
pub(crate) fn pair(runs: Runs<'_>, relative: f64) -> Pair {
    let spread = Spread {
        relative,
        freedom: f64::INFINITY,
    };
    let (before, after) = (side(runs.before, spread), side(runs.after, spread));
    Pair {
        before: before.mean,
        after: after.mean,
        variance: before.variance + after.variance,
    }
}

/// The spread between runs, from all rows of a table together. `None` if there are no two runs on
/// a side, or too few rows.
pub(crate) fn measured_spread<'a>(rows: impl IntoIterator<Item = Runs<'a>>) -> Option<Spread> {
    /// Fewer numbers say nothing.
    const FEW: f64 = 6.0;
    /// The weight of all rows' spread beside a row's own.
    const FREEDOM: f64 = 4.0;
    let mut spreads: Vec<(f64, f64)> = Vec::new();
    let (mut numbers, mut has_sets) = (0.0, false);
    for row in rows {
        for cells in [row.before, row.after] {
            let own = cells.len() as f64 - 1.0;
            has_sets |= own > 0.0;
            let side = side(cells, Spread::EXACT);
            if own < 1.0 || side.mean <= 0.0 {
                continue;
            }
            let sampling = cells.iter().map(|cell| cell.variance).sum::<f64>() / cells.len() as f64;
            // Only rows that are sampled well show more than the lottery.
            if sampling > (0.05 * side.mean).powi(2) {
                continue;
            }
            let squares: f64 = cells
                .iter()
                .map(|cell| (cell.value - side.mean).powi(2))
                .sum();
            let beyond = (squares / own - sampling).max(0.0) / (side.mean * side.mean);
            spreads.push((beyond, own));
            numbers += own;
        }
    }
    if !has_sets {
        return None;
    }
    if numbers < FEW {
        return Some(Spread {
            relative: Assumed::USUAL.row,
            freedom: 1.0,
        });
    }
    // Most rows decide, not the one that is different in each run.
    spreads.sort_by(|a, b| a.0.total_cmp(&b.0));
    let kept = &spreads[..spreads.len() - spreads.len() / 10];
    let freedom: f64 = kept.iter().map(|(_, own)| own).sum();
    let mean = kept.iter().map(|(beyond, own)| beyond * own).sum::<f64>() / freedom;
    Some(Spread {
        relative: mean.sqrt().max(Assumed::USUAL.row / 2.0),
        freedom: FREEDOM,
    })
}

/// Marks the changes that are significant: after Benjamini and Hochberg, so that of all that are
/// marked at most the part [`FALSE_ALARMS`] is chance.
pub(crate) fn mark<'a>(differences: impl IntoIterator<Item = &'a mut Difference>) -> f64 {
    let mut all: Vec<&mut Difference> = differences.into_iter().collect();
    let count = all.len();
    let mut order: Vec<f64> = all.iter().map(|difference| difference.p).collect();
    order.sort_by(f64::total_cmp);
    let limit = |rank: usize| FALSE_ALARMS * (rank + 1) as f64 / count as f64;
    let last = (0..count).rev().find(|&rank| order[rank] <= limit(rank));
    let most = last.map_or(-1.0, |rank| order[rank]);
    for difference in &mut all {
        difference.is_significant = difference.p <= most;
    }
    // The limit that one more change would have to keep.
    limit(last.map_or(0, |rank| (rank + 1).min(count.saturating_sub(1))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(values: &[f64], variance: f64) -> Vec<Cell> {
        values
            .iter()
            .map(|&value| Cell { value, variance })
            .collect()
    }

    #[test]
    fn a_count_that_differs_is_a_change() {
        let (before, after) = (cells(&[10.0], 0.0), cells(&[11.0], 0.0));
        let runs = Runs {
            before: &before,
            after: &after,
        };
        let found = difference(runs, Factor::NONE, Spread::EXACT);
        assert_eq!(
            (found.change, found.low, found.high, found.p),
            (1.0, 1.0, 1.0, 0.0)
        );
    }

    #[test]
    fn the_spread_between_runs_decides_in_sets() {
        let (before, after) = (
            cells(&[10.0, 14.0, 12.0], 0.01),
            cells(&[13.0, 15.0, 11.0], 0.01),
        );
        let runs = Runs {
            before: &before,
            after: &after,
        };
        let spread = Spread {
            relative: 0.01,
            freedom: 0.0,
        };
        let found = difference(runs, Factor::NONE, spread);
        // As any table of Welch's test: t = 0.612, four degrees of freedom.
        assert!((found.p - 0.573).abs() < 0.01, "{found:?}");
        assert!(found.low < 0.0 && found.high > 0.0);
    }

    #[test]
    fn of_many_rows_few_are_false_alarms() {
        let with = |p: f64| Difference {
            p,
            ..Difference::default()
        };
        let mut rows: Vec<Difference> = (1..=100).map(|at| with(f64::from(at) / 100.0)).collect();
        mark(&mut rows);
        assert!(rows.iter().all(|row| !row.is_significant));
        rows[0].p = 1e-6;
        rows[1].p = 0.0009;
        mark(&mut rows);
        assert!(rows[..2].iter().all(|row| row.is_significant));
        assert_eq!(rows.iter().filter(|row| row.is_significant).count(), 2);
    }
}
