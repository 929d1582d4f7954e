//! The statistics of one candidate's runs: the best, the mean, their scatter, and the outliers.

use crate::stats::median;

/// The statistics of some times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The number of runs.
    pub count: usize,
    /// The shortest: other work of the machine only adds to it.
    pub best: f64,
    /// The longest.
    pub worst: f64,
    /// The mean.
    pub mean: f64,
    /// The standard deviation of the sample; 0 for a single run.
    pub deviation: f64,
    /// The median.
    pub median: f64,
    /// The outliers.
    pub outliers: Outliers,
}

/// The numbers of runs outside of Tukey's fences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outliers {
    /// More than one and a half times the interquartile range away from the quartiles.
    pub mild: usize,
    /// More than three times the interquartile range away.
    pub severe: usize,
    /// The number of both that were faster, not slower.
    pub fast: usize,
    /// Whether the very first was a slow one.
    pub is_first: bool,
}

/// With fewer runs, fences mean nothing.
const FEWEST: usize = 8;

/// A deviation below this part of the median is no outlier, however little the others differ.
const TRIFLE: f64 = 0.01;

impl Spread {
    /// The statistics of these times.
    pub fn of(times: &[f64]) -> Self {
        let all = crate::Spread::of(times);
        let of = |part: fn(&crate::Spread) -> f64| all.as_ref().map_or(f64::NAN, part);
        Self {
            count: times.len(),
            best: of(|all| all.least),
            worst: of(|all| all.most),
            mean: of(|all| all.mean),
            deviation: of(|all| all.deviation.unwrap_or(0.0)),
            median: median(times),
            outliers: Outliers::among(times),
        }
    }
}

impl Outliers {
    fn among(times: &[f64]) -> Self {
        let mut found = Self::default();
        if times.len() < FEWEST {
            return found;
        }
        let mut sorted = times.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (low, high) = (between(&sorted, 0.25), between(&sorted, 0.75));
        let least = TRIFLE * between(&sorted, 0.5);
        let distance = high - low;
        for (index, time) in times.iter().enumerate() {
            let outside = (low - time).max(time - high);
            if outside <= (1.5 * distance).max(least) {
                continue;
            }
            match outside > 3.0 * distance {
                true => found.severe += 1,
                false => found.mild += 1,
            }
            found.fast += usize::from(*time < low);
            found.is_first |= index == 0 && *time > high;
        }
        found
    }

    /// The number of all outliers.
    pub fn count(&self) -> usize {
        self.mild + self.severe
    }
}

/// A quantile, interpolated linearly between the two values around it.
fn between(sorted: &[f64], part: f64) -> f64 {
    let place = part * (sorted.len() - 1) as f64;
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    sorted[below] + (place - place.floor()) * (sorted[above] - sorted[below])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_are_those_of_the_books() {
        let spread = Spread::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert_eq!((spread.count, spread.best, spread.worst), (8, 2.0, 9.0));
        assert_eq!((spread.mean, spread.median), (5.0, 4.5));
        assert!((spread.deviation - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
        let one = Spread::of(&[3.0]);
        assert_eq!((one.mean, one.deviation, one.best), (3.0, 0.0, 3.0));
        assert!(Spread::of(&[]).mean.is_nan());
    }

    #[test]
    fn outliers_lie_outside_of_the_fences() {
        // The quartiles are 10 and 12: mild from 15 on and below 7, severe from 18 on.
        let usual = [10.0, 10.0, 10.0, 11.0, 11.0, 12.0, 12.0, 12.0];
        let with = |more: &[f64]| {
            let times: Vec<f64> = more.iter().chain(&usual).copied().collect();
            Outliers::among(&times)
        };
        assert_eq!(with(&[]), Outliers::default());
        let slow = with(&[30.0]);
        assert_eq!((slow.mild, slow.severe, slow.fast), (0, 1, 0));
        assert!(slow.is_first);
        let fast = with(&[11.0, 6.5]);
        assert_eq!((fast.mild, fast.severe, fast.fast), (1, 0, 1));
        assert!(!fast.is_first);
    }

    #[test]
    fn what_hardly_differs_is_no_outlier() {
        let with = |last| {
            let mut times = vec![1.0; 8];
            times.push(last);
            Outliers::among(&times)
        };
        assert_eq!(with(1.009).count(), 0);
        assert_eq!(with(1.02).severe, 1);
        assert_eq!(Outliers::among(&[1.0, 1.0, 9.0]).count(), 0, "too few");
    }
}
