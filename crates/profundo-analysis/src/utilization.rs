//! How busy the threads were: the share of their time in which they ran.
//!
//! An engine that samples threads at rest tells it by itself, as Julia's does: the share of
//! samples that were not taken asleep. An engine that samples CPU time never sees a thread at
//! rest; there the time that the threads were alive is what the samples are held against.

use profundo_model::{Profile, SampleKind};

use crate::Selection;

/// The utilization of a selection, between 0 and 1. `None` where it has no meaning: there are no
/// samples, or a wall-time profiler picked threads and tasks at random, busy or not.
pub fn utilization(profile: &Profile, selection: &Selection) -> Option<f64> {
    if selection.is_empty() || profile.meta.kind != SampleKind::Cpu {
        return None;
    }
    let sums = selection.sums(profile);
    if sums.has_wall {
        return None;
    }
    match time_alive(profile, selection) {
        Some(alive) if alive > 0 => Some((sums.awake_weight as f64 / alive as f64).min(1.0)),
        _ => Some((sums.count - sums.asleep) as f64 / sums.count as f64),
    }
}

/// How long the threads of the selection could have run, in nanoseconds, where it is known.
fn time_alive(profile: &Profile, selection: &Selection) -> Option<u64> {
    let alive: Option<u64> = (selection.threads().iter())
        .map(|&thread| profile.threads.get(thread).alive.map(|alive| alive.0))
        .sum();
    let alive = alive?;
    let duration = profile.meta.duration.0;
    // A task runs on one thread at a time: on all of them it still has but the recording's time.
    let is_task_alone = selection.task().is_some() && selection.threads().len() != 1;
    Some(if is_task_alone && duration > 0 {
        duration
    } else {
        alive
    })
}
