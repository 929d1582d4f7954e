//! The activity of threads or tasks over time, cut to the columns of a screen.
//!
//! A sample stands for the time before it, so its weight is spread over the columns of that time.
//! The samples are brought into order once for a selection ([`Timeline::new`]). A window of time
//! then costs one pass over the samples in it ([`Timeline::window`]).
//!
//! ```text
//! selection ─▶ Timeline ──Window──▶ Shown: by process, by thread, by column, the time of each activity
//! ```
//!
//! Memory, spans and marks have the same columns: [`levels`], [`span_boxes`], [`marks`].

mod activity;
mod level;
mod marks;
mod span_boxes;

#[cfg(test)]
mod tests;

use std::cmp::Reverse;

use profundo_model::{ProcessId, Profile, TaskId, ThreadId};
use rustc_hash::FxHashMap;

use crate::Selection;
use activity::Activities;

pub use activity::Activity;
pub use level::levels;
pub use marks::{MarkBox, marks};
pub use span_boxes::{SpanBox, SpanLanes, span_boxes};

/// What a track is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TrackOf {
    /// A thread, by its row in the last program of its process.
    Thread(ThreadId),
    /// A task.
    Task(TaskId),
}

/// What has a track.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TracksBy {
    /// Each thread.
    #[default]
    Thread,
    /// Each task.
    Task,
}

/// Samples of a selection by track, in the order of time.
#[derive(Debug, Clone, Default)]
pub struct Timeline {
    /// The one with most time on a CPU first.
    tracks: Vec<Slots>,
    span: Option<(u64, u64)>,
    placed: u64,
    unplaced: u64,
}

/// A stretch of time in columns of equal length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Its start, in nanoseconds since the start of the recording.
    pub from: u64,
    /// The length of a column, at least 1.
    pub step: u64,
    /// The number of columns.
    pub columns: usize,
}

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

/// A thread or a task in a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Track {
    /// The thread or the task.
    pub of: TrackOf,
    /// Its time.
    pub times: Times,
}

/// A process in a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessTracks {
    /// The process, as the last program that it ran.
    pub process: ProcessId,
    /// The sum of all its tracks.
    pub times: Times,
    /// Its busiest tracks.
    pub tracks: Vec<Track>,
    /// The number of all its tracks.
    pub count: usize,
}

/// A window of a timeline.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InWindow {
    /// The sum of all tracks.
    pub times: Times,
    /// The processes, the one with most time on a CPU first.
    pub processes: Vec<ProcessTracks>,
    /// The number of all tracks.
    pub count: usize,
}

/// The samples of a track.
#[derive(Debug, Clone)]
struct Slots {
    of: TrackOf,
    process: ProcessId,
    slots: Vec<Slot>,
    busy: u64,
    total: u64,
    /// The longest time that a sample stands for.
    longest: u64,
}

/// A sample, in 16 bytes: there may be ten million of them.
#[derive(Debug, Clone, Copy)]
struct Slot {
    end: u64,
    /// The weight above, then a bit for garbage collection, then the activity.
    packed: u64,
}

const COLLECTS: u64 = 1 << 7;

impl Slot {
    fn new(end: u64, weight: u64, activity: Activity, collects: bool) -> Self {
        let weight = weight.min(u64::MAX >> 8);
        let bit = if collects { COLLECTS } else { 0 };
        Self {
            end,
            packed: (weight << 8) | bit | activity as u64,
        }
    }

    fn weight(self) -> u64 {
        self.packed >> 8
    }

    fn collects(self) -> bool {
        self.packed & COLLECTS != 0
    }

    fn activity(self) -> usize {
        (self.packed & (COLLECTS - 1)) as usize
    }
}

impl Window {
    /// A window of at most so many columns. The last one may end behind `to`.
    pub fn new(from: u64, to: u64, most: usize) -> Self {
        let span = to.saturating_sub(from).max(1);
        let step = span.div_ceil(most.max(1) as u64);
        let columns = span.div_ceil(step) as usize;
        Self {
            from,
            step,
            columns,
        }
    }

    /// The end of the last column.
    pub fn to(&self) -> u64 {
        (self.step.saturating_mul(self.columns as u64)).saturating_add(self.from)
    }

    /// The column of a moment in the window.
    fn column(&self, time: u64) -> usize {
        (time.saturating_sub(self.from) / self.step) as usize
    }
}

