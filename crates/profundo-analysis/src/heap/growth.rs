//! The growth of a quantity, with its uncertainty. The memory of a program at one moment nearly
//! determines that at the next, so looks are not independent, however many there are. The growth in
//! one stretch of time and in the next is closer to that: the rate is the mean of some stretches,
//! and their scatter gives the uncertainty. A program that once loads its data scatters much; a
//! leak does not.

/// A rate of growth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Growth {
    /// Bytes per second, negative for shrinking.
    pub rate: f64,
    /// The lower end of its 95 % interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The observed seconds.
    pub seconds: f64,
}

/// The number of stretches.
const STRETCHES: usize = 10;
/// The quantile of Student's distribution with one degree of freedom less than there are stretches.
const T: f64 = 2.262_157;
/// The least number of looks, and of seconds.
const ENOUGH: usize = 2 * STRETCHES;
const LONG: f64 = 2.0;

impl Growth {
    /// The growth of amounts by seconds, oldest first, over the second half of their time, because
    /// many programs start slowly. `None` if that is too short or too seldom seen.
    pub(super) fn of(points: &[(f64, f64)]) -> Option<Self> {
        let (&(first, _), &(last, _)) = (points.first()?, points.last()?);
        let middle = first + (last - first) / 2.0;
        let before = points.partition_point(|point| point.0 < middle);
        let half = points.get(before..)?;
        let seconds = last - middle;
        if half.len() < ENOUGH || seconds < LONG {
            return None;
        }
        let step = seconds / STRETCHES as f64;
        let bounds = (0..=STRETCHES).map(|bound| middle + step * bound as f64);
        let amounts: Vec<f64> = bounds.map(|second| amount_at(points, second)).collect();
        let rates = amounts.windows(2).map(|pair| (pair[1] - pair[0]) / step);
        let rates: Vec<f64> = rates.collect();
        let count = STRETCHES as f64;
        let rate = rates.iter().sum::<f64>() / count;
        let spread: f64 = rates.iter().map(|each| (each - rate).powi(2)).sum();
        let margin = T * (spread / (count - 1.0) / count).sqrt();
        Some(Self {
            rate,
            low: rate - margin,
            high: rate + margin,
            seconds,
        })
    }

    /// True for almost certain growth.
    pub fn is_sure(&self) -> bool {
        self.low > 0.0
    }
}

/// The amount between two looks, interpolated linearly.
fn amount_at(points: &[(f64, f64)], second: f64) -> f64 {
    let after = points.partition_point(|point| point.0 <= second);
    match (
        after.checked_sub(1).and_then(|at| points.get(at)),
        points.get(after),
    ) {
        (Some(before), Some(after)) => {
            let part = (second - before.0) / (after.0 - before.0).max(f64::MIN_POSITIVE);
            before.1 + (after.1 - before.1) * part
        }
        (Some(only), None) | (None, Some(only)) => only.1,
        (None, None) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks ten times a second, not quite evenly.
    fn points(seconds: f64, amount: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        let looks = (seconds * 10.0) as u32;
        let at = |look: u32| f64::from(look) / 10.0 + f64::from(look * 7919 % 13) / 1000.0;
        (0..looks)
            .map(|look| (at(look), amount(at(look))))
            .collect()
    }

    fn growth(seconds: f64, amount: impl Fn(f64) -> f64) -> Growth {
        Growth::of(&points(seconds, amount)).unwrap()
    }

    /// A random walk.
    fn walk(seed: u32) -> impl Fn(f64) -> f64 {
        let mut state = u64::from(seed) * 2 + 1;
        let mut sum = 1e9;
        let steps: Vec<f64> = std::iter::repeat_with(|| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            sum += ((state >> 33) as f64 / f64::from(1_u32 << 30) - 1.0) * 1e6;
            sum
        })
        .take(1000)
        .collect();
        move |second| steps[(second * 10.0) as usize % 1000]
    }

    #[test]
    fn a_leak_is_sure_and_its_rate_is_right() {
        let leak = growth(20.0, |second| 5e7 + 1e6 * second);
        assert!((leak.rate - 1e6).abs() < 1e3, "{leak:?}");
        assert!(leak.is_sure() && leak.high - leak.low < 1e5, "{leak:?}");
        // In steps, and beside memory that comes and goes.
        let steps = growth(20.0, |second| 5e7 + 1e6 * (second * 3.0).floor());
        assert!(
            steps.is_sure() && (steps.rate - 3e6).abs() < 3e5,
            "{steps:?}"
        );
        let beside = growth(30.0, |second| 1e6 * second + 2e6 * (second * 9.0).sin());
        assert!(beside.is_sure(), "{beside:?}");
    }

    #[test]
    fn what_was_loaded_at_the_beginning_is_no_leak() {
        let loaded = growth(20.0, |second| 1e8 * (second / 6.0).min(1.0));
        assert_eq!((loaded.rate, loaded.is_sure()), (0.0, false));
        let late = growth(20.0, |second| if second > 15.0 { 1e8 } else { 1e7 });
        assert!(late.rate > 0.0 && !late.is_sure(), "{late:?}");
    }

    #[test]
    fn what_comes_and_goes_is_no_leak() {
        let tooth = growth(40.0, |second| 1e7 + 1e6 * (second % 4.0));
        assert!(!tooth.is_sure(), "{tooth:?}");
        let shrinks = growth(20.0, |second| 1e9 - 1e6 * second);
        assert!(!shrinks.is_sure() && shrinks.high < 0.0, "{shrinks:?}");
    }

    #[test]
    fn chance_is_taken_for_growth_as_seldom_as_it_is_said() {
        let walks = (0..400).map(|seed| growth(90.0, walk(seed)));
        // One in forty is expected; a few more by chance.
        let wrong = walks.filter(Growth::is_sure).count();
        assert!(wrong <= 22, "{wrong} of 400");
    }

    #[test]
    fn too_little_is_not_enough() {
        assert_eq!(Growth::of(&[]), None);
        assert_eq!(Growth::of(&points(3.0, |second| second)), None);
        assert_eq!(Growth::of(&[(0.0, 1.0), (100.0, 2.0)]), None);
        Growth::of(&points(5.0, |_| 7.0)).expect("five seconds are enough");
    }
}
