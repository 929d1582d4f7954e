//! The rows of a function on the screen: its hot instructions with some around them, the lines of
//! source that they come from, and how much is left out between.

use std::ops::Range;

use profundo_analysis::{Annotation, InstructionShare};
use profundo_model::{FileId, FrameId, Profile, StringId};

use super::Listing;

/// The instructions of a function that are shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Choice {
    /// True for all of them.
    pub all: bool,
    /// The share of the function's time from which on an instruction is hot; `None` is automatic.
    pub min_share: Option<f64>,
    /// The number of instructions shown on either side of a hot one; `None` is automatic.
    pub context: Option<usize>,
}

/// A row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Row {
    /// A line of source, by a frame on it.
    Source(FrameId),
    /// The instruction of this number.
    Instruction(usize),
    /// Instructions that are left out.
    LeftOut(Range<usize>),
}

/// Functions up to this length are shown whole.
const SHORT: usize = 64;
/// Hot instructions by themselves, in parts of the function's time.
const HOT: f64 = 0.005;
/// The number of instructions that are hot whatever their share is.
const HOTTEST: usize = 12;
/// The number of instructions around a hot one.
const CONTEXT: usize = 3;
/// Gaps up to this length are shown.
const GAP: usize = 2;

impl Choice {
    /// The instructions that are shown, by their number.
    fn shown(&self, count: usize, shares: &[InstructionShare]) -> Vec<bool> {
        let is_automatic = self.min_share.is_none() && self.context.is_none();
        if self.all || is_automatic && count <= SHORT {
            return vec![true; count];
        }
        let heat = |row: &InstructionShare| row.own.share.max(row.total.share);
        let least = self.min_share.unwrap_or_else(|| {
            let mut sorted: Vec<f64> = shares.iter().map(heat).collect();
            sorted.sort_by(|a, b| b.total_cmp(a));
            let last = sorted.get(HOTTEST - 1).or(sorted.last());
            last.copied().unwrap_or(0.0).min(HOT)
        });
        let context = self.context.unwrap_or(CONTEXT);
        let mut shown = vec![false; count];
        for row in shares.iter().filter(|row| heat(row) >= least) {
            let first = row.index.saturating_sub(context);
            let last = row.index.saturating_add(context).min(count - 1);
            shown[first..=last].fill(true);
        }
        let mut start = None;
        for at in 0..count {
            match (shown[at], start) {
                (true, Some(from)) if from > 0 && at - from <= GAP => {
                    shown[from..at].fill(true);
                    start = None;
                }
                (true, _) => start = None,
                (false, None) => start = Some(at),
                _ => {}
            }
        }
        shown
    }

    /// The rows of a function.
    pub(super) fn rows(
        &self,
        profile: &Profile,
        listing: &Listing,
        annotation: &Annotation,
    ) -> Vec<Row> {
        let count = listing.instructions.len();
        let shown = self.shown(count, &annotation.instructions);
        let mut rows = Vec::new();
        let mut line: Option<(FileId, u32, StringId)> = None;
        let mut at = 0;
        while at < count {
            if !shown[at] {
                let length = shown[at..].iter().position(|&shown| shown);
                let end = length.map_or(count, |length| at + length);
                rows.push(Row::LeftOut(at..end));
                at = end;
                line = None;
                continue;
            }
            let frames = &profile
                .locations
                .get(listing.instructions[at].location)
                .frames;
            if let Some(&frame) = frames.first() {
                let row = profile.frames.get(frame);
                let here = Some((row.file, row.line, row.function));
                if row.line > 0 && line != here {
                    rows.push(Row::Source(frame));
                }
                line = here;
            }
            rows.push(Row::Instruction(at));
            at += 1;
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use profundo_analysis::Estimate;

    fn share(index: usize, share: f64) -> InstructionShare {
        InstructionShare {
            index,
            own: Estimate::exact(share),
            total: Estimate::exact(share),
            own_amount: Default::default(),
            total_amount: Default::default(),
        }
    }

    const AUTOMATIC: Choice = Choice {
        all: false,
        min_share: None,
        context: None,
    };

    fn numbers(choice: Choice, count: usize, shares: &[InstructionShare]) -> Vec<usize> {
        let shown = choice.shown(count, shares);
        (0..count).filter(|&at| shown[at]).collect()
    }

    #[test]
    fn a_short_function_is_whole_and_a_long_one_has_its_hot_parts() {
        assert_eq!(numbers(AUTOMATIC, 64, &[share(3, 1.0)]).len(), 64);
        let hot = [share(3, 0.5), share(60, 0.5)];
        let expected: Vec<usize> = (0..=6).chain(57..=63).collect();
        assert_eq!(numbers(AUTOMATIC, 100, &hot), expected);
        let all = Choice {
            all: true,
            ..AUTOMATIC
        };
        assert_eq!(numbers(all, 100, &hot).len(), 100);
        assert_eq!(numbers(AUTOMATIC, 100, &[]), Vec::<usize>::new());
    }

    #[test]
    fn a_small_gap_is_not_left_out() {
        let narrow = Choice {
            context: Some(0),
            ..AUTOMATIC
        };
        let hot = [share(10, 0.3), share(13, 0.3), share(17, 0.3)];
        assert_eq!(numbers(narrow, 30, &hot), [10, 11, 12, 13, 17]);
    }

    #[test]
    fn where_all_is_cold_the_hottest_are_shown() {
        let cold: Vec<InstructionShare> = (0..1000).map(|at| share(at, 0.001)).collect();
        assert_eq!(numbers(AUTOMATIC, 1000, &cold).len(), 1000);
        let least = Choice {
            min_share: Some(0.01),
            ..AUTOMATIC
        };
        assert!(numbers(least, 1000, &cold).is_empty());
    }
}
