//! Whether something grows without end, by its growth in each third of a time.
//!
//! A leak grows as much in the last third as before. A warm-up, a filling table or a bounded cache
//! does not; memory for the last part of the work has not grown before.

use crate::interval::normal;

/// The changes in each third of a time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Thirds {
    pub came: [f64; 3],
    pub went: [f64; 3],
}

/// The tolerance: by how much less it may have grown in the end than before, and before than in the
/// end.
const SLOWER: f64 = 0.4;
const LATER: f64 = 0.25;

impl Thirds {
    /// The third that an instant lies in.
    pub fn of(time: f64, start: f64, end: f64) -> usize {
        (((time - start) / (end - start).max(1.0) * 3.0) as usize).min(2)
    }

    /// The probability that it grows to the end, where each change is independent and had a random
    /// time.
    pub fn grows(&self) -> f64 {
        let [first, second, third] = self.growth();
        let noise = |third: usize| self.came[third] + self.went[third];
        let spread = [noise(0), noise(1), noise(2)];
        steady([first, second, third], spread)
    }

    fn growth(&self) -> [f64; 3] {
        [0, 1, 2].map(|third| self.came[third] - self.went[third])
    }
}

/// The probability of steady growth, given the growth and its variance in each third.
pub(super) fn steady(growth: [f64; 3], variance: [f64; 3]) -> f64 {
    let [first, second, third] = growth;
    let before = ((first + second) / 2.0).max(0.0);
    let goes_on = third - SLOWER * before;
    let goes_on_spread = variance[2] + SLOWER * SLOWER * (variance[0] + variance[1]) / 4.0;
    let was_before = second - LATER * third.max(0.0);
    let was_before_spread = variance[1] + LATER * LATER * variance[2];
    // Half of one more keeps unseen blocks from being certain.
    normal(goes_on / (goes_on_spread + 0.5).sqrt())
        * normal(was_before / (was_before_spread + 0.5).sqrt())
}

/// The probability that more than this share of such blocks stays, where `stayed` did and `went`
/// did not.
pub(super) fn stays(stayed: f64, went: f64, share: f64) -> f64 {
    // One more of each, after Laplace; the normal distribution is near enough to the beta
    // distribution.
    let all = stayed + went + 2.0;
    let mean = (stayed + 1.0) / all;
    let deviation = (mean * (1.0 - mean) / (all + 1.0)).sqrt();
    normal((mean - share) / deviation)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grows(came: [f64; 3], went: [f64; 3]) -> f64 {
        Thirds { came, went }.grows()
    }

    #[test]
    fn growth_to_the_end_differs_from_growth_that_has_stopped() {
        assert!(grows([20.0, 20.0, 20.0], [0.0; 3]) > 0.95);
        // A warm-up, a filling table, a bounded one, memory for the last part of the work.
        assert!(grows([60.0, 0.0, 0.0], [0.0; 3]) < 0.1);
        assert!(grows([40.0, 15.0, 4.0], [0.0; 3]) < 0.2);
        assert!(grows([40.0, 40.0, 40.0], [0.0, 40.0, 40.0]) < 0.1);
        assert!(grows([0.0, 0.0, 60.0], [0.0; 3]) < 0.1);
        // A handful proves nothing.
        assert!(grows([1.0, 1.0, 1.0], [0.0; 3]) < 0.8);
    }

    #[test]
    fn what_mostly_goes_does_not_stay() {
        assert!(stays(40.0, 0.0, 0.6) > 0.99);
        assert!(stays(40.0, 400.0, 0.6) < 0.01);
        assert!(stays(1.0, 1.0, 0.6) < 0.5);
    }
}
