//! The activity of threads or tasks over time, cut to the columns of a screen.
//!
//! A sample stands for the time before it, so its weight is spread over the columns of that time.
//! The samples are brought into order once for a selection ([`Timeline::new`]), and those of a
//! thread are set apart where their times overlap (`apart`). A window of time
//! then costs one pass over the samples in it ([`Timeline::window`]).
//!
//! ```text
//! selection ─▶ Timeline ──Window──▶ InWindow: by process, thread, column: the time of each activity
//! ```
//!
//! Memory, spans and marks have the same columns: [`levels`], [`span_boxes`], [`marks`].

mod activity;
mod apart;
mod level;
mod marks;
mod span_boxes;
mod times;
mod window;

#[cfg(test)]
mod tests;

use std::cmp::Reverse;

use profundo_model::{ProcessId, Profile, TaskId, ThreadId};
use rustc_hash::FxHashMap;

use crate::Selection;
use activity::Activities;
use times::Slot;

pub use activity::Activity;
pub use level::levels;
pub use marks::{MarkBox, marks};
pub use span_boxes::{SpanBox, SpanLanes, span_boxes};
pub use times::Times;
pub use window::Window;

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
    /// The start of its process, where that is known.
    first: u64,
    /// The longest time that a sample stands for.
    longest: u64,
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
            let process = profile.threads.get(sample.thread).process;
            let row = *rows.entry(of).or_insert_with(|| {
                timeline.tracks.push(Slots {
                    of,
                    process: programs.last(process),
                    slots: Vec::new(),
                    busy: 0,
                    total: 0,
                    first: u64::MAX,
                    longest: 0,
                });
                timeline.tracks.len() - 1
            });
            let track = &mut timeline.tracks[row];
            let started = profile
                .processes
                .get(process.index())
                .and_then(|row| row.started);
            track.first = track.first.min(started.map_or(0, |time| time.0));
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
        });
        for track in &mut timeline.tracks {
            if !track.slots.is_sorted_by_key(|slot| slot.end) {
                track.slots.sort_by_key(|slot| slot.end);
            }
            if matches!(track.of, TrackOf::Thread(_)) {
                apart::set(&mut track.slots, track.first);
            }
            for slot in &track.slots {
                let (from, to) = timeline.span.unwrap_or((slot.start(), slot.end));
                timeline.span = Some((from.min(slot.start()), to.max(slot.end)));
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

    /// The time between the start of the first sample and the end of the last. `None`: no sample
    /// has a place in time.
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
    /// The start of a sample's time. Of samples that were pressed together, it is the end of the
    /// one before.
    fn start(&self, at: usize) -> u64 {
        let slot = self.slots[at];
        let before = match at.checked_sub(1) {
            Some(before) => self.slots[before].end,
            None => self.first.min(slot.end),
        };
        let is_pressed = matches!(self.of, TrackOf::Thread(_))
            && slot.is_busy()
            && slot.end.saturating_sub(before) >= slot.weight() / 2;
        match is_pressed {
            true => slot.start().max(before),
            false => slot.start(),
        }
    }

    fn window(&self, window: Window) -> Times {
        let mut times = Times::default();
        let (from, to) = (window.from, window.to());
        let first = self.slots.partition_point(|slot| slot.end <= from);
        let behind = to.saturating_add(self.longest);
        for (at, &slot) in self.slots.iter().enumerate().skip(first) {
            if slot.end >= behind && slot.end > to {
                break;
            }
            let (start, end, weight) = (self.start(at), slot.end, slot.weight());
            let (cut_start, cut_end) = (start.max(from), end.min(to));
            if cut_start >= cut_end {
                continue;
            }
            let part = cut_end - cut_start;
            // A sample weighs more than its length where it stands for time before the recording,
            // or was pressed together with others.
            let part = match end - start {
                length if length == weight => part,
                length => (u128::from(weight) * u128::from(part) / u128::from(length)) as u64,
            };
            times.spread(window, slot, (cut_start, cut_end), part);
        }
        times
    }
}
