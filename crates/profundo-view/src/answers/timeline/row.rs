//! The time of a thread, a task, a process, or of all, by activity.

use std::collections::BTreeMap;

use profundo_analysis::{Activity, Times, Window};
use serde::Serialize;

/// The name of the time without samples.
const NONE: &str = "none";

/// The time of a thread, a task, a process, or of all.
#[derive(Debug, Default, Serialize)]
pub(super) struct Row {
    /// On a CPU in the window, and altogether, in nanoseconds.
    busy: u64,
    total: u64,
    /// By activity, the time in the window.
    times: BTreeMap<&'static str, u64>,
    /// By activity and column, thousandths of the column's time. Those of a process are the sums of
    /// its threads.
    columns: BTreeMap<&'static str, Vec<u64>>,
    /// The largest sum of a column, and of what is on a CPU in it.
    most: u64,
    most_busy: u64,
    garbage: u64,
    /// By column, the part in garbage collection. Empty where there is none.
    collecting: Vec<u64>,
}

impl Row {
    /// The row of one thread or one task: `none` is the time in which it has no sample.
    pub(super) fn of_track(times: &Times, window: Window) -> Self {
        let mut row = Self::new(times, window);
        let (rest, sum) = times.unsampled(window);
        if sum > 0 {
            row.times.insert(NONE, sum);
            let part = |time: &u64| time.saturating_mul(1000) / window.step;
            row.columns.insert(NONE, rest.iter().map(part).collect());
        }
        row
    }

    pub(super) fn new(times: &Times, window: Window) -> Self {
        let part = |time: &u64| (time.saturating_mul(1000) + window.step / 2) / window.step;
        let columns = |times: &[u64]| times.iter().map(part).collect::<Vec<u64>>();
        let mut row = Self {
            busy: times.busy(),
            total: times.total(),
            garbage: times.collected,
            collecting: columns(&times.collecting),
            ..Self::default()
        };
        let mut sums = vec![(0_u64, 0_u64); window.columns];
        for activity in Activity::ALL {
            let list = &times.columns[activity as usize];
            let total = times.totals[activity as usize];
            if total == 0 {
                continue;
            }
            row.times.insert(activity.name(), total);
            row.columns.insert(activity.name(), columns(list));
            for (sum, time) in sums.iter_mut().zip(list) {
                sum.0 = sum.0.saturating_add(*time);
                sum.1 = sum
                    .1
                    .saturating_add(if activity.is_busy() { *time } else { 0 });
            }
        }
        row.most = sums.iter().map(|(all, _)| part(all)).max().unwrap_or(0);
        row.most_busy = sums.iter().map(|(_, busy)| part(busy)).max().unwrap_or(0);
        row
    }
}
