//! Lines with counted runs, grouped by their functions.

use std::collections::BTreeMap;

use profundo_model::{FileId, FrameId, Line, ProcessId, Profile, StringId};
use rustc_hash::FxHashMap;

use crate::transform::{By, matching_frames};
use crate::{Filter, admit, pattern};

/// A line that was run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CountedLine {
    /// The line.
    pub line: u32,
    /// The number of times it was run.
    pub hits: u64,
    /// Their time in nanoseconds, callees included.
    pub time: u64,
}

/// The lines of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinesOfFunction {
    /// The function, at one of its lines.
    pub frame: FrameId,
    /// The first line of the function.
    pub first: u32,
    /// Its lines that were run, in their order.
    pub lines: Vec<CountedLine>,
}

impl LinesOfFunction {
    /// The time of its lines in nanoseconds.
    pub fn time(&self) -> u64 {
        let times = self.lines.iter().map(|line| line.time);
        times.fold(0, u64::saturating_add)
    }
}

/// The counted lines, of all processes that pass together, in the order of their functions: by
/// file, by first line, and by name. The thread and the time of a line's runs are unknown, so with
/// a filter for those none passes.
pub fn traced_lines(profile: &Profile, filter: &Filter) -> Vec<LinesOfFunction> {
    let passes = line_filter(profile, filter);
    let mut functions: FxHashMap<(FileId, u32, StringId), Sums> = FxHashMap::default();
    for line in profile.traced.lines.iter().filter(|line| passes(line)) {
        let frame = profile.frames.get(line.frame);
        let sums = functions
            .entry((frame.file, line.first, frame.function))
            .or_insert_with(|| Sums {
                frame: line.frame,
                lines: BTreeMap::new(),
            });
        let sum = sums.lines.entry(frame.line).or_default();
        sum.0 = sum.0.saturating_add(line.hits);
        sum.1 = sum.1.saturating_add(line.time.0);
    }
    let mut found: Vec<LinesOfFunction> = (functions.into_iter())
        .map(|((_, first, _), sums)| LinesOfFunction {
            frame: sums.frame,
            first,
            lines: (sums.lines.into_iter())
                .map(|(line, (hits, time))| CountedLine { line, hits, time })
                .collect(),
        })
        .collect();
    found.sort_by_cached_key(|function| {
        let name = profile.function_name(function.frame).to_owned();
        (
            profile.file_path(function.frame).to_owned(),
            function.first,
            name,
        )
    });
    found
}

/// Whether lines pass.
pub(super) fn line_filter(profile: &Profile, filter: &Filter) -> impl Fn(&Line) -> bool + use<> {
    let passes = place_filter(profile, filter);
    move |line| passes(line.process, line.frame)
}

/// Whether what was counted at a line of a process passes.
pub(super) fn place_filter(
    profile: &Profile,
    filter: &Filter,
) -> impl Fn(ProcessId, FrameId) -> bool + use<> {
    let is_known = filter.is_timeless();
    let frames = meant(profile, filter);
    let processes = admit::processes(profile, filter);
    move |process, frame| {
        is_known && frames[frame.index()] && processes.get(process.index()).copied().unwrap_or(true)
    }
}

/// Lines of a function: their hits and their times.
struct Sums {
    frame: FrameId,
    lines: BTreeMap<u32, (u64, u64)>,
}

/// By frame, whether the filter names its file and function.
fn meant(profile: &Profile, filter: &Filter) -> Vec<bool> {
    let mut meant = vec![true; profile.frames.len()];
    if !filter.files.is_empty() {
        let files = pattern::files(profile, &filter.files);
        for (meant, frame) in meant.iter_mut().zip(profile.frames.iter()) {
            *meant &= files[frame.file.index()];
        }
    }
    for (expressions, is_meant) in [(&filter.focus, true), (&filter.ignore, false)] {
        if !expressions.is_empty() {
            let matching = matching_frames(profile, expressions, By::Any);
            for (meant, matches) in meant.iter_mut().zip(matching) {
                *meant &= matches == is_meant;
            }
        }
    }
    if !filter.functions.is_empty() {
        let by_name: Vec<Vec<bool>> = (filter.functions.iter())
            .map(|name| pattern::functions(profile, name))
            .collect();
        for (at, meant) in meant.iter_mut().enumerate() {
            *meant &= by_name.iter().any(|frames| frames[at]);
        }
    }
    meant
}
