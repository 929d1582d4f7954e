//! The kernel's count of each call, divided by the lines that make it as its sampled calls are.

use profundo_model::SyscallCount;
use rustc_hash::FxHashMap;

use super::{CallsRange, SyscallAmount};
use crate::Place;

/// The sampled calls of a line.
#[derive(Debug, Clone, Copy, Default)]
struct Sampled {
    calls: f64,
    failed: f64,
    samples: u64,
    /// The sum of the squares of the calls that each sample stands for.
    squares: f64,
}

/// The sampled calls by call and line.
#[derive(Debug, Default)]
pub(super) struct Lines<'a>(FxHashMap<&'a str, FxHashMap<Option<Place>, Sampled>>);

impl<'a> Lines<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds sampled calls. One without a name says nothing about the others.
    pub(super) fn add(&mut self, call: Option<&'a str>, at: Option<Place>, row: &SyscallCount) {
        let Some(call) = call else { return };
        let line = self.0.entry(call).or_default().entry(at).or_default();
        line.calls += row.count as f64;
        line.failed += if row.error > 0 { row.count as f64 } else { 0.0 };
        line.samples += row.samples;
        line.squares += (row.count as f64).powi(2) / row.samples.max(1) as f64;
    }

    /// Divides the amount of a call by its lines. Nothing, if none of its calls was sampled.
    pub(super) fn divide(
        &self,
        call: &str,
        amount: SyscallAmount,
    ) -> Vec<(Option<Place>, SyscallAmount, CallsRange)> {
        let Some(lines) = self.0.get(call) else {
            return Vec::new();
        };
        let sum = |number: fn(&Sampled) -> f64| lines.values().map(number).sum::<f64>();
        let (calls, failed) = (sum(|line| line.calls), sum(|line| line.failed));
        // Samples that stand for more calls than others say less than as many equal ones.
        let samples = calls * calls / sum(|line| line.squares).max(1.0);
        let part = |whole: u64, share: f64| (whole as f64 * share).round() as u64;
        let estimate = |(at, line): (&Option<Place>, &Sampled)| {
            let share = line.calls / calls;
            let of_failed = if failed > 0.0 {
                line.failed / failed
            } else {
                share
            };
            let estimate = SyscallAmount {
                calls: part(amount.calls, share),
                failed: part(amount.failed, of_failed),
                ..SyscallAmount::default()
            };
            let range = CallsRange {
                samples: line.samples,
                calls: part(amount.calls, half_range(share, samples)),
            };
            (*at, estimate, range)
        };
        lines.iter().map(estimate).collect()
    }
}

/// Half of the range (95 %) of a share that was found in so many samples: that of Agresti and
/// Coull, which is wide where the samples are few.
fn half_range(share: f64, samples: f64) -> f64 {
    const SIGMAS: f64 = 1.96;
    let many = samples + SIGMAS * SIGMAS;
    let middle = (share * samples + SIGMAS * SIGMAS / 2.0) / many;
    SIGMAS * (middle * (1.0 - middle) / many).sqrt()
}

#[cfg(test)]
mod tests {
    use profundo_model::FrameId;

    use super::*;

    #[test]
    fn counts_are_divided_as_the_samples_are() {
        let mut lines = Lines::default();
        let row = |count, error| SyscallCount {
            count,
            error,
            samples: 1,
            ..SyscallCount::default()
        };
        let at = |frame| Some(Place::Frame(FrameId(frame)));
        for _ in 0..300 {
            lines.add(Some("read"), at(1), &row(10, 0));
        }
        for _ in 0..100 {
            lines.add(Some("read"), at(2), &row(10, 11));
        }
        lines.add(None, at(3), &row(1000, 0));
        let amount = SyscallAmount {
            calls: 8000,
            failed: 1990,
            ..SyscallAmount::default()
        };
        let mut found = lines.divide("read", amount);
        found.sort_by_key(|(at, ..)| *at);
        let numbers: Vec<(u64, u64)> = (found.iter())
            .map(|(_, amount, _)| (amount.calls, amount.failed))
            .collect();
        assert_eq!(numbers, [(6000, 0), (2000, 1990)]);
        let range = found[0].2;
        assert_eq!(range.samples, 300);
        assert!((300..380).contains(&range.calls), "{range:?}");
        assert!(lines.divide("write", amount).is_empty());
    }

    #[test]
    fn few_samples_have_a_wide_range() {
        assert!(half_range(1.0, 1.0) > 0.3);
        assert!(half_range(1.0, 10_000.0) < 0.001);
    }
}
