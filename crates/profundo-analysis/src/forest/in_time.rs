//! The picture in the order of time: a lane for each thread, and in it what was called from when to
//! when.
//!
//! A lane is made of stretches of one call ([`Runs`]): where a thread did not run, it is empty.
//!
//! Boxes that are too narrow to be seen become one box with their number where they touch, and have
//! no boxes on them.

use profundo_model::{Profile, ThreadId};

use super::runs::{Run, Runs};
use super::{BoxOf, CallWeight, Forest};
use crate::Selection;

/// The wanted part of the picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneOptions {
    /// The start of the window, in nanoseconds since the start of the recording.
    pub from: u64,
    /// Its end.
    pub to: u64,
    /// The shortest time that can be seen.
    pub least: u64,
    /// The most lanes.
    pub lanes: usize,
    /// About the most boxes. Where there would be more, boxes have to be longer.
    pub most: usize,
}

/// A box of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneBox {
    /// A function, or narrow boxes.
    pub of: BoxOf,
    /// The distance from the lane's first row.
    pub level: u32,
    /// The start, cut to the window.
    pub from: u64,
    /// The end, cut to the window.
    pub to: u64,
    /// The weight of its samples.
    pub weight: CallWeight,
    /// The weight of those that end in it.
    pub own: CallWeight,
    /// The first and the last line of the call; 0 where unknown.
    pub lines: (u32, u32),
}

/// The lane of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lane {
    /// The thread, by its row in the last program of its process.
    pub thread: ThreadId,
    /// The weight of its samples in the window.
    pub weight: CallWeight,
    /// The boxes: a caller stands before its callees.
    pub boxes: Vec<LaneBox>,
    /// The number of rows.
    pub rows: u32,
}

/// A sample of a thread.
#[derive(Debug, Clone, Copy)]
struct Step {
    end: u64,
    weight: u64,
    call: u32,
}

/// The lanes of the first of these threads that have samples in a window, and the number of those
/// that have samples in it and no lane.
pub fn in_time(
    profile: &Profile,
    forest: &Forest,
    selection: &Selection,
    threads: &[ThreadId],
    options: LaneOptions,
) -> (Vec<Lane>, usize) {
    let programs = profile.programs();
    let mut steps: Vec<Vec<Step>> = vec![Vec::new(); profile.threads.len()];
    selection.each_taken(profile, |sample| {
        let (end, weight) = (sample.time.0, sample.weight.0);
        let is_outside = end <= options.from || end.saturating_sub(weight) >= options.to;
        if is_outside || profile.is_counted(sample.stack) {
            return;
        }
        steps[programs.thread(sample.thread).index()].push(Step {
            end,
            weight,
            call: forest.ends[sample.stack.index()],
        });
    });
    let is_there = |thread: &&ThreadId| !steps[thread.index()].is_empty();
    let mut order: Vec<ThreadId> = threads.iter().filter(is_there).copied().collect();
    let left_out = order.len().saturating_sub(options.lanes);
    order.truncate(options.lanes);
    let mut lanes: Vec<Lane> = Vec::with_capacity(order.len());
    let pause = (profile.meta.period.0 / 2).max(options.least);
    for thread in order {
        let mut steps = std::mem::take(&mut steps[thread.index()]);
        steps.sort_by_key(|step| step.end);
        let mut least = options.least.max(1);
        let mut lane = Lane::new(forest, &steps, options, least, pause);
        // A lane has its part of all boxes.
        while lane.boxes.len() > options.most / options.lanes.max(1) && least < options.to {
            least *= 2;
            lane = Lane::new(forest, &steps, options, least, pause);
        }
        lane.thread = thread;
        lanes.push(lane);
    }
    (lanes, left_out)
}

impl Lane {
    fn new(forest: &Forest, steps: &[Step], options: LaneOptions, least: u64, pause: u64) -> Self {
        let mut stack = Open {
            forest,
            least,
            open: Vec::new(),
            boxes: Vec::new(),
            narrow: Vec::new(),
        };
        let mut runs = Runs::default();
        for step in steps {
            let weight = CallWeight {
                weight: step.weight,
                count: 1,
            };
            let window = (options.from, options.to);
            runs.add((step.call, step.end), weight, window, pause);
        }
        let weight = runs.weight;
        let mut end = 0;
        for run in runs.list {
            if run.start > end {
                stack.close(0);
            }
            end = run.end;
            stack.add(run);
        }
        stack.close(0);
        stack.finish(0);
        let mut boxes = stack.boxes;
        boxes.sort_by_key(|a_box| (a_box.level, a_box.from));
        let rows = boxes.iter().map(|a_box| a_box.level + 1).max().unwrap_or(0);
        Self {
            thread: ThreadId(0),
            weight,
            boxes,
            rows,
        }
    }
}

/// The calls that are open, outermost first.
struct Open<'a> {
    forest: &'a Forest,
    least: u64,
    open: Vec<(u32, LaneBox)>,
    boxes: Vec<LaneBox>,
    /// By level, narrow boxes that touch each other and may yet be followed by another one.
    narrow: Vec<Option<LaneBox>>,
}

impl Open<'_> {
    /// Adds a stretch of one call.
    fn add(&mut self, run: Run) {
        let path = self.forest.callers(run.call);
        let shared = (path.iter().zip(&self.open))
            .take_while(|(call, (other, _))| *call == other)
            .count();
        self.close(shared);
        for &call in &path[shared..] {
            let row = self.forest.call(call);
            self.open.push((
                call,
                LaneBox {
                    of: BoxOf::Function(row.function),
                    level: self.open.len() as u32,
                    from: run.start,
                    to: run.start,
                    weight: CallWeight::default(),
                    own: CallWeight::default(),
                    lines: row.lines,
                },
            ));
        }
        for (_, a_box) in &mut self.open {
            a_box.to = run.end;
            a_box.weight.add(run.weight);
        }
        if let Some((_, leaf)) = self.open.last_mut() {
            leaf.own.add(run.weight);
        }
    }

    /// Closes the calls from a level on.
    fn close(&mut self, level: usize) {
        while self.open.len() > level {
            let Some((_, a_box)) = self.open.pop() else {
                return;
            };
            let at = a_box.level as usize;
            // What is on it is complete.
            self.finish(at + 1);
            let is_wide = a_box.to - a_box.from >= self.least;
            if is_wide {
                self.finish(at);
                self.boxes.push(a_box);
            } else {
                // On a narrow box is nothing that can be seen.
                self.join(at, a_box);
            }
        }
    }

    /// Adds a narrow box to those that it touches.
    fn join(&mut self, level: usize, a_box: LaneBox) {
        if self.narrow.len() <= level {
            self.narrow.resize(level + 1, None);
        }
        if let Some(known) = &mut self.narrow[level]
            && known.to == a_box.from
        {
            known.to = a_box.to;
            known.weight.add(a_box.weight);
            known.own.add(a_box.weight);
            if let BoxOf::Narrow(number) = &mut known.of {
                *number += 1;
            }
            return;
        }
        self.finish(level);
        self.narrow[level] = Some(LaneBox {
            of: BoxOf::Narrow(1),
            own: a_box.weight,
            ..a_box
        });
    }

    /// Adds the narrow boxes of a level and of those on it, where they can be seen together.
    fn finish(&mut self, level: usize) {
        for narrow in self.narrow.iter_mut().skip(level) {
            if let Some(a_box) = narrow.take()
                && a_box.to - a_box.from >= self.least
            {
                self.boxes.push(a_box);
            }
        }
    }
}
