//! The time of each activity by column, as samples add up to it.

use super::{Activity, Window};

/// The time of each activity, by column and altogether.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Times {
    /// By activity and column, in nanoseconds; an activity without any has no columns.
    pub columns: [Vec<u64>; Activity::COUNT],
    /// By activity, the time in the whole window.
    pub totals: [u64; Activity::COUNT],
    /// By column, the time in which an interpreter collected garbage. It is part of the activities,
    /// and empty where there is none.
    pub collecting: Vec<u64>,
    /// The same in the whole window.
    pub collected: u64,
}

/// A sample, in 16 bytes: there may be ten million of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    pub end: u64,
    /// The weight above, then a bit for garbage collection, then the activity.
    packed: u64,
}

const COLLECTS: u64 = 1 << 7;

impl Slot {
    pub(super) fn new(end: u64, weight: u64, activity: Activity, collects: bool) -> Self {
        let weight = weight.min(u64::MAX >> 8);
        let bit = if collects { COLLECTS } else { 0 };
        Self {
            end,
            packed: (weight << 8) | bit | activity as u64,
        }
    }

    /// The start of the time that it stands for. That is cut at the start of the recording.
    pub(super) fn start(self) -> u64 {
        self.end.saturating_sub(self.weight())
    }

    pub(super) fn weight(self) -> u64 {
        self.packed >> 8
    }

    /// A part of its weight, with an end of its own.
    pub(super) fn part(self, end: u64, weight: u64) -> Self {
        let rest = self.packed & ((1 << 8) - 1);
        Self {
            end,
            packed: (weight << 8) | rest,
        }
    }

    pub(super) fn is_busy(self) -> bool {
        Activity::ALL[self.activity()].is_busy()
    }

    fn collects(self) -> bool {
        self.packed & COLLECTS != 0
    }

    fn activity(self) -> usize {
        (self.packed & (COLLECTS - 1)) as usize
    }
}

impl Times {
    /// The time on a CPU.
    pub fn busy(&self) -> u64 {
        let busy = Activity::ALL.iter().zip(self.totals);
        busy.filter(|(activity, _)| activity.is_busy())
            .fold(0, |sum, (_, time)| sum.saturating_add(time))
    }

    /// The sum of all activities.
    pub fn total(&self) -> u64 {
        self.totals.iter().fold(0, |sum, &t| sum.saturating_add(t))
    }

    /// By column, and altogether, the time of a thread or a task in which it has no sample: it did
    /// not run, or it was not sampled, or it was not there.
    pub fn unsampled(&self, window: Window) -> (Vec<u64>, u64) {
        let mut rest = vec![window.step; window.columns];
        for list in &self.columns {
            for (rest, time) in rest.iter_mut().zip(list) {
                *rest = rest.saturating_sub(*time);
            }
        }
        let sum = rest.iter().sum();
        (rest, sum)
    }

    /// Spreads a part of a sample's weight over the columns of its time.
    pub(super) fn spread(
        &mut self,
        window: Window,
        slot: Slot,
        (start, end): (u64, u64),
        weight: u64,
    ) {
        let activity = slot.activity();
        let columns = &mut self.columns[activity];
        if columns.is_empty() {
            columns.resize(window.columns, 0);
        }
        let collects = slot.collects();
        if collects && self.collecting.is_empty() {
            self.collecting.resize(window.columns, 0);
        }
        self.totals[activity] = self.totals[activity].saturating_add(weight);
        if collects {
            self.collected = self.collected.saturating_add(weight);
        }
        let (mut at, mut left) = (start, weight);
        let mut column = window.column(start);
        while at < end && column < window.columns {
            let next = window.from + (column as u64 + 1) * window.step;
            let part = match next >= end {
                true => left,
                false if weight == end - start => next - at,
                false => {
                    let share = (next - at) as f64 / (end - start) as f64;
                    ((weight as f64 * share) as u64).min(left)
                }
            };
            left -= part;
            columns[column] = columns[column].saturating_add(part);
            if collects {
                self.collecting[column] = self.collecting[column].saturating_add(part);
            }
            (at, column) = (next, column + 1);
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        let lists = self.columns.iter_mut().zip(&other.columns);
        for (sum, part) in lists {
            add(sum, part);
        }
        add(&mut self.collecting, &other.collecting);
        for (sum, part) in self.totals.iter_mut().zip(other.totals) {
            *sum = sum.saturating_add(part);
        }
        self.collected = self.collected.saturating_add(other.collected);
    }
}

fn add(sum: &mut Vec<u64>, part: &[u64]) {
    if sum.is_empty() {
        sum.extend_from_slice(part);
        return;
    }
    for (sum, part) in sum.iter_mut().zip(part) {
        *sum = sum.saturating_add(*part);
    }
}
