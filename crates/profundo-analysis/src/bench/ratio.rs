//! A ratio of times with its interval.
//!
//! It is taken from the differences of logarithms, so that it is the same whichever of the two comes first, and by ranks,
//! so that a run that somebody disturbed counts for no more than any other. The ratio is the median of all means of two
//! differences, after Hodges and Lehmann; its interval holds all ratios that Wilcoxon's test does not refuse, of pairs
//! the signed-rank test and of groups the rank-sum test, both exact for as many runs as one takes.

use crate::interval::normal;

/// How many times as long one takes as the other, and between what the truth lies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// The best guess.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// More runs than this are taken together, neighbours first: all pairs of runs are looked at.
const MOST: usize = 1500;
/// Up to so many the distribution of the ranks is counted out.
const MOST_EXACT: usize = 100;
/// The same of groups, whose distribution takes longer to count.
const MOST_EXACT_IN_GROUPS: usize = 40;

impl Ratio {
    /// How many times longer the first of each pair took than the second. It is wrong in at most this part of the
    /// cases. `None` if there are too few pairs to be as sure as that.
    pub fn of_pairs(pairs: &[(f64, f64)], error: f64) -> Option<Self> {
        let differences = pairs
            .iter()
            .map(|(one, other)| logarithm(*one) - logarithm(*other));
        let differences = together(differences.collect());
        let count = differences.len();
        let rank = signed_rank(count, error / 2.0)?;
        let mut means = Vec::with_capacity(count * (count + 1) / 2);
        for (index, one) in differences.iter().enumerate() {
            means.extend(differences[index..].iter().map(|other| (one + other) / 2.0));
        }
        Some(Self::around(means, rank))
    }

    /// How many times longer the runs of one group took than those of another that ran at another time. Runs that
    /// were taken one after the other are alike: as far as they are, the interval is wider.
    pub fn of_groups(one: &[f64], other: &[f64], error: f64) -> Option<Self> {
        let logarithms = |times: &[f64]| together(times.iter().copied().map(logarithm).collect());
        let (one, other) = (logarithms(one), logarithms(other));
        let rank = rank_sum(one.len(), other.len(), error / 2.0)?;
        let all = one
            .iter()
            .flat_map(|one| other.iter().map(move |other| one - other));
        let ratio = Self::around(all.collect(), rank);
        let wider = alike(&one).max(alike(&other));
        let widened = |end: f64| ratio.value * (end / ratio.value).powf(wider);
        Some(Self {
            value: ratio.value,
            low: widened(ratio.low),
            high: widened(ratio.high),
        })
    }

    /// The median of some logarithms, and those of this rank from both ends.
    fn around(mut logarithms: Vec<f64>, rank: usize) -> Self {
        logarithms.sort_by(f64::total_cmp);
        let count = logarithms.len();
        let middle = (logarithms[(count - 1) / 2] + logarithms[count / 2]) / 2.0;
        Self {
            value: middle.exp(),
            low: logarithms[rank - 1].exp(),
            high: logarithms[count - rank].exp(),
        }
    }

    /// The ratio of the other to the one.
    pub fn inverse(self) -> Self {
        Self {
            value: 1.0 / self.value,
            low: 1.0 / self.high,
            high: 1.0 / self.low,
        }
    }

    /// Whether it is certain that they differ.
    pub fn is_told(&self) -> bool {
        self.low > 1.0 || self.high < 1.0
    }
}

/// Clocks may say 0, of which there is no logarithm.
fn logarithm(seconds: f64) -> f64 {
    seconds.max(1e-12).ln()
}

/// Neighbours taken together until there are few enough.
fn together(values: Vec<f64>) -> Vec<f64> {
    let size = values.len().div_ceil(MOST).max(1);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    values.chunks(size).map(mean).collect()
}

/// How many times wider an interval has to be because each value is like the one before it.
pub(super) fn alike(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let products = values
        .windows(2)
        .map(|two| (two[0] - mean) * (two[1] - mean));
    let correlation = match products.sum::<f64>() / squares {
        some if some.is_finite() => some.clamp(0.0, 0.9),
        _ => 0.0,
    };
    ((1.0 + correlation) / (1.0 - correlation)).sqrt()
}

/// How often the interval of a median does not hold it.
pub(super) const ERROR_OF_MEDIAN: f64 = super::ERROR;

