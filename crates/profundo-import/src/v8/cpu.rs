//! Samples of V8's profiler: the number of a node and the time since the sample before.
//!
//! A sample stands for the time until the next one. The collector's are put on the stack before it,
//! as Chrome shows them: V8 does not read the stack then. Lines are known for each sample in newer
//! traces; other files have their numbers by node, which are spread evenly over its samples.

use profundo_model::{SampleKind, StackId, State, ThreadId};

use super::{Nodes, Role};
use crate::{Builder, Row};

/// The zero of times: a profile may begin before its thread's other events.
pub(crate) const ZERO: u64 = 1 << 62;

/// A profile as far as it was read. Times are in nanoseconds.
#[derive(Debug, Default)]
pub(crate) struct CpuProfile {
    pub nodes: Nodes,
    /// The node of each sample.
    pub samples: Vec<u64>,
    /// The line of each sample, where known.
    pub lines: Vec<u32>,
    /// The time of each sample since the one before.
    pub deltas: Vec<i64>,
    pub start: i64,
    pub end: Option<i64>,
}

/// A sample in its place.
struct Placed {
    time: i64,
    row: u32,
    line: Option<u32>,
}

impl CpuProfile {
    /// Gives the samples to the profile of a thread.
    pub(crate) fn give(mut self, thread: ThreadId, builder: &mut Builder) {
        self.nodes.resolve(builder);
        if self.samples.is_empty() {
            return self.give_hits(thread, builder);
        }
        let placed = self.placed();
        let usual = usual_distance(&placed);
        let mut before: Option<StackId> = None;
        let mut given = vec![Vec::new(); self.nodes.rows.len()];
        for (index, sample) in placed.iter().enumerate() {
            let until = match placed.get(index + 1) {
                Some(next) => next.time,
                // The thread may have ended long before the profile.
                None => (self.end.unwrap_or(sample.time)).min(sample.time.saturating_add(usual)),
            };
            let row = sample.row;
            let Some(node) = self.nodes.rows.get(row as usize) else {
                continue;
            };
            let role = node.role;
            let line = match sample.line {
                Some(line) => line,
                None => spread(&node.ticks, &mut given[row as usize]),
            };
            let stack = match (role, before) {
                (Role::Collector, Some(before)) => self.on(before, row, builder),
                _ => self.nodes.stack_at(row, line, builder),
            };
            before = match role {
                Role::Code => stack,
                // Samples in a row have the same one below.
                Role::Collector => before,
                Role::Root | Role::Idle => None,
            };
            let Some(stack) = stack else {
                continue;
            };
            builder.sample(Row {
                stack,
                thread,
                weight: until.saturating_sub(sample.time).max(0) as u64,
                samples: 1,
                time: Some(ZERO.saturating_add_signed(sample.time)),
                state: match role {
                    Role::Idle => State::WallWaiting,
                    _ => State::WallRunning,
                },
            });
        }
        let last = placed.last().map_or(0, |sample| sample.time);
        let end = self.end.unwrap_or(last);
        let duration = &mut builder.profile.meta.duration.0;
        *duration = (*duration).max(end.saturating_sub(self.start).max(0) as u64);
    }

    /// The samples in the order of time. V8 writes some late.
    fn placed(&self) -> Vec<Placed> {
        let mut time = self.start;
        let rows = self.samples.iter().zip(&self.deltas).enumerate();
        let placed = rows.filter_map(|(index, (&id, &delta))| {
            time = time.saturating_add(delta);
            Some(Placed {
                time,
                row: self.nodes.row(id)?,
                line: self.lines.get(index).copied().filter(|&line| line > 0),
            })
        });
        let mut placed: Vec<Placed> = placed.collect();
        placed.sort_by_key(|sample| sample.time);
        placed
    }

    /// A row on a stack.
    fn on(&self, below: StackId, row: u32, builder: &mut Builder) -> Option<StackId> {
        let location = self.nodes.rows.get(row as usize)?.location?;
        Some(builder.stack(Some(below), location))
    }

    /// A file without samples has their numbers.
    fn give_hits(&self, thread: ThreadId, builder: &mut Builder) {
        builder.weighs(SampleKind::Events, "");
        for (row, node) in (0..).zip(&self.nodes.rows) {
            if let Some(stack) = self.nodes.stack(row) {
                builder.sample(Row {
                    stack,
                    thread,
                    weight: node.hits,
                    samples: node.hits,
                    time: None,
                    state: State::Running,
                });
            }
        }
    }
}

/// The mean time between two samples.
fn usual_distance(placed: &[Placed]) -> i64 {
    let (Some(first), Some(last)) = (placed.first(), placed.last()) else {
        return 0;
    };
    let distances = (placed.len() as i64 - 1).max(1);
    last.time.saturating_sub(first.time) / distances
}

/// The line of a node's next sample, so that each line has its part of those so far.
fn spread(ticks: &[(u32, u64)], given: &mut Vec<u64>) -> u32 {
    /// A function of more lines has none in its samples.
    const MOST_LINES: usize = 512;
    let all: u64 = ticks
        .iter()
        .map(|&(_, ticks)| ticks)
        .fold(0, u64::saturating_add);
    if all == 0 || ticks.len() > MOST_LINES {
        return 0;
    }
    given.resize(ticks.len(), 0);
    let number = given.iter().sum::<u64>() + 1;
    let lack = |(&(_, ticks), &given): (&(u32, u64), &u64)| {
        i128::from(ticks) * i128::from(number) - i128::from(given) * i128::from(all)
    };
    let rows = ticks.iter().zip(given.iter()).map(lack).enumerate();
    // The first of several.
    let Some((at, _)) = rows.rev().max_by_key(|&(_, lack)| lack) else {
        return 0;
    };
    given[at] += 1;
    ticks[at].0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_their_part_of_the_samples() {
        let ticks = [(7, 3), (9, 1)];
        let mut given = Vec::new();
        let lines: Vec<u32> = (0..4).map(|_| spread(&ticks, &mut given)).collect();
        assert_eq!(lines, [7, 7, 9, 7]);
        assert_eq!(spread(&[], &mut Vec::new()), 0);
    }
}
