//! Samples beside the events of a trace, with frames that name their callers: those of Hermes, the
//! engine of React Native. A sample stands for the time until the next one of its thread.

use profundo_model::{LocationId, StackId, State, ThreadId};
use rustc_hash::FxHashMap;

use super::ZERO;
use crate::encoding::json::{Json, Read};
use crate::{Builder, Named, Row};

/// The most frames of a stack. Deeper ones are cut at their root's end.
const DEEPEST: usize = 4096;

/// A frame and its caller.
struct Frame {
    location: LocationId,
    parent: Option<Box<[u8]>>,
}

/// The samples as far as they were read.
#[derive(Default)]
pub(super) struct Sampled {
    frames: FxHashMap<Box<[u8]>, Frame>,
    /// Thread, time and frame.
    rows: Vec<(ThreadId, i64, Box<[u8]>)>,
}

impl Sampled {
    pub(super) fn is_any(&self) -> bool {
        !self.rows.is_empty()
    }

    /// Takes a sample of this thread and time: the value of its `sf`.
    pub(super) fn sample(&mut self, thread: ThreadId, time: i64, frame: &[u8]) {
        self.rows.push((thread, time, unquoted(frame).into()));
    }

    /// Reads the object of all frames.
    pub(super) fn frames(&mut self, json: &mut Json<'_>, builder: &mut Builder) -> Read<()> {
        json.object(|json, key| {
            let (mut name, mut parent, mut line) = (None, None, None);
            json.object(|json, key| {
                match key {
                    "name" => name = json.text()?,
                    "parent" => parent = Some(unquoted(json.raw()?).into()),
                    "line" => line = json.index()?,
                    _ => json.skip()?,
                }
                Ok(())
            })?;
            let name = name.unwrap_or_default();
            let (function, file, line_in_name) = place(&name).unwrap_or((&name, "", 0));
            let location = builder.location(Named {
                function,
                file,
                line: line.unwrap_or(line_in_name),
                ..Named::default()
            });
            self.frames
                .insert(key.as_bytes().into(), Frame { location, parent });
            Ok(())
        })
    }

    pub(super) fn give(mut self, builder: &mut Builder) {
        self.rows.sort_by_key(|&(thread, time, _)| (thread, time));
        let mut stacks: FxHashMap<&[u8], Option<StackId>> = FxHashMap::default();
        for (row, (thread, time, frame)) in self.rows.iter().enumerate() {
            let until = match self.rows.get(row + 1) {
                Some((next, until, _)) if next == thread => *until,
                _ => *time,
            };
            let stack = (stacks.entry(frame))
                .or_insert_with(|| builder.stack_of(self.locations(frame).into_iter().rev()));
            if let Some(stack) = *stack {
                builder.sample(Row {
                    stack,
                    thread: *thread,
                    weight: until.abs_diff(*time),
                    samples: 1,
                    time: Some(ZERO.saturating_add_signed(*time)),
                    state: State::WallRunning,
                });
            }
        }
    }

    /// The frames of a stack, the innermost first. A frame may be its own caller in a bad file.
    fn locations(&self, frame: &[u8]) -> Vec<LocationId> {
        let next = |frame: &&Frame| self.frames.get(frame.parent.as_deref()?);
        let frames = std::iter::successors(self.frames.get(frame), next);
        frames.map(|frame| frame.location).take(DEEPEST).collect()
    }
}

fn unquoted(raw: &[u8]) -> &[u8] {
    let text = raw
        .strip_prefix(b"\"")
        .and_then(|raw| raw.strip_suffix(b"\""));
    text.unwrap_or(raw)
}

/// `f(http://host/a.js:12:3)`.
fn place(name: &str) -> Option<(&str, &str, u32)> {
    let (function, place) = name.strip_suffix(')')?.split_once('(')?;
    let (place, _column) = place.rsplit_once(':')?;
    let (file, line) = place.rsplit_once(':')?;
    Some((function, file, line.parse().ok()?))
}
