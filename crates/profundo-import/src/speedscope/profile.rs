//! One profile of the file.

use profundo_model::{Amount, LocationId, SampleKind, StackId, State, ThreadId};

use super::{File, Measure, Tool};
use crate::encoding::json::{Json, Read};
use crate::{Builder, Row, Unit};

/// The most frames of a stack. Deeper ones are cut at their leaf's end.
const DEEPEST: usize = 4096;

/// The zero of times: files may begin before theirs.
const ZERO: u64 = 1 << 62;

/// A profile as far as it was read.
#[derive(Default)]
pub(super) struct One {
    index: u64,
    name: String,
    unit: String,
    start: f64,
    end: f64,
    /// The stacks of samples; none for gaps.
    stacks: Vec<Option<StackId>>,
    weights: Vec<f64>,
    events: Vec<Event>,
}

/// The start or the end of a frame.
#[derive(Debug, Clone, Copy)]
struct Event {
    is_open: bool,
    frame: u32,
    at: f64,
}

impl One {
    pub(super) fn new(index: u64) -> Self {
        Self {
            index,
            ..Self::default()
        }
    }

    pub(super) fn read(
        &mut self,
        json: &mut Json<'_>,
        frames: &[LocationId],
        builder: &mut Builder,
    ) -> Read<()> {
        let mut path = Path::default();
        json.object(|json, key| {
            match key {
                "name" => self.name = json.text()?.unwrap_or_default().into_owned(),
                "unit" => self.unit = json.text()?.unwrap_or_default().into_owned(),
                "startValue" => self.start = json.number()?.unwrap_or(0.0),
                "endValue" => self.end = json.number()?.unwrap_or(0.0),
                "samples" => json.array(|json| {
                    let stack = path.sample(json, frames, builder)?;
                    self.stacks.push(stack);
                    Ok(())
                })?,
                "weights" => json.array(|json| {
                    self.weights.push(json.number()?.unwrap_or(0.0));
                    Ok(())
                })?,
                "events" => json.array(|json| {
                    if let Some(event) = event(json)? {
                        self.events.push(event);
                    }
                    Ok(())
                })?,
                _ => json.skip()?,
            }
            Ok(())
        })
    }

    /// Gives what was read to the profile.
    pub(super) fn give(self, file: &mut File, builder: &mut Builder) {
        let measure = Measure::of(&self.unit);
        let is_memory =
            measure == Measure::Bytes || measure == Measure::Count && file.tool == Tool::Memray;
        if !is_memory && measure != file.wanted {
            return;
        }
        if is_memory {
            for (stack, weight) in self.rows(file, builder).into_iter().map(Spent::untimed) {
                let amount = file.memory.entry(stack).or_default();
                *amount += match measure {
                    Measure::Count => Amount {
                        count: weight,
                        bytes: 0,
                    },
                    _ => Amount {
                        count: 0,
                        bytes: weight,
                    },
                };
            }
            return;
        }
        let thread = file
            .owners
            .thread(&self.name, file.tool, self.index, builder);
        let is_time = measure == Measure::Time;
        let state = match builder.profile.meta.kind {
            SampleKind::Wall => State::WallRunning,
            _ => State::Running,
        };
        file.has_times |= is_time;
        for spent in self.rows(file, builder) {
            spent.give(thread, state, is_time, builder);
        }
        if is_time {
            let unit = Unit::of_name(&self.unit);
            let length = instant(unit, self.end).saturating_sub(instant(unit, self.start));
            let duration = &mut builder.profile.meta.duration.0;
            *duration = length.max(*duration);
        }
    }

    /// The stretches of the profile.
    fn rows(&self, file: &File, builder: &mut Builder) -> Vec<Spent> {
        let unit = Unit::of_name(&self.unit);
        let mut rows = Vec::with_capacity(self.stacks.len().max(self.events.len()));
        let mut at = instant(unit, self.start);
        for (&stack, &weight) in self.stacks.iter().zip(&self.weights) {
            let weight = unit.weight(weight);
            if let Some(stack) = stack {
                rows.push(Spent { at, weight, stack });
            }
            at = at.saturating_add(weight);
        }
        self.opened(file, unit, &mut rows, builder);
        rows
    }

