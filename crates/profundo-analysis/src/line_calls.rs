//! Calls from line to line: for each line, the lines that called what it runs, and those that it
//! calls.

use profundo_model::{FileId, Profile};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::shown::each_shown_stack;
use crate::{Place, Selection, Shown};

/// A line of a file.
pub type SourceLine = (FileId, u32);

/// The weight of samples with one line called from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineCall {
    /// The line of the call.
    pub caller: SourceLine,
    /// The line that ran, or that called on.
    pub callee: SourceLine,
    /// The weight of the samples with both on their stack, one right above the other. Each sample
    /// counts once, however deep a recursion is.
    pub weight: u64,
}

/// The calls between lines of a selection, the heaviest first. Frames without a line are passed
/// over: the line below them has called the line above.
pub fn line_calls(profile: &Profile, selection: &Selection, shown: Shown) -> Vec<LineCall> {
    let stacks = selection.stacks(profile);
    let mut weights = stacks.iter().map(|stack| stack.weight);
    let mut sums: FxHashMap<(SourceLine, SourceLine), u64> = FxHashMap::default();
    let mut seen = FxHashSet::default();
    let each = stacks.iter().map(|stack| stack.stack);
    each_shown_stack(profile, each, shown, |_, places| {
        let weight = weights.next().unwrap_or(0);
        seen.clear();
        let mut caller = None;
        for &(place, _) in places {
            let Some(callee) = line_of(profile, place) else {
                continue;
            };
            if let Some(caller) = caller
                && seen.insert((caller, callee))
            {
                let sum = sums.entry((caller, callee)).or_default();
                *sum = sum.saturating_add(weight);
            }
            caller = Some(callee);
        }
    });
    let calls = sums.into_iter().map(|((caller, callee), weight)| LineCall {
        caller,
        callee,
        weight,
    });
    let mut calls: Vec<LineCall> = calls.collect();
    calls.sort_by_key(|call| (std::cmp::Reverse(call.weight), call.caller, call.callee));
    calls
}

fn line_of(profile: &Profile, place: Place) -> Option<SourceLine> {
    let Place::Frame(frame) = place else {
        return None;
    };
    let frame = profile.frames.get(frame);
    (frame.line > 0 && frame.file != FileId(0)).then_some((frame.file, frame.line))
}

#[cfg(test)]
mod tests {
    use profundo_model::{FrameKey, LocationKind, Nanos, Sample};

    use super::*;
    use crate::Filter;

    #[test]
    fn a_sample_counts_once_for_a_recursion() {
        let mut profile = Profile::default();
        let thread = profile.hand_made_thread(1, "main");
        let task = profile.hand_made_task(1);
        let mut stack = None;
        for line in [1, 5, 5, 5, 9] {
            let frame = profile.frame(FrameKey {
                function: "f",
                file: "a.py",
                line,
                ..FrameKey::default()
            });
            let kind = LocationKind::Invented(u64::from(frame.0));
            let location = profile.locations.intern(kind, None);
            profile.locations.set_frames(location, &[frame]);
            stack = Some(profile.stacks.intern(stack, location));
        }
        profile.samples = vec![
            Sample {
                weight: Nanos(3),
                thread,
                task,
                stack: stack.unwrap(),
                ..Sample::default()
            };
            2
        ];
        let all = Selection::new(&profile, &Filter::default());
        let calls = line_calls(&profile, &all, Shown::ALL);
        let found: Vec<_> = (calls.iter())
            .map(|call| (call.caller.1, call.callee.1, call.weight))
            .collect();
        assert_eq!(found, [(1, 5, 6), (5, 5, 6), (5, 9, 6)]);
    }
}