impl Timeline {
    /// The samples of a selection, in order.
    pub fn new(profile: &Profile, selection: &Selection, by: TracksBy) -> Self {
        let activities = Activities::new(profile, selection);
        let programs = profile.programs();
        let mut rows: FxHashMap<TrackOf, usize> = FxHashMap::default();
        let mut timeline = Self::default();
        selection.each_taken(profile, |sample| {
            let weight = sample.weight.0;
            if profile.is_counted(sample.stack) {
                return;
            }
            let of = match by {
                TracksBy::Thread => TrackOf::Thread(programs.thread(sample.thread)),
                TracksBy::Task => TrackOf::Task(sample.task),
            };
            let row = *rows.entry(of).or_insert_with(|| {
                let process = profile.threads.get(sample.thread).process;
                timeline.tracks.push(Slots {
                    of,
                    process: programs.last(process),
                    slots: Vec::new(),
                    busy: 0,
                    total: 0,
                    longest: 0,
                });
                timeline.tracks.len() - 1
            });
            let track = &mut timeline.tracks[row];
            let activity = activities.of(sample);
            let slot = Slot::new(
                sample.time.0,
                weight,
                activity,
                activities.collects(sample.stack),
            );
            track.slots.push(slot);
            track.longest = track.longest.max(slot.weight());
            track.total = track.total.saturating_add(weight);
            if activity.is_busy() {
                track.busy = track.busy.saturating_add(weight);
            }
            timeline.placed = timeline.placed.saturating_add(weight);
            let start = sample.time.0.saturating_sub(weight);
            let (from, to) = timeline.span.unwrap_or((start, sample.time.0));
            timeline.span = Some((from.min(start), to.max(sample.time.0)));
        });
        for track in &mut timeline.tracks {
            if !track.slots.is_sorted_by_key(|slot| slot.end) {
                track.slots.sort_by_key(|slot| slot.end);
            }
        }
        (timeline.tracks)
            .sort_by_key(|track| (Reverse(track.busy), Reverse(track.total), track.of));
        let all: u64 = selection
            .samples(profile)
            .fold(0, |sum, sample| sum.saturating_add(sample.weight.0));
        timeline.unplaced = all.saturating_sub(timeline.placed);
        timeline
    }

    /// The time between the start of the first sample and the end of the last. `None`: no sample has
    /// a place in time.
    pub fn span(&self) -> Option<(u64, u64)> {
        self.span
    }

    /// The tracks, the one with most time on a CPU first.
    pub fn tracks(&self) -> impl Iterator<Item = TrackOf> {
        self.tracks.iter().map(|track| track.of)
    }

    /// The time that has no place: it was counted and not sampled, or the order of its samples was
    /// not kept.
    pub fn unplaced(&self) -> u64 {
        self.unplaced
    }

    /// The processes with the `limit` busiest tracks of the whole time, in a window.
    pub fn window(&self, window: Window, limit: usize) -> InWindow {
        let mut rows: FxHashMap<ProcessId, usize> = FxHashMap::default();
        let mut found = InWindow {
            count: self.tracks.len(),
            ..InWindow::default()
        };
        for (number, track) in self.tracks.iter().enumerate() {
            let row = *rows.entry(track.process).or_insert_with(|| {
                found.processes.push(ProcessTracks {
                    process: track.process,
                    times: Times::default(),
                    tracks: Vec::new(),
                    count: 0,
                });
                found.processes.len() - 1
            });
            let process = &mut found.processes[row];
            process.count += 1;
            let times = track.window(window);
            process.times.add(&times);
            if number < limit {
                process.tracks.push(Track {
                    of: track.of,
                    times,
                });
            }
        }
        // The order is that of the whole time: it stays when the window moves.
        let mut busy: FxHashMap<ProcessId, u64> = FxHashMap::default();
        for track in &self.tracks {
            let sum = busy.entry(track.process).or_default();
            *sum = sum.saturating_add(track.busy);
        }
        (found.processes).sort_by_key(|row| (Reverse(busy.get(&row.process)), row.process));
        for process in &found.processes {
            found.times.add(&process.times);
        }
        found
    }
}

impl Slots {
    fn window(&self, window: Window) -> Times {
        let mut times = Times::default();
        let (from, to) = (window.from, window.to());
        let first = self.slots.partition_point(|slot| slot.end <= from);
        let behind = to.saturating_add(self.longest);
        for &slot in &self.slots[first..] {
            if slot.end >= behind && slot.end > to {
                break;
            }
            let (end, weight) = (slot.end, slot.weight());
            let start = end.saturating_sub(weight);
            let (cut_start, cut_end) = (start.max(from), end.min(to));
            if cut_start >= cut_end {
                continue;
            }
            let part = cut_end - cut_start;
            // Only a sample that stands for time before the recording weighs more than its length.
            let part = match end - start {
                length if length == weight => part,
                length => (u128::from(weight) * u128::from(part) / u128::from(length)) as u64,
            };
            times.spread(window, slot, (cut_start, cut_end), part);
        }
        times
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
    fn spread(&mut self, window: Window, slot: Slot, (start, end): (u64, u64), weight: u64) {
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

    fn add(&mut self, other: &Self) {
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
