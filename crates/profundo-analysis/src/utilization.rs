//! The utilization of threads: the share of their time in which they ran.
//!
//! An engine that samples sleeping threads, like Julia's, has it in the samples: the share of those
//! not taken asleep. An engine that samples CPU time never sees a sleeping thread; there the
//! samples are compared with the time that the threads were alive.

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

/// The time that the threads of the selection could have run, in nanoseconds, where known.
fn time_alive(profile: &Profile, selection: &Selection) -> Option<u64> {
    let alive: Option<u64> = (selection.threads().iter())
        .map(|&thread| profile.threads.get(thread).alive.map(|alive| alive.0))
        .sum();
    let alive = alive?;
    let duration = profile.meta.duration.0;
    // A task runs on one thread at a time: on all of them it has only the recording's time.
    let is_task_alone = selection.task().is_some() && selection.threads().len() != 1;
    Some(if is_task_alone && duration > 0 {
        duration
    } else {
        alive
    })
}
