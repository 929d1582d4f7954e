//! The common beginning of a command's runs: the start of the shell that reads it. It is subtracted
//! as well as it is known; its uncertainty widens the intervals.

use super::ratio::{ERROR_OF_MEDIAN, alike, rank_of_median};
use super::{Candidate, Ratio};
use crate::stats::median;

/// A shell's start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Start {
    /// Its time in seconds.
    pub seconds: f64,
    /// Its uncertainty in seconds.
    pub doubt: f64,
}

impl Start {
    /// The median of start-up times taken among the runs, with its interval.
    pub fn of(times: &[f64]) -> Self {
        let seconds = median(times);
        let mut sorted = times.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else {
            return Self {
                seconds: 0.0,
                doubt: f64::INFINITY,
            };
        };
        let doubt = match rank_of_median(sorted.len(), ERROR_OF_MEDIAN / 2.0) {
            Some(rank) => {
                let (low, high) = (sorted[rank - 1], sorted[sorted.len() - rank]);
                (seconds - low).max(high - seconds) * alike(times)
            }
            None => last - first,
        };
        Self { seconds, doubt }
    }
}

/// A candidate, and the uncertainty of each of its runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Doubted<'a> {
    pub candidate: &'a Candidate,
    pub doubt: f64,
}

impl Doubted<'_> {
    /// Whether nothing may be left of a run.
    pub fn is_hidden(self) -> bool {
        let mut runs = self.candidate.runs.iter();
        runs.any(|run| run.seconds <= self.doubt)
    }

    /// The factor on the runs if this much of them is wrong.
    fn if_off(self, by: f64) -> f64 {
        let seconds: Vec<f64> = self.candidate.runs.iter().map(|run| run.seconds).collect();
        1.0 + by / median(&seconds)
    }

    /// The ratio of two with the same subtracted start. Whatever its value, the slower one stays
    /// the slower one.
    pub fn of_same_start(self, other: Self, ratio: Ratio) -> Ratio {
        let doubt = self.doubt;
        let both = [doubt, -doubt].map(|by| self.if_off(by) / other.if_off(by));
        // The lower end of a ratio that is certainly above 1.
        let above = |end: f64, below: Self| 1.0 + (end - 1.0) / below.if_off(doubt);
        Ratio {
            low: match ratio.low > 1.0 {
                true => above(ratio.low, other),
                false => ratio.low * both[0].min(both[1]).min(1.0),
            },
            high: match ratio.high < 1.0 {
                true => 1.0 / above(1.0 / ratio.high, self),
                false => ratio.high * both[0].max(both[1]).max(1.0),
            },
            ..ratio
        }
    }

    /// The ratio to a candidate with a start of its own.
    pub fn of_other_start(self, other: Self, ratio: Ratio) -> Ratio {
        Ratio {
            low: ratio.low * self.if_off(-self.doubt) / other.if_off(other.doubt),
            high: ratio.high * self.if_off(self.doubt) / other.if_off(-other.doubt),
            ..ratio
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Bench, Machine, Run, Subject};
    use super::*;

    fn bench(candidates: &[f64], doubt: f64) -> Bench {
        let candidate = |&seconds: &f64| Candidate {
            loops: 1,
            runs: vec![Run { seconds, cpu: None }; 20],
            ..Candidate::default()
        };
        Bench {
            subject: Subject::Command,
            cpu_clock: false,
            started: 0,
            machine: Machine::default(),
            start: Some(Start {
                seconds: 0.001,
                doubt,
            }),
            candidates: candidates.iter().map(candidate).collect(),
        }
    }

    #[test]
    fn a_start_is_known_the_better_the_more_there_are() {
        let times: Vec<f64> = (0..50)
            .map(|i| 1.0 + f64::from(i * 17 % 50) * 0.01)
            .collect();
        let all = Start::of(&times);
        assert!((all.seconds - 1.245).abs() < 1e-9, "{all:?}");
        // The interval of the median of 50 goes from the 18th to the 33rd.
        assert!((0.07..0.12).contains(&all.doubt), "{all:?}");
        let few = Start::of(&times[..4]);
        assert!(few.doubt > 0.3, "{few:?}");
        assert_eq!(Start::of(&[]).doubt, f64::INFINITY);
    }

    #[test]
    fn what_may_be_nothing_has_no_ratio() {
        assert_eq!(bench(&[0.0, 1.0], 0.0).ratio(1, 0), None);
        assert_eq!(bench(&[0.1, 1.0], 0.2).ratio(1, 0), None);
        assert_eq!(bench(&[0.1, 1.0], 0.2).fastest(), None);
        let bench = bench(&[0.1, 1.0], 0.2);
        assert!(bench.is_hidden(0) && !bench.is_hidden(1));
    }

    #[test]
    fn what_is_in_doubt_of_both_makes_the_interval_wider_and_changes_no_order() {
        let bench = bench(&[0.5, 1.0], 0.1);
        let ratio = bench.ratio(1, 0).unwrap();
        // It may be 1.1 / 0.6 or 0.9 / 0.4.
        assert!((ratio.value - 2.0).abs() < 1e-9, "{ratio:?}");
        assert!((ratio.low - 1.1 / 0.6).abs() < 1e-9, "{ratio:?}");
        assert!((ratio.high - 0.9 / 0.4).abs() < 1e-9, "{ratio:?}");
        let turned = bench.ratio(0, 1).unwrap().inverse();
        assert!(
            (ratio.low - turned.low).abs() < 1e-9,
            "{ratio:?} {turned:?}"
        );
        assert!(
            (ratio.high - turned.high).abs() < 1e-9,
            "{ratio:?} {turned:?}"
        );
        let near = self::bench(&[0.5, 0.501], 0.1);
        assert!(near.ratio(1, 0).unwrap().differs());
    }

    #[test]
    fn a_start_that_was_known_badly_then_or_now_is_no_change() {
        let (then, now) = (bench(&[0.5], 0.05), bench(&[0.55], 0.05));
        let ratio = now.ratio_to(0, &then).unwrap();
        // Between 0.5 / 0.55 and 0.6 / 0.45.
        assert!((ratio.low - 0.5 / 0.55).abs() < 1e-9, "{ratio:?}");
        assert!((ratio.high - 0.6 / 0.45).abs() < 1e-9, "{ratio:?}");
        assert!(!ratio.differs());
        assert!(bench(&[0.9], 0.05).ratio_to(0, &then).unwrap().low > 1.5);
        assert_eq!(bench(&[0.04], 0.05).ratio_to(0, &then), None);
    }
}
