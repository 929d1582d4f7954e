//! Statistics of few numbers: the median, and the order statistics that enclose the true median in
//! 95 of 100 cases. No distribution is assumed, for on shared machines there is none.

/// The median of some numbers, in any order.
pub fn median(values: &[f64]) -> f64 {
    let sorted = sorted(values);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        even if even.is_multiple_of(2) => (sorted[middle - 1] + sorted[middle]) / 2.0,
        _ => sorted[middle],
    }
}

/// The mean.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The value below which this part of the values lies.
pub fn quantile(values: &[f64], part: f64) -> f64 {
    let sorted = sorted(values);
    let last = sorted.len().saturating_sub(1);
    let index = (part * last as f64).round() as usize;
    sorted.get(index.min(last)).copied().unwrap_or(f64::NAN)
}

/// The mean of those values that are at most ten times the median: longer ones were caused by the
/// scheduler or the hypervisor.
pub fn mean_of_the_usual(values: &[f64]) -> f64 {
    let most = 10.0 * median(values);
    let usual: Vec<f64> = values
        .iter()
        .copied()
        .filter(|value| *value <= most)
        .collect();
    mean(&usual)
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// A median with its surroundings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// The number of values.
    pub count: usize,
    /// The median.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
    /// The lower end of the 95 % interval of the median.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Summary {
    /// The summary of some values.
    pub fn of(values: &[f64]) -> Self {
        let sorted = sorted(values);
        let count = sorted.len();
        let rank = lower_rank(count);
        let at = |index: usize| sorted.get(index).copied().unwrap_or(f64::NAN);
        Self {
            count,
            median: median(values),
            min: at(0),
            max: at(count.wrapping_sub(1)),
            low: at(rank.saturating_sub(1)),
            high: at(count.wrapping_sub(rank.max(1))),
        }
    }

    /// All of it in one unit, with two decimals.
    pub fn show(&self, unit: &str) -> String {
        format!(
            "median {:+.2}{unit}, 95 % interval {:+.2} to {:+.2}, min {:+.2}, max {:+.2}, of {}",
            self.median, self.low, self.high, self.min, self.max, self.count
        )
    }
}

/// The rank, from 1, of the lower end of the median's 95 % interval among `count` sorted values;
/// the upper end has the same rank from above. With fewer than six values even the extremes are
/// not far enough apart, and the rank is 0.
fn lower_rank(count: usize) -> usize {
    // The number of values below the true median is binomial with one half.
    let mut chance = 0.5_f64.powi(i32::try_from(count).unwrap_or(i32::MAX));
    let mut below = 0.0;
    for rank in 0..=count / 2 {
        below += chance;
        if below > 0.025 {
            return rank;
        }
        chance *= (count - rank) as f64 / (rank + 1) as f64;
    }
    count / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_means() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
        assert_eq!(mean(&[1.0, 2.0, 6.0]), 3.0);
        assert_eq!(mean_of_the_usual(&[1.0, 1.0, 2.0, 2.0, 1000.0]), 1.5);
        let hundred: Vec<f64> = (0..=100).map(f64::from).collect();
        assert_eq!(quantile(&hundred, 0.9), 90.0);
        assert_eq!(quantile(&hundred, 1.0), 100.0);
    }

    #[test]
    fn the_interval_is_that_of_the_tables() {
        // Ranks as printed in tables of the sign test at 5 %.
        let ranks = [(5, 0), (6, 1), (9, 2), (11, 2), (15, 4), (20, 6), (30, 10)];
        for (count, rank) in ranks {
            assert_eq!(lower_rank(count), rank, "{count}");
        }
    }

    #[test]
    fn a_summary_counts_from_both_ends() {
        let values: Vec<f64> = (1..=15).rev().map(f64::from).collect();
        let summary = Summary::of(&values);
        assert_eq!((summary.min, summary.max), (1.0, 15.0));
        assert_eq!((summary.low, summary.high), (4.0, 12.0));
        assert_eq!(summary.median, 8.0);
    }

    #[test]
    fn few_values_give_their_extremes() {
        let summary = Summary::of(&[2.0, 1.0]);
        assert_eq!((summary.low, summary.high), (1.0, 2.0));
    }

    #[test]
    fn the_interval_holds_the_median_as_often_as_it_says() {
        // A random generator for uniform numbers, whose median is one half.
        let mut state = 1_u64;
        let mut draw = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as f64 / u64::MAX as f64
        };
        let held = (0..2000)
            .filter(|_| {
                let values: Vec<f64> = (0..15).map(|_| draw()).collect();
                let summary = Summary::of(&values);
                summary.low <= 0.5 && 0.5 <= summary.high
            })
            .count();
        assert!((1900..=1970).contains(&held), "{held} of 2000");
    }
}
