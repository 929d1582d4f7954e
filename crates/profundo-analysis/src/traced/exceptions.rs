//! Exceptions by their type, the line that raised them and their end, over all processes.

use std::cmp::Reverse;

use profundo_model::{ExceptionEnd, FrameId, Profile, StringId};
use rustc_hash::FxHashMap;

use super::lines::place_filter;
use crate::Filter;

/// Exceptions of one type, raised by one line, with one end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RaisedExceptions {
    /// The name of their type.
    pub of_type: StringId,
    /// The function that raised them, at that line.
    pub raised: FrameId,
    /// Their end.
    pub end: ExceptionEnd,
    /// Their number.
    pub count: u64,
}

/// The exceptions that pass, the most frequent first. The filter is for the lines that raised them;
/// the thread and the time are unknown, so with a filter for those none passes.
pub fn traced_exceptions(profile: &Profile, filter: &Filter) -> Vec<RaisedExceptions> {
    let passes = place_filter(profile, filter);
    let mut sums: FxHashMap<(StringId, FrameId, ExceptionEnd), u64> = FxHashMap::default();
    for row in &profile.traced.exceptions {
        if passes(row.process, row.raised) {
            let sum = sums.entry((row.of_type, row.raised, row.end)).or_default();
            *sum = sum.saturating_add(row.count);
        }
    }
    let mut found: Vec<RaisedExceptions> = (sums.into_iter())
        .map(|((of_type, raised, end), count)| RaisedExceptions {
            of_type,
            raised,
            end,
            count,
        })
        .collect();
    let place = |frame: FrameId| {
        let line = profile.frames.get(frame).line;
        let function = profile.function_name(frame).to_owned();
        (profile.file_path(frame).to_owned(), line, function)
    };
    found.sort_by_cached_key(|row| {
        let end = match row.end {
            ExceptionEnd::Caught(frame) => (0, Some(place(frame))),
            ExceptionEnd::Left => (1, None),
            ExceptionEnd::Unseen => (2, None),
        };
        let of_type = profile.strings.get(row.of_type).to_owned();
        (Reverse(row.count), place(row.raised), of_type, end)
    });
    found
}
