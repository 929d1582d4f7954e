//! The samples of a thread as stretches of one call, in the order of time.
//!
//! A sample stands for the time before it, as far as that is not an earlier one's. Neighbours in
//! one call are one stretch as long as nothing lies between them: where a thread did not run, there
//! is a gap. A pause that cannot be seen is none, because a thread that shares its CPU has hundreds
//! of them each second.

use super::CallWeight;

/// A stretch of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// The call, by a number of the caller's.
    pub call: u32,
    /// The start and the end, in nanoseconds.
    pub start: u64,
    /// See `start`. A later stretch that begins here follows without a pause.
    pub end: u64,
    /// The weight of its samples.
    pub weight: CallWeight,
}

/// The stretches of a thread.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Runs {
    /// The stretches so far.
    pub list: Vec<Run>,
    /// The weight of all samples.
    pub weight: CallWeight,
}

impl Runs {
    /// Adds a sample that ends at a time, with the part of its time that lies in a window. Samples
    /// come in the order of their ends. `pause` is the longest one that cannot be seen.
    pub fn add(
        &mut self,
        (call, end): (u32, u64),
        weight: CallWeight,
        (from, to): (u64, u64),
        pause: u64,
    ) {
        self.weight.add(weight);
        let mut start = end.saturating_sub(weight.weight).max(from);
        let mut is_apart = false;
        if let Some(before) = self.list.last() {
            start = start.max(before.end);
            // Clocks are not so exact that less than a sample between two would be a pause.
            is_apart = start - before.end > pause.max(weight.weight / 2);
            if !is_apart {
                start = before.end;
            }
        }
        let end = end.min(to).max(start);
        match self.list.last_mut() {
            Some(last) if last.call == call && !is_apart => {
                last.end = end;
                last.weight.add(weight);
            }
            _ => self.list.push(Run {
                call,
                start,
                end,
                weight,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(samples: &[(u32, u64, u64)], window: (u64, u64), pause: u64) -> Vec<(u32, u64, u64)> {
        let mut runs = Runs::default();
        for &(call, end, weight) in samples {
            runs.add((call, end), CallWeight { weight, count: 1 }, window, pause);
        }
        let list = runs.list.iter();
        list.map(|run| (run.call, run.start, run.end)).collect()
    }

    const ALL: (u64, u64) = (0, u64::MAX);

    #[test]
    fn neighbours_in_one_call_are_one_stretch() {
        let samples = [(1, 10, 10), (1, 20, 10), (2, 30, 10), (1, 40, 10)];
        assert_eq!(
            runs(&samples, ALL, 0),
            [(1, 0, 20), (2, 20, 30), (1, 30, 40)]
        );
    }

    #[test]
    fn a_pause_is_a_gap_if_it_can_be_seen() {
        let samples = [(1, 10, 10), (1, 50, 10)];
        assert_eq!(runs(&samples, ALL, 20), [(1, 0, 10), (1, 40, 50)]);
        assert_eq!(runs(&samples, ALL, 30), [(1, 0, 50)]);
        // Half a sample is none, whatever can be seen.
        assert_eq!(runs(&[(1, 10, 10), (1, 25, 10)], ALL, 0), [(1, 0, 25)]);
    }

    #[test]
    fn stretches_do_not_overlap_and_stay_in_the_window() {
        assert_eq!(
            runs(&[(1, 10, 10), (2, 15, 10)], ALL, 0),
            [(1, 0, 10), (2, 10, 15)]
        );
        assert_eq!(
            runs(&[(1, 10, 10), (2, 20, 10)], (4, 16), 0),
            [(1, 4, 10), (2, 10, 16)]
        );
    }
}
