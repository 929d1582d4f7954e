//! Random numbers for the handler: they need only be unlike the program's own rhythm.

use crate::clock;

/// A random number below `bound`; 0 if that is 0. The cycle counter goes on in the child of a fork,
/// which so draws other numbers than its parent. `salt` distinguishes draws at one instant.
pub fn random_below(bound: u64, salt: u64) -> u64 {
    // The last steps of splitmix64.
    let mut bits = clock::now().wrapping_add(salt.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^= bits >> 31;
    ((u128::from(bits) * u128::from(bound)) >> 64) as u64
}

/// The periods of one task clock, one after another: half of the nominal one to one and a half. A
/// loop of the program's can be in step with one of them, but not with all.
///
/// The first is random, and each next one lies a golden section farther on, around the whole range.
/// So a few of them fill the range as evenly as many random ones, and seldom two in a row suit the
/// same loop.
#[derive(Debug, Clone, Copy)]
pub struct PeriodDraw(u64);

impl PeriodDraw {
    /// Begins at a random place.
    pub fn new(salt: u64) -> Self {
        Self(random_below(u64::MAX, salt))
    }

    /// Continues from [`Self::bits`].
    pub(crate) fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The position in the range.
    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    /// The next period.
    pub fn next(&mut self, nominal: u64) -> u64 {
        /// The golden section, in parts of the range of numbers.
        const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
        self.0 = self.0.wrapping_add(STEP);
        let part = (u128::from(self.0) * (u128::from(nominal) + 1)) >> 64;
        (nominal / 2 + part as u64).max(1)
    }

    /// The next period of a clock that keeps each for the same time, rather than for as many ticks:
    /// then the numbers of ticks must be right on average, so the frequencies are drawn as `next`
    /// draws periods.
    pub fn next_for_a_time(&mut self, nominal: u64) -> u64 {
        let frequency = self.next(nominal);
        let square = u128::from(nominal) * u128::from(nominal);
        u64::try_from(square / u128::from(frequency))
            .unwrap_or(nominal)
            .max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::{PeriodDraw, random_below};

    #[test]
    fn numbers_fill_their_range_evenly() {
        let mut counts = [0_u32; 10];
        for salt in 0..20_000 {
            counts[random_below(10, salt) as usize] += 1;
        }
        assert!(
            counts.iter().all(|count| (1700..2300).contains(count)),
            "{counts:?}"
        );
        assert_eq!(random_below(0, 1), 0);
    }

    #[test]
    fn a_few_periods_fill_the_range_and_are_right_on_average() {
        for salt in 0..100 {
            let mut draw = PeriodDraw::new(salt);
            let mut periods: std::vec::Vec<u64> = (0..34).map(|_| draw.next(1000)).collect();
            let mean = periods.iter().sum::<u64>() / 34;
            assert!((970..=1030).contains(&mean), "{mean}");
            periods.sort_unstable();
            let gaps = periods.windows(2).map(|two| two[1] - two[0]);
            assert!(gaps.max() < Some(80), "{periods:?}");
            assert!(periods[0] >= 500 && periods[33] <= 1500);
        }
        assert_eq!(PeriodDraw::new(1).next(0), 1);
    }

    #[test]
    fn clocks_that_change_after_a_time_tick_as_often_as_one_that_does_not() {
        for salt in 0..100 {
            let mut draw = PeriodDraw::new(salt);
            let periods = (0..34).map(|_| draw.next_for_a_time(1_000_000));
            let ticks: f64 = periods.map(|period| 1e9 / period as f64).sum();
            assert!((33_000.0..=35_000.0).contains(&ticks), "{ticks}");
        }
        assert_eq!(PeriodDraw::new(1).next_for_a_time(0), 1);
    }
}