/// The rank of the ends of a median's interval among so many values: the largest for which chance alone lies beyond it
/// at most this often.
pub(super) fn rank_of_median(count: usize, tail: f64) -> Option<usize> {
    if count > MOST_EXACT {
        return about(count as f64 / 2.0, count as f64 / 4.0, tail);
    }
    // The chance of each number of values below the median.
    let mut chances = vec![1.0];
    for _ in 0..count {
        let with = |index: usize| chances.get(index).copied().unwrap_or(0.0);
        let next = (0..=chances.len()).map(|below| {
            let from = below.checked_sub(1).map_or(0.0, with);
            (with(below) + from) / 2.0
        });
        chances = next.collect();
    }
    beyond(&chances, tail)
}

/// How many pairs it takes to be wrong this rarely.
pub(super) fn fewest_pairs(error: f64) -> usize {
    (1..64)
        .find(|count| signed_rank(*count, error / 2.0).is_some())
        .unwrap_or(64)
}

/// The rank of the interval's ends among the means of two: the largest for which chance alone lies beyond it at
/// most this often.
fn signed_rank(count: usize, tail: f64) -> Option<usize> {
    let n = count as f64;
    if count > MOST_EXACT {
        let (mean, variance) = (n * (n + 1.0) / 4.0, n * (n + 1.0) * (2.0 * n + 1.0) / 24.0);
        return about(mean, variance, tail);
    }
    // The chance of each sum of the ranks of those that are positive, each being so or not.
    let mut chances = vec![0.0; count * (count + 1) / 2 + 1];
    chances[0] = 1.0;
    for rank in 1..=count {
        for sum in (0..chances.len()).rev() {
            let with = if sum >= rank {
                chances[sum - rank]
            } else {
                0.0
            };
            chances[sum] = (chances[sum] + with) / 2.0;
        }
    }
    beyond(&chances, tail)
}

/// The same of two groups, among the differences of one of each.
fn rank_sum(one: usize, other: usize, tail: f64) -> Option<usize> {
    let (m, n) = (one as f64, other as f64);
    if one.max(other) > MOST_EXACT_IN_GROUPS {
        return about(m * n / 2.0, m * n * (m + n + 1.0) / 12.0, tail);
    }
    // The chance of each number of pairs in which the first is greater, of so many of the first and of the second:
    // the greatest of all is one of the first, and greater than all of the second, or one of the second.
    let mut rows: Vec<Vec<f64>> = vec![vec![1.0]; other + 1];
    for i in 1..=one {
        let mut next = vec![vec![1.0]];
        for j in 1..=other {
            let (from_one, from_other) = (i as f64 / (i + j) as f64, j as f64 / (i + j) as f64);
            let row = (0..=i * j).map(|sum| {
                let of_one = sum.checked_sub(j).and_then(|sum| rows[j].get(sum));
                let of_other = next[j - 1].get(sum);
                from_one * of_one.unwrap_or(&0.0) + from_other * of_other.unwrap_or(&0.0)
            });
            next.push(row.collect());
        }
        rows = next;
    }
    beyond(&rows[other], tail)
}

/// How many of the chances, from the first on, make up at most `tail`.
fn beyond(chances: &[f64], tail: f64) -> Option<usize> {
    let mut sum = 0.0;
    let within = chances.iter().take_while(|chance| {
        sum += *chance;
        sum <= tail
    });
    match within.count() {
        0 => None,
        rank => Some(rank.min(chances.len() / 2)),
    }
}