    /// The stretches between events.
    fn opened(&self, file: &File, unit: Unit, rows: &mut Vec<Spent>, builder: &mut Builder) {
        let Some(first) = self.events.first() else {
            return;
        };
        let mut path = Path::default();
        let mut last = instant(unit, first.at);
        let mut until = |at: u64, path: &Path| {
            if let Some(stack) = path.stack()
                && at > last
            {
                rows.push(Spent {
                    at: last,
                    weight: at - last,
                    stack,
                });
            }
            last = last.max(at);
        };
        for event in &self.events {
            until(instant(unit, event.at), &path);
            if event.is_open {
                path.push(event.frame, &file.head.frames, builder);
            } else if !path.close(event.frame) {
                builder.leave_out("ends of frames", || format!("of frame {}", event.frame));
            }
        }
        until(instant(unit, self.end), &path);
    }
}

/// A stretch of one stack.
struct Spent {
    at: u64,
    weight: u64,
    stack: StackId,
}

impl Spent {
    fn untimed(self) -> (StackId, u64) {
        (self.stack, self.weight)
    }

    fn give(self, thread: ThreadId, state: State, is_time: bool, builder: &mut Builder) {
        builder.sample(Row {
            stack: self.stack,
            thread,
            weight: self.weight,
            samples: if is_time { 1 } else { self.weight },
            time: is_time.then_some(self.at),
            state,
        });
    }
}

fn instant(unit: Unit, value: f64) -> u64 {
    let scale = match unit {
        Unit::Time(nanoseconds) => nanoseconds,
        _ => 1.0,
    };
    // A cast saturates.
    ZERO.saturating_add_signed((value * scale).round() as i64)
}

fn event(json: &mut Json<'_>) -> Read<Option<Event>> {
    let (mut is_open, mut frame, mut at) = (None, None, None);
    json.object(|json, key| {
        match key {
            "type" => is_open = json.text()?.map(|kind| kind == "O"),
            "frame" => frame = json.index()?,
            "at" => at = json.number()?,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    let event = is_open.zip(frame).zip(at);
    Ok(event.map(|((is_open, frame), at)| Event { is_open, frame, at }))
}

/// The frames of a stack, the outermost first, with their stacks.
#[derive(Default)]
struct Path {
    frames: Vec<(u32, StackId)>,
    /// The frames beyond the deepest.
    beyond: usize,
}

impl Path {
    fn stack(&self) -> Option<StackId> {
        self.frames.last().map(|&(_, stack)| stack)
    }

    fn push(&mut self, frame: u32, frames: &[LocationId], builder: &mut Builder) {
        if self.frames.len() >= DEEPEST {
            self.beyond += 1;
            return;
        }
        let location = match frames.get(frame as usize) {
            Some(&location) => location,
            None => super::name::unnamed(frame, builder),
        };
        let stack = builder.stack(self.stack(), location);
        self.frames.push((frame, stack));
    }

    /// Closes a frame, and those that were opened in it.
    fn close(&mut self, frame: u32) -> bool {
        if self.beyond > 0 {
            self.beyond -= 1;
            return true;
        }
        let found = self.frames.iter().rposition(|&(open, _)| open == frame);
        if let Some(at) = found {
            self.frames.truncate(at);
        }
        found.is_some()
    }

    /// The stack of a sample. Most begin like the one before.
    fn sample(
        &mut self,
        json: &mut Json<'_>,
        frames: &[LocationId],
        builder: &mut Builder,
    ) -> Read<Option<StackId>> {
        let mut depth = 0;
        json.array(|json| {
            let frame = json.index()?.unwrap_or(u32::MAX);
            match self.frames.get(depth) {
                Some(&(same, _)) if same == frame => {}
                _ => {
                    self.frames.truncate(depth);
                    self.push(frame, frames, builder);
                }
            }
            depth += 1;
            Ok(())
        })?;
        self.frames.truncate(depth);
        Ok(self.stack())
    }
}
