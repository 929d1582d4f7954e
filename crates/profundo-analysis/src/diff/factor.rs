//! The common factor: a program that as a whole runs 3 % slower, because the machine is busy or
//! the clock is slower, is slower in every function, and none of them has changed.
//!
//! The factor is the one that explains most rows. Each row pulls with a bounded force, so that a
//! function that has really changed does not move it, however large it is; and a factor other than
//! 1 has its price, so that it must explain several rows. Within its uncertainty of 1, it is 1.

use super::Assumed;

/// A row counts as explained by another cause from this many standard deviations on.
const OUTLIER: f64 = 3.0;
/// A factor far from 1 costs a little more than one row that it explains: it must explain two.
const FACTOR_COST: f64 = 5.0;
/// A factor must be better than 1 by as much: one standard deviation.
const CLEARLY: f64 = 0.5;
/// The rows that take part, the largest first.
const MOST: usize = 200;

/// The amounts of one row before and after, and the variance of their difference.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair {
    pub before: f64,
    pub after: f64,
    pub variance: f64,
}

/// A factor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Factor {
    pub value: f64,
    /// The variance of its logarithm.
    pub variance: f64,
}

impl Factor {
    /// No factor, and no doubt about it.
    pub(crate) const NONE: Self = Self {
        value: 1.0,
        variance: 0.0,
    };

    /// The factor between these rows. `spread` is the usual spread of such factors.
    pub(crate) fn of(mut rows: Vec<Pair>, spread: f64) -> Self {
        rows.retain(|row| row.before > 0.0 && row.after > 0.0 && row.variance > 0.0);
        rows.sort_by(|a, b| (b.before + b.after).total_cmp(&(a.before + a.after)));
        rows.truncate(MOST);
        let spread = spread.max(Assumed::USUAL.whole);
        let cost = |at: f64| {
            let rows: f64 = rows.iter().map(|row| bounded(row.off(at), OUTLIER)).sum();
            rows + (0.5 * (at / spread).powi(2)).min(FACTOR_COST)
        };
        let mut best = (cost(0.0), 0.0);
        let of_rows = rows.iter().take(64);
        let starts = of_rows.map(|row| (row.after / row.before).ln());
        for start in std::iter::once(0.0).chain(starts) {
            let mut at = start;
            for _ in 0..4 {
                at = refined(&rows, at, spread);
            }
            let found = cost(at);
            if found < best.0 {
                best = (found, at);
            }
        }
        let at = match cost(0.0) - best.0 > CLEARLY {
            true => best.1,
            false => 0.0,
        };
        let agreeing = rows.iter().filter(|row| row.off(at).abs() < OUTLIER);
        let precision: f64 = agreeing.map(|row| row.before.powi(2) / row.variance).sum();
        let left = best.1 - at;
        Self {
            value: at.exp(),
            variance: 1.0 / (precision + 1.0 / (spread * spread)) + left * left,
        }
    }
}

impl Pair {
    /// The standard deviations between the amount after and that before times a factor.
    fn off(&self, logarithm: f64) -> f64 {
        (self.after - self.before * logarithm.exp()) / self.variance.sqrt()
    }
}

fn bounded(z: f64, outlier: f64) -> f64 {
    0.5 * (z * z).min(outlier * outlier)
}

/// The weighted mean of the factors of the rows that agree with one, drawn to 1 where that is
/// usual.
fn refined(rows: &[Pair], at: f64, spread: f64) -> f64 {
    let is_usual = 0.5 * (at / spread).powi(2) < FACTOR_COST;
    let (mut sum, mut weights) = (
        0.0,
        if is_usual {
            1.0 / (spread * spread)
        } else {
            0.0
        },
    );
    for row in rows.iter().filter(|row| row.off(at).abs() < OUTLIER) {
        let weight = row.before.powi(2) / row.variance;
        sum += weight * (row.after / row.before).ln();
        weights += weight;
    }
    match weights > 0.0 {
        true => sum / weights,
        false => at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(pairs: &[(f64, f64)]) -> Vec<Pair> {
        (pairs.iter())
            .map(|&(before, after)| Pair {
                before,
                after,
                variance: before + after,
            })
            .collect()
    }

    #[test]
    fn rows_that_agree_have_a_factor() {
        let alike: Vec<(f64, f64)> = (1..20)
            .map(|at| (f64::from(at) * 1000.0, f64::from(at) * 1100.0))
            .collect();
        let found = Factor::of(rows(&alike), 0.0);
        assert!((found.value - 1.1).abs() < 0.01, "{found:?}");
    }

    #[test]
    fn one_row_is_no_factor_however_large_it_is() {
        let one = [
            (90_000.0, 99_000.0),
            (2000.0, 2010.0),
            (3000.0, 2980.0),
            (1000.0, 1005.0),
        ];
        assert_eq!(Factor::of(rows(&one), 0.0).value, 1.0);
        assert_eq!(Factor::of(rows(&one[..1]), 0.0).value, 1.0);
    }

    #[test]
    fn a_changed_row_does_not_move_the_factor_of_the_others() {
        let mut busy: Vec<(f64, f64)> = (1..10).map(|_| (3000.0, 3600.0)).collect();
        busy.push((3000.0, 9000.0));
        let found = Factor::of(rows(&busy), 0.0);
        assert!((found.value - 1.2).abs() < 0.02, "{found:?}");
    }
}
