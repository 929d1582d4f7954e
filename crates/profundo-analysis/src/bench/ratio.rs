//! A ratio of times with its interval.
//!
//! It is taken from the differences of logarithms, so that it does not depend on the order of the
//! two, and by ranks, so that a disturbed run counts for no more than any other. The ratio is the
//! median of all means of two differences, after Hodges and Lehmann; its interval holds all ratios
//! that Wilcoxon's test does not reject: the signed-rank test for pairs and the rank-sum test for
//! groups, both exact for usual numbers of runs.

use crate::interval::normal;

/// The ratio of two times, with its confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// The estimate.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// More runs than this are averaged with their neighbours: all pairs of runs are compared.
const MOST: usize = 1500;
/// Up to this number, the distribution of the ranks is counted exactly.
const MOST_EXACT: usize = 100;
/// Up to this number for groups, whose distribution takes longer to count.
const MOST_EXACT_IN_GROUPS: usize = 40;

impl Ratio {
    /// The ratio of the times of the first and the second of each pair. The interval misses the
    /// truth with at most this probability. `None` if there are too few pairs for that.
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

    /// The ratio of the times of one group's runs to those of another that ran at another
    /// time. Consecutive runs may be correlated: the more they are, the wider is the interval.
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

    /// The inverse ratio.
    pub fn inverse(self) -> Self {
        Self {
            value: 1.0 / self.value,
            low: 1.0 / self.high,
            high: 1.0 / self.low,
        }
    }

    /// True if the two certainly differ: the interval does not hold 1.
    pub fn differs(&self) -> bool {
        self.low > 1.0 || self.high < 1.0
    }
}

/// Clocks may report 0, which has no logarithm.
fn logarithm(seconds: f64) -> f64 {
    seconds.max(1e-12).ln()
}

/// Averages neighbours until there are few enough.
fn together(values: Vec<f64>) -> Vec<f64> {
    let size = values.len().div_ceil(MOST).max(1);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    values.chunks(size).map(mean).collect()
}

/// The factor by which an interval widens because each value is correlated with the one before it.
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

/// The probability that the interval of a median misses it.
pub(super) const ERROR_OF_MEDIAN: f64 = super::ERROR;

/// The rank of the ends of a median's interval among `count` values: the largest with at most this
/// probability beyond it.
pub(super) fn rank_of_median(count: usize, tail: f64) -> Option<usize> {
    if count > MOST_EXACT {
        return about(count as f64 / 2.0, count as f64 / 4.0, tail);
    }
    // The probability of each number of values below the median.
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

/// The number of pairs for this error rate.
pub(super) fn fewest_pairs(error: f64) -> usize {
    (1..64)
        .find(|count| signed_rank(*count, error / 2.0).is_some())
        .unwrap_or(64)
}

/// The rank of the interval's ends among the means of two: the largest with at most this
/// probability beyond it.
fn signed_rank(count: usize, tail: f64) -> Option<usize> {
    let n = count as f64;
    if count > MOST_EXACT {
        let (mean, variance) = (n * (n + 1.0) / 4.0, n * (n + 1.0) * (2.0 * n + 1.0) / 24.0);
        return about(mean, variance, tail);
    }
    // The probability of each sum of the positive ranks, each being positive or not.
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

/// The rank of the interval's ends for two groups, among the differences of one of each.
fn rank_sum(one: usize, other: usize, tail: f64) -> Option<usize> {
    let (m, n) = (one as f64, other as f64);
    if one.max(other) > MOST_EXACT_IN_GROUPS {
        return about(m * n / 2.0, m * n * (m + n + 1.0) / 12.0, tail);
    }
    // The probability of each number of pairs in which the first is greater, by the sizes of both
    // groups: the greatest of all is either in the first group, and greater than all of the second,
    // or in the second.
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

/// The number of probabilities, from the first on, that sum up to at most `tail`.
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

/// The same count for so many values that the sums are distributed normally.
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
        signed_rank(1000, 0.025).expect("many pairs have a rank too");
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
            ratio.differs() && ratio.low > 1.3 && ratio.high < 1.41,
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
        assert_eq!((nothing.value, nothing.differs()), (1.0, false));
        assert!(
            Ratio::of_pairs(&vec![(1.0, 2.0); 40_000], 0.05)
                .unwrap()
                .differs()
        );
        assert_eq!(Ratio::of_groups(&[], &[1.0; 9], 0.05), None);
    }

    #[test]
    fn groups_that_drift_are_less_sure() {
        // The same times, once in random order and once sorted.
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
