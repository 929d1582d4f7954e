//! Events with stacks: samples of threads, and allocations.

use profundo_model::{
    Avma, Block, CodeAddress, LocationKind, Nanos, Reason, Sampling, StackId, State, ThreadId,
};
use rustc_hash::FxHashMap;

use super::Trace;
use super::events::Event;
use super::kinds::{Kind, text};
use super::names::Names;
use crate::encoding::cursor::Cursor;
use crate::{Builder, Row};

/// The most frames of a stack.
const DEEPEST: usize = 4096;

/// What the events have given so far.
#[derive(Debug)]
pub(super) struct Samples<'a> {
    trace: Trace,
    names: Names,
    chosen: Option<Kind>,
    /// Whether threads have a table of their own.
    is_plain: bool,
    /// The addresses of each stack, the innermost first.
    stacks: FxHashMap<u32, &'a [u8]>,
    known: FxHashMap<(u32, u32), StackId>,
    threads: FxHashMap<u64, (u32, ThreadId)>,
    rows: Vec<Row>,
}

impl<'a> Samples<'a> {
    pub(super) fn new(trace: Trace, names: Names, chosen: Option<Kind>, is_plain: bool) -> Self {
        Self {
            trace,
            names,
            chosen,
            is_plain,
            stacks: FxHashMap::default(),
            known: FxHashMap::default(),
            threads: FxHashMap::default(),
            rows: Vec::new(),
        }
    }

    /// Takes in a block of stacks.
    pub(super) fn stacks(&mut self, block: &'a [u8]) -> Option<()> {
        let mut cursor = Cursor::new(block);
        let first = cursor.u32()?;
        let count = cursor.u32()?;
        for index in 0..count {
            let size = cursor.u32()? as usize;
            let stack = cursor.take(size)?;
            self.stacks.insert(first.wrapping_add(index), stack);
        }
        Some(())
    }

    pub(super) fn forget_stacks(&mut self) {
        self.stacks.clear();
        self.known.clear();
    }

    /// Takes in a block of threads.
    pub(super) fn threads(&mut self, builder: &mut Builder, block: &[u8]) -> Option<()> {
        let mut cursor = Cursor::new(block);
        while cursor.left() > 0 {
            let size = cursor.u16()?;
            let mut row = Cursor::new(cursor.take(usize::from(size))?);
            let index = row.leb128()?;
            let (mut name, mut pid, mut tid) = (String::new(), self.trace.pid, index | 1 << 32);
            while row.left() > 0 {
                match row.byte()? {
                    1 => name = text(&mut row)?,
                    2 => pid = row.leb128_u32()?,
                    3 => tid = row.leb128()?,
                    4 => {
                        text(&mut row)?;
                        text(&mut row)?;
                    }
                    _ => break,
                }
            }
            let thread = builder.thread(pid, tid, &name);
            self.threads.insert(index, (pid, thread));
        }
        Some(())
    }

    fn thread(&mut self, builder: &mut Builder, event: &Event<'_>) -> (u32, ThreadId) {
        let pid = self.trace.pid;
        match self.is_plain {
            true => match self.threads.get(&event.thread) {
                Some(&known) => known,
                None => (pid, builder.thread(pid, event.thread | 1 << 32, "")),
            },
            false => (pid, builder.thread(pid, event.thread, "")),
        }
    }

    fn stack(&mut self, builder: &mut Builder, pid: u32, number: u32) -> StackId {
        if let Some(&known) = self.known.get(&(pid, number)) {
            return known;
        }
        let bytes = self.stacks.get(&number).copied().unwrap_or_default();
        let width = self.trace.pointer.max(4);
        // Deeper ones are cut at their root.
        let bytes = bytes.get(..width * DEEPEST).unwrap_or(bytes);
        let mut stack = None;
        for (index, address) in bytes.chunks_exact(width).enumerate().rev() {
            let add = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
            let address = Avma(address.iter().rev().fold(0, add));
            let address = match index {
                0 => CodeAddress::Instruction(address),
                _ => CodeAddress::Return(address),
            };
            let location = self.names.location(builder, pid, address);
            stack = Some(builder.stack(stack, location));
        }
        let stack = stack.unwrap_or_else(|| {
            let kind = LocationKind::Reason(Reason::Broken);
            let location = builder.profile.locations.intern(kind, None);
            builder.profile.name_reasons();
            builder.stack(None, location)
        });
        self.known.insert((pid, number), stack);
        stack
    }

