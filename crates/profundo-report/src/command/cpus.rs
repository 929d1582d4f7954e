//! The number of CPUs that the time of a selection is, on average: a share of the time of one CPU
//! says nothing of many machines.

use profundo_analysis::Selection;
use profundo_model::{Profile, SampleKind};

use crate::Choices;

/// How many CPUs the answer of a query has taken in its time. `None`: for something else.
pub(crate) fn cpus(profile: &Profile, choices: &Choices, selection: &Selection) -> Option<f64> {
    let is_asked = profile.meta.question.is_some() && profile.meta.kind == SampleKind::Cpu;
    let wall = part_of(choices, profile).unwrap_or(profile.meta.duration.0);
    let split = selection.split(profile);
    let cpu = split.sum().saturating_sub(split.waiting);
    (is_asked && wall > 0).then(|| cpu as f64 / wall as f64)
}

/// The length of the stretch of time that a filter lets through.
pub(crate) fn part_of(choices: &Choices, profile: &Profile) -> Option<u64> {
    let filter = &choices.filter;
    (filter.from.is_some() || filter.to.is_some()).then(|| {
        // The duration is without pauses.
        let last = profile.samples.iter().map(|sample| sample.time.0).max();
        let end = last.unwrap_or(0).max(profile.meta.duration.0);
        let from = filter.from.map_or(0, |from| from.0);
        let to = filter.to.map_or(end, |to| to.0.min(end));
        to.saturating_sub(from)
    })
}