/// The same where there are so many that the sums are distributed normally.
fn about(mean: f64, variance: f64, tail: f64) -> Option<usize> {
    let (mut low, mut high) = (-12.0, 0.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        match normal(middle) > tail {
            true => high = middle,
            false => low = middle,
        }
    }
    let rank = mean + low * variance.sqrt();
    (rank >= 1.0).then_some(rank as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ranks_are_those_of_the_tables() {
        // Critical values of the signed-rank test at 5 %, both sides; the rank is one more.
        let table = [
            (6, 0),
            (7, 2),
            (8, 3),
            (10, 8),
            (15, 25),
            (20, 52),
            (25, 89),
        ];
        for (count, critical) in table {
            assert_eq!(signed_rank(count, 0.025), Some(critical + 1), "{count}");
        }
        assert_eq!(signed_rank(5, 0.025), None);
        assert_eq!((fewest_pairs(0.05), fewest_pairs(0.05 / 6.0)), (6, 8));
        // Of the test of Mann and Whitney at 5 %.
        let table = [
            ((4, 4), 0),
            ((5, 5), 2),
            ((5, 20), 20),
            ((10, 10), 23),
            ((20, 20), 127),
        ];
        for ((one, other), critical) in table {
            let rank = Some(critical + 1);
            assert_eq!(rank_sum(one, other, 0.025), rank, "{one} and {other}");
            assert_eq!(rank_sum(other, one, 0.025), rank, "{other} and {one}");
        }
        assert_eq!(rank_sum(3, 3, 0.025), None);
        assert_eq!(rank_sum(0, 5, 0.025), None);
    }

    #[test]
    fn the_ranks_of_medians_are_those_of_the_tables() {
        // Of the sign test at 5 %, both sides.
        for (count, rank) in [(6, 1), (8, 1), (9, 2), (20, 6), (50, 18), (100, 40)] {
            assert_eq!(rank_of_median(count, 0.025), Some(rank), "{count}");
        }
        assert_eq!(rank_of_median(5, 0.025), None);
        assert_eq!(rank_of_median(0, 0.025), None);
        assert_eq!(rank_of_median(1000, 0.025), Some(469));
    }

    #[test]
    fn many_are_distributed_normally() {
        let near = |exact: usize, n: f64, m: Option<f64>| {
            let about = match m {
                None => about(
                    n * (n + 1.0) / 4.0,
                    n * (n + 1.0) * (2.0 * n + 1.0) / 24.0,
                    0.025,
                ),
                Some(m) => about(m * n / 2.0, m * n * (m + n + 1.0) / 12.0, 0.025),
            };
            assert!(
                about.unwrap().abs_diff(exact) <= exact / 100,
                "{about:?} {exact}"
            );
        };
        near(signed_rank(100, 0.025).unwrap(), 100.0, None);
        near(rank_sum(40, 40, 0.025).unwrap(), 40.0, Some(40.0));
        assert!(signed_rank(1000, 0.025).is_some());
    }

    #[test]
    fn a_ratio_is_the_same_from_both_sides() {
        let pairs: Vec<(f64, f64)> = (0..12).map(|i| (1.3 + f64::from(i) * 0.01, 1.0)).collect();
        let ratio = Ratio::of_pairs(&pairs, 0.05).unwrap();
        let turned: Vec<(f64, f64)> = pairs.iter().map(|(one, other)| (*other, *one)).collect();
        let inverse = Ratio::of_pairs(&turned, 0.05).unwrap().inverse();
        for (one, other) in [
            (ratio.value, inverse.value),
            (ratio.low, inverse.low),
            (ratio.high, inverse.high),
        ] {
            assert!((one - other).abs() < 1e-12);
        }
        assert!(
            ratio.is_told() && ratio.low > 1.3 && ratio.high < 1.41,
            "{ratio:?}"
        );
    }

    #[test]
    fn one_spoilt_run_changes_nothing() {
        let mut pairs = vec![(1.05, 1.0); 20];
        pairs[3] = (9.0, 1.0);
        let ratio = Ratio::of_pairs(&pairs, 0.05).unwrap();
        assert!(
            (ratio.value - 1.05).abs() < 1e-9 && ratio.high < 1.06,
            "{ratio:?}"
        );
    }

    #[test]
    fn odd_numbers_do_no_harm() {
        assert_eq!(Ratio::of_pairs(&[], 0.05), None);
        assert_eq!(Ratio::of_pairs(&[(1.0, 1.0); 5], 0.05), None);
        let nothing = Ratio::of_pairs(&[(0.0, 0.0); 20], 0.05).unwrap();
        assert_eq!((nothing.value, nothing.is_told()), (1.0, false));
        assert!(
            Ratio::of_pairs(&vec![(1.0, 2.0); 40_000], 0.05)
                .unwrap()
                .is_told()
        );
        assert_eq!(Ratio::of_groups(&[], &[1.0; 9], 0.05), None);
    }

    #[test]
    fn groups_that_drift_are_less_sure() {
        // The same times, in one case as chance has it and in the other in order.
        let steady: Vec<f64> = (0..20)
            .map(|i| 1.0 + f64::from(i * 7 % 20) * 0.0025)
            .collect();
        let drifting: Vec<f64> = (0..20).map(|i| 1.0 + f64::from(i) * 0.0025).collect();
        let width = |times: &[f64]| {
            let ratio = Ratio::of_groups(times, &steady, 0.05).unwrap();
            (ratio.high / ratio.low).ln()
        };
        assert!(width(&drifting) > 2.0 * width(&steady));
        let slower: Vec<f64> = steady.iter().map(|time| time * 1.3).collect();
        let ratio = Ratio::of_groups(&slower, &steady, 0.05).unwrap();
        assert!(ratio.low > 1.2 && ratio.high < 1.4, "{ratio:?}");
    }
}