    /// Takes in an event.
    pub(super) fn event(&mut self, builder: &mut Builder, kind: Kind, event: &Event<'_>) {
        let is_allocation = kind == Kind::Allocation;
        if !is_allocation && self.chosen != Some(kind) {
            return;
        }
        let (pid, thread) = self.thread(builder, event);
        let stack = self.stack(builder, pid, event.stack);
        let time = self.trace.time(event.time);
        let mut cursor = Cursor::new(event.payload);
        if is_allocation {
            return self.allocation(builder, cursor, (thread, stack, time));
        }
        let (weight, state) = match kind {
            // 1: native code, running or waiting; 2: managed code.
            Kind::ThreadSample => match cursor.u32() {
                Some(1) => (0, State::WallWaiting),
                _ => (0, State::WallRunning),
            },
            Kind::Switch => {
                let ticks = cursor.leb128().unwrap_or(0);
                (self.trace.length(ticks), State::WallWaiting)
            }
            _ => (cursor.leb128().unwrap_or(1), State::Running),
        };
        self.rows.push(Row {
            stack,
            thread,
            weight,
            samples: 1,
            time: Some(time),
            state,
        });
    }

    fn allocation(
        &self,
        builder: &mut Builder,
        mut cursor: Cursor<'_>,
        (thread, stack, time): (ThreadId, StackId, u64),
    ) {
        let mut read = || {
            let short = u64::from(cursor.u32()?);
            // The kind, the number of the runtime.
            let long = cursor.take(6).and_then(|_| cursor.u64());
            // The type's number.
            let name = (cursor.take(self.trace.pointer)).and_then(|_| cursor.utf16_until_zero());
            Some((long.unwrap_or(short), name.unwrap_or_default()))
        };
        let Some((size, name)) = read() else {
            return;
        };
        let type_name = builder.profile.strings.intern(&name);
        let heap = &mut builder.profile.heap;
        heap.sampling = Sampling::All;
        heap.blocks.push(Block {
            time: Nanos(time),
            freed: Some(Nanos(time)),
            size,
            thread,
            stack,
            type_name,
            ..Block::default()
        });
    }

    /// Completes the profile.
    pub(super) fn finish(mut self, builder: &mut Builder) {
        if self.chosen == Some(Kind::ThreadSample) {
            self.weigh();
            builder.note(
                "the runtime samples managed threads, whether they run or wait; threads in native \
                 code count as waiting, because the file does not say what they do there",
            );
        }
        let times = self.rows.iter().map(|row| row.time.unwrap_or(0));
        let heap = &mut builder.profile.heap;
        let blocks = heap.blocks.iter().map(|block| block.time.0);
        let start = times.min().or(blocks.min()).unwrap_or(0);
        for block in &mut heap.blocks {
            block.time.0 = block.time.0.saturating_sub(start);
            block.freed = Some(block.time);
        }
        if !heap.blocks.is_empty() {
            builder.note(
                "allocations are samples: each stands for all bytes allocated since the one before, \
                 and it is not known when they were freed",
            );
        }
        builder.profile.meta.started_at_unix = self.trace.start.saturating_add(start);
        builder.note("the format has no lines and no names of native code");
        self.rows.into_iter().for_each(|row| builder.sample(row));
    }

    /// A sample stands for the time until the next one of its thread, the last one for the usual
    /// time.
    fn weigh(&mut self) {
        self.rows.sort_by_key(|row| row.time);
        let mut next: FxHashMap<ThreadId, u64> = FxHashMap::default();
        let mut gaps = Vec::new();
        for row in self.rows.iter_mut().rev() {
            let time = row.time.unwrap_or(0);
            if let Some(later) = next.insert(row.thread, time) {
                row.weight = later - time;
                gaps.push(row.weight);
            }
        }
        let middle = gaps.len() / 2;
        let usual = match gaps.is_empty() {
            true => self.trace.period.max(1),
            false => *gaps.select_nth_unstable(middle).1,
        };
        let ends = self.rows.iter_mut().rev();
        let mut seen: FxHashMap<ThreadId, ()> = FxHashMap::default();
        for row in ends {
            if seen.insert(row.thread, ()).is_none() {
                row.weight = usual;
            }
        }
    }
}
