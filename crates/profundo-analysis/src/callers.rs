//! The direct callers of a function, and the number of observed calls.
//!
//! Two neighbours on a stack are a call. Every sample that runs through a row of the stack table
//! has observed the calls of that row, so each row is visited once, with the count of all the
//! samples above it. A function that recurses calls itself as often as it is on the stack.

use std::ops::RangeInclusive;

use profundo_model::{FrameId, Profile, StackId, c_name, python_name};
use rustc_hash::FxHashMap;

use crate::Place;
use crate::place::places;

/// A question that cannot be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallersError {
    /// Lines are lines of a file.
    #[error("lines {0}..={1} need a file")]
    LinesWithoutFile(u32, u32),
}

/// A caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller {
    /// The number of observed calls.
    pub count: u64,
    /// The calling function and its line.
    pub place: Place,
}

/// The direct callers of the function `name`, the most frequent first; C functions are callers
/// like all others.
///
/// A name is the whole name or its last segments: `descend` and `app::descend` both mean
/// `my::app::descend`. With a `file` (the path as recorded, its last segments, or the short form
/// that reports show) only the function of that file is meant, with `lines` only the calls made
/// while it was at one of these lines.
pub fn callers(
    profile: &Profile,
    name: &str,
    file: Option<&str>,
    lines: Option<RangeInclusive<u32>>,
) -> Result<Vec<Caller>, CallersError> {
    if let (Some(lines), None) = (&lines, file) {
        return Err(CallersError::LinesWithoutFile(*lines.start(), *lines.end()));
    }
    let matches: Vec<bool> = (0..profile.frames.len())
        .map(|index| {
            is_meant(
                profile,
                FrameId::from_index(index),
                name,
                file,
                lines.as_ref(),
            )
        })
        .collect();
    let is_match = |place: Place| matches!(place, Place::Frame(frame) if matches[frame.index()]);

    let mut counts = vec![0_u64; profile.stacks.len()];
    for (row, sample) in profile.samples.iter().enumerate() {
        let sum = &mut counts[sample.stack.index()];
        *sum = sum.saturating_add(profile.count_of_row(row, sample));
    }
    let mut tallies: FxHashMap<Place, u64> = FxHashMap::default();
    // Callers are stored before their callees, so backwards the counts from above are complete.
    for id in (0..profile.stacks.len()).rev().map(StackId::from_index) {
        let count = counts[id.index()];
        if count == 0 {
            continue;
        }
        let stack = profile.stacks.get(id);
        let mut caller = None;
        if let Some(parent) = stack.parent {
            let sum = &mut counts[parent.index()];
            *sum = sum.saturating_add(count);
            caller = places(profile, profile.stacks.get(parent).location).next_back();
        }
        for place in places(profile, stack.location) {
            if let Some(caller) = caller.filter(|_| is_match(place)) {
                let tally = tallies.entry(caller).or_default();
                *tally = tally.saturating_add(count);
            }
            caller = Some(place);
        }
    }
    let mut callers: Vec<Caller> = tallies
        .into_iter()
        .map(|(place, count)| Caller { count, place })
        .collect();
    callers.sort_by_key(|caller| (std::cmp::Reverse(caller.count), caller.place));
    Ok(callers)
}

fn is_meant(
    profile: &Profile,
    frame: FrameId,
    name: &str,
    file: Option<&str>,
    lines: Option<&RangeInclusive<u32>>,
) -> bool {
    let function = profile.function_name(frame);
    let is_named = |function| ends_with_segments(function, name, "::");
    let is_python =
        python_name(function).is_some_and(|python| ends_with_segments(python, name, "."));
    if !is_python && !is_named(function) && !is_named(c_name(function)) {
        return false;
    }
    let row = profile.frames.get(frame);
    let in_file = file.is_none_or(|file| {
        let found = profile.files.get(row.file);
        let (prefix, rest) = (
            profile.strings.get(found.prefix),
            profile.strings.get(found.rest),
        );
        let after = file
            .strip_prefix(prefix)
            .map(|after| after.trim_start_matches('/'));
        let is_short = !prefix.is_empty() && after == Some(rest.trim_start_matches('/'));
        is_short || ends_with_segments(profile.strings.get(found.path), file, "/")
    });
    in_file && lines.is_none_or(|lines| lines.contains(&row.line))
}

/// Whether `text` is `end`, or ends with it right after a separator.
fn ends_with_segments(text: &str, end: &str, separator: &str) -> bool {
    let Some(before) = text.strip_suffix(end) else {
        return false;
    };
    !end.is_empty() && (before.is_empty() || before.ends_with(separator))
}
