//! The stretches of a thread as stacks: one that lies in another is called by it.

use std::cmp::Reverse;

use profundo_model::{LocationId, StackId, State, ThreadId};

use super::ZERO;
use super::names::{Name, Names};
use crate::{Builder, Row};

/// The most stretches in one another. Deeper ones are a part of theirs.
const DEEPEST: usize = 4096;

/// An overlap up to this is that of rounded times.
const ROUNDING: i64 = 1_000;

/// A stretch.
#[derive(Debug, Clone, Copy)]
struct Slice {
    start: i64,
    end: i64,
    name: Name,
    /// The place of its start in the file.
    order: u32,
}

/// The start or the end of a stretch.
#[derive(Debug, Clone, Copy)]
struct Edge {
    time: i64,
    is_start: bool,
    name: Name,
    order: u32,
}

/// The stretches of a thread.
#[derive(Debug, Default)]
pub(super) struct Track {
    slices: Vec<Slice>,
    edges: Vec<Edge>,
    count: u32,
}

impl Track {
    /// Adds a whole stretch.
    pub(super) fn whole(&mut self, start: i64, duration: i64, name: Name) {
        self.count = self.count.saturating_add(1);
        self.slices.push(Slice {
            start,
            end: start.saturating_add(duration.max(0)),
            name,
            order: self.count,
        });
    }

    /// Adds a start or an end.
    pub(super) fn edge(&mut self, time: i64, is_start: bool, name: Name) {
        self.count = self.count.saturating_add(1);
        self.edges.push(Edge {
            time,
            is_start,
            name,
            order: self.count,
        });
    }

    /// Joins starts and ends. What is open at the last event ends there.
    fn join(&mut self, builder: &mut Builder) {
        self.edges.sort_by_key(|edge| edge.time);
        let last = self.edges.last().map_or(0, |edge| edge.time);
        let last = self
            .slices
            .iter()
            .map(|slice| slice.end)
            .fold(last, i64::max);
        let mut open: Vec<Edge> = Vec::new();
        for edge in std::mem::take(&mut self.edges) {
            if edge.is_start {
                open.push(edge);
                continue;
            }
            // An end has the name of its start, or none.
            let found = match edge.name {
                Name::NONE => open.len().checked_sub(1),
                name => {
                    let mut near = open.iter().enumerate().rev().take(DEEPEST);
                    let found = near.find(|(_, start)| start.name == name);
                    found.map(|(at, _)| at)
                }
            };
            match found {
                Some(at) => self.slices.extend(open.drain(at..).map(|start| Slice {
                    start: start.time,
                    end: edge.time,
                    name: start.name,
                    order: start.order,
                })),
                None => {
                    builder.leave_out("ends of events", || format!("at {} µs", edge.time / 1_000))
                }
            }
        }
        self.slices.extend(open.iter().map(|start| Slice {
            start: start.time,
            end: last,
            name: start.name,
            order: start.order,
        }));
    }

    /// Gives the stretches to the profile of a thread. Returns their first start and last end.
    pub(super) fn give(
        mut self,
        thread: ThreadId,
        names: &Names,
        builder: &mut Builder,
    ) -> Option<(i64, i64)> {
        self.join(builder);
        let order = |slice: &Slice| (slice.start, Reverse(slice.end), slice.order);
        if !self.slices.is_sorted_by_key(order) {
            self.slices.sort_by_key(order);
        }
        let mut sweep = Sweep {
            thread,
            around: Vec::new(),
            last: i64::MIN,
        };
        for slice in &self.slices {
            if let Some(location) = names.location(slice.name) {
                sweep.until(slice.start, builder);
                sweep.enter(slice, location, builder);
            }
        }
        sweep.until(i64::MAX, builder);
        let ends = self.slices.iter().map(|slice| slice.end).max();
        self.slices.first().map(|slice| slice.start).zip(ends)
    }
}

/// The stretches around a moment.
struct Sweep {
    thread: ThreadId,
    /// Their ends and stacks.
    around: Vec<(i64, StackId)>,
    /// The moment.
    last: i64,
}

impl Sweep {
    /// Goes on to a moment.
    fn until(&mut self, time: i64, builder: &mut Builder) {
        while let Some(&(end, stack)) = self.around.last() {
            self.run(end.min(time), stack, builder);
            if end > time {
                return;
            }
            self.around.pop();
        }
        // What lies between is not in the trace.
        self.last = self.last.max(time);
    }

    /// The innermost stretch runs until a moment.
    fn run(&mut self, time: i64, stack: StackId, builder: &mut Builder) {
        if time > self.last {
            builder.sample(Row {
                stack,
                thread: self.thread,
                weight: time.abs_diff(self.last),
                samples: 1,
                time: Some(ZERO.saturating_add_signed(self.last)),
                state: State::WallRunning,
            });
            self.last = time;
        }
    }

    fn enter(&mut self, slice: &Slice, location: LocationId, builder: &mut Builder) {
        if self.around.len() >= DEEPEST {
            return;
        }
        let outer = self.around.last().copied();
        let end = outer.map_or(slice.end, |(end, _)| end.min(slice.end));
        if slice.end.saturating_sub(end) > ROUNDING {
            builder.leave_out("ends of events behind those around them", || {
                format!("at {} µs", slice.end / 1_000)
            });
        }
        let stack = builder.stack(outer.map(|(_, stack)| stack), location);
        self.around.push((end, stack));
    }
}
