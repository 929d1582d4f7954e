//! The samples. A record has a thread u64, its interpreter u32 and a kind: 0 the stack of the
//! thread's previous sample again, so many times; 1 a whole stack; 2 a stack that keeps so many
//! frames of the previous one; 3 one that lacks so many. Frames are written innermost first.

use profundo_model::{Gil, LocationId, Reason, SampleKind, StackId, State, ThreadId};
use rustc_hash::FxHashMap;

use super::{Bytes, tables, varint};
use crate::{Builder, Row};

/// The bits of a thread's status.
mod status {
    pub(super) const HAS_LOCK: u8 = 1;
    pub(super) const ON_CPU: u8 = 2;
    pub(super) const UNKNOWN: u8 = 4;
    pub(super) const WANTS_LOCK: u8 = 8;
}

/// The most frames of a stack. Deeper ones are cut at their leaf's end.
const DEEPEST: usize = 4096;

/// A thread so far.
#[derive(Debug, Default)]
struct Thread {
    id: ThreadId,
    /// Microseconds since the start of the recording.
    time: u64,
    /// The stack at each depth, the outermost first. Frames of the profiler are left out of it.
    stack: Vec<Option<StackId>>,
}

/// The samples so far.
#[derive(Debug)]
pub(super) struct Samples {
    frames: Vec<Option<LocationId>>,
    kind: SampleKind,
    has_states: bool,
    interval: u64,
    threads: FxHashMap<(u64, u32), Thread>,
}

impl Samples {
    pub(super) fn new(
        frames: Vec<Option<LocationId>>,
        kind: SampleKind,
        has_states: bool,
        interval: u64,
    ) -> Self {
        Self {
            frames,
            kind,
            has_states,
            interval,
            threads: FxHashMap::default(),
        }
    }

    /// Reads all records. An error is the place of one that is cut or damaged.
    pub(super) fn read(
        &mut self,
        builder: &mut Builder,
        order: &Bytes<'_>,
        bytes: &[u8],
    ) -> Result<(), usize> {
        let mut at = 0;
        while at < bytes.len() {
            let start = at;
            self.record(builder, order, bytes, &mut at).ok_or(start)?;
        }
        Ok(())
    }

    fn record(
        &mut self,
        builder: &mut Builder,
        order: &Bytes<'_>,
        bytes: &[u8],
        at: &mut usize,
    ) -> Option<()> {
        let rest = bytes.get(*at..)?;
        let number = order.u64_of(*rest.first_chunk()?);
        let interpreter = order.u32_of(*rest.get(8..)?.first_chunk()?);
        let kind = *rest.get(12)?;
        *at += 13;
        let mut thread = self
            .threads
            .remove(&(number, interpreter))
            .unwrap_or_else(|| {
                let name = match interpreter {
                    0 => String::new(),
                    _ => format!("interpreter {interpreter}"),
                };
                // Threads of several interpreters may have one number.
                let key = number ^ u64::from(interpreter) << 40;
                Thread {
                    id: builder.thread(0, key, &name),
                    ..Thread::default()
                }
            });
        let read = self.samples(builder, &mut thread, kind, bytes, at);
        self.threads.insert((number, interpreter), thread);
        read
    }

    fn samples(
        &self,
        builder: &mut Builder,
        thread: &mut Thread,
        kind: u8,
        bytes: &[u8],
        at: &mut usize,
    ) -> Option<()> {
        if kind == 0 {
            // Each takes two bytes, so the end of the file ends this.
            for _ in 0..varint(bytes, at)? {
                let status = Self::time(thread, bytes, at)?;
                self.sample(builder, thread, status);
            }
            return Some(());
        }
        let status = Self::time(thread, bytes, at)?;
        let depth = thread.stack.len();
        let number = |at: &mut usize| {
            let number = varint(bytes, at)?;
            Some(usize::try_from(number).unwrap_or(usize::MAX))
        };
        let kept = match kind {
            1 => 0,
            2 => number(at)?,
            3 => depth.saturating_sub(number(at)?),
            _ => return None,
        };
        let added = number(at)?;
        if added > bytes.len().saturating_sub(*at) {
            return None;
        }
        let mut frames = Vec::with_capacity(added);
        for _ in 0..added {
            let frame = number(at)?;
            frames.push(self.frames.get(frame).copied());
        }
        thread.stack.truncate(kept);
        for frame in frames
            .into_iter()
            .rev()
            .take(DEEPEST.saturating_sub(thread.stack.len()))
        {
            let unnamed = || Some(tables::mark(builder, Reason::PythonUnnamed));
            let location = frame.unwrap_or_else(unnamed);
            let parent = thread.stack.last().copied().flatten();
            let stack = location.map(|location| builder.stack(parent, location));
            thread.stack.push(stack.or(parent));
        }
        self.sample(builder, thread, status);
        Some(())
    }

    /// Takes in the time of a sample. Its status follows.
    fn time(thread: &mut Thread, bytes: &[u8], at: &mut usize) -> Option<u8> {
        let more = varint(bytes, at)?;
        let status = *bytes.get(*at)?;
        *at += 1;
        thread.time = thread.time.saturating_add(more);
        Some(status)
    }

    fn sample(&self, builder: &mut Builder, thread: &Thread, status: u8) {
        let Some(&Some(stack)) = thread.stack.last() else {
            // A thread that runs no Python.
            return;
        };
        let is = |bit: u8| status & bit != 0;
        let state = match self.kind {
            SampleKind::Cpu => State::Running,
            _ if self.has_states && !is(status::UNKNOWN) && !is(status::ON_CPU) => {
                State::WallWaiting
            }
            _ => State::WallRunning,
        };
        builder.sample(Row {
            stack,
            thread: thread.id,
            weight: self.interval,
            samples: 1,
            time: Some(thread.time.saturating_mul(1000)),
            state,
        });
        let gil = match () {
            () if is(status::HAS_LOCK) => Gil::Held,
            () if is(status::WANTS_LOCK) => Gil::Waiting,
            () => Gil::None,
        };
        if let Some(sample) = builder.profile.samples.last_mut() {
            sample.gil = gil;
        }
    }
}
