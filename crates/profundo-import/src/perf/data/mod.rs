//! `perf.data`, as `perf record` writes it: a file, or a pipe that was kept; packed with zstd or
//! not; of machines of either byte order.
//!
//! Its samples have addresses. Those in files stay addresses, in modules with build ids. The tops
//! of stacks that `--call-graph dwarf` copies are walked by the files of this machine.

mod attr;
mod bytes;
mod elf;
mod head;
mod names;
mod program_files;
mod records;
mod spaces;
mod stacks;
mod unwind;

use profundo_model::{Nanos, ProcessId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::event::{Events, Sampled};
use crate::reader::{Reader, Table};
use crate::{Builder, Error, Source, Warning};
use bytes::Bytes;
use head::Head;
use records::{Record, Records, kind};
use spaces::Mapped;
use stacks::Stacks;
use unwind::Programs;

pub(crate) const READER: Reader = Reader(&Table {
    name: "perf.data",
    writers: "`perf record`",
    is_start: head::is_start,
    fill,
});

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    let file = source.bytes;
    let malformed = |what: &str| Error::Malformed {
        format: READER.name(),
        what: what.to_owned(),
    };
    let mut head = Head::read(file).ok_or_else(|| malformed("it has no head"))?;
    if let Some(what) = head.damage {
        builder.warn(Warning::Damaged {
            offset: 0,
            what: what.to_owned(),
        });
    }
    let records = Records::find(file, &mut head, builder);
    if head.attrs.is_empty() {
        return Err(malformed("it has no events"));
    }
    let programs = Programs::new();
    let mut reading = Reading::new(&head, &programs, source);
    for (time, record) in records.iter(file, head.is_big) {
        reading.record(builder, time, record);
    }
    reading.finish(builder, source.options.value.as_deref())
}

/// The life of a process.
#[derive(Debug, Clone, Copy, Default)]
struct Life {
    parent: Option<u32>,
    start: Option<u64>,
    end: Option<u64>,
}

/// A file being read.
struct Reading<'a> {
    head: &'a Head,
    stacks: Stacks<'a>,
    events: Events,
    /// The number of each event in `events`.
    event_ids: Vec<u16>,
    lives: FxHashMap<u32, Life>,
    /// The processes by their first program's name.
    commands: Vec<(u32, String)>,
}

impl<'a> Reading<'a> {
    fn new(head: &'a Head, programs: &'a Programs, source: &Source<'_>) -> Self {
        let mut events = Events::default();
        let name = |attr: &attr::Attr| {
            let name = attr.name();
            if let Some(interval) = attr.interval {
                events.set_interval(&name, interval);
            }
            events.id(name.as_bytes())
        };
        let event_ids = head.attrs.iter().map(name).collect();
        Self {
            head,
            stacks: Stacks::new(head, programs, source.path),
            events,
            event_ids,
            lives: FxHashMap::default(),
            commands: Vec::new(),
        }
    }

    fn record(&mut self, builder: &mut Builder, time: u64, record: Record<'_>) {
        let body = Bytes::new(record.body, self.head.is_big);
        let is_read = match record.kind {
            kind::SAMPLE => self.sample(builder, record, body),
            kind::MMAP => self.map(builder, record, body, false),
            kind::MMAP2 => self.map(builder, record, body, true),
            kind::COMM => self.name(builder, record, body),
            kind::FORK => self.fork(builder, time, body),
            kind::EXIT => self.exit(time, body),
            kind::LOST => lost(builder, body, 8),
            kind::LOST_SAMPLES => lost(builder, body, 0),
            _ => Some(()),
        };
        if is_read.is_none() {
            builder.leave_out("records", || format!("one of kind {}", record.kind));
        }
    }

    fn sample(&mut self, builder: &mut Builder, record: Record<'_>, body: Bytes<'_>) -> Option<()> {
        let (index, attr) = self.head.attr_of(body)?;
        let fields = attr.fields(body)?;
        let thread = self.stacks.thread(builder, fields.pid, fields.tid);
        let (stack, state) = (self.stacks).of(builder, thread, attr, &fields, record.misc);
        self.events.push(Sampled {
            event: *self.event_ids.get(index)?,
            period: fields.period,
            samples: 1,
            time: fields.time,
            stack,
            thread,
            state,
        });
        Some(())
    }

    fn map(
        &mut self,
        builder: &mut Builder,
        record: Record<'_>,
        mut body: Bytes<'_>,
        is_new: bool,
    ) -> Option<()> {
        const IS_DATA: u16 = 1 << 13;
        const HAS_BUILD_ID: u16 = 1 << 14;
        const EXECUTE: u32 = 4;
        let (pid, _) = (body.u32()?, body.u32()?);
        let (start, size, offset) = (body.u64()?, body.u64()?, body.u64()?);
        let mut build_id: &[u8] = &[];
        if is_new {
            let place = body.take(24)?;
            if record.misc & HAS_BUILD_ID != 0 {
                let size = usize::from(*place.first()?).min(20);
                build_id = place.get(4..4 + size)?;
            }
            let protection = body.u32()?;
            body.skip(4)?;
            if protection & EXECUTE == 0 {
                return Some(());
            }
        } else if record.misc & IS_DATA != 0 {
            return Some(());
        }
        let path = body.text();
        if pid == u32::MAX || stacks::is_kernel(record.misc) {
            self.stacks.mark_kernel(path, offset);
            return Some(());
        }
        if build_id.is_empty() {
            build_id = self.head.build_ids.get(path).map_or(&[], |id| &id[..]);
        }
        let mapped = Mapped {
            start,
            size,
            offset,
            path,
            build_id,
        };
        self.stacks.spaces.map(builder, pid, &mapped);
        Some(())
    }

    fn name(
        &mut self,
        builder: &mut Builder,
        record: Record<'_>,
        mut body: Bytes<'_>,
    ) -> Option<()> {
        const IS_EXEC: u16 = 1 << 13;
        let (pid, tid) = (body.u32()?, body.u32()?);
        let name = String::from_utf8_lossy(body.text());
        self.stacks.name_thread(builder, pid, tid, &name);
        if pid == tid {
            self.commands.push((pid, name.into_owned()));
        }
        if record.misc & IS_EXEC != 0 {
            self.stacks.spaces.clear(pid);
        }
        Some(())
    }

    fn fork(&mut self, builder: &mut Builder, time: u64, mut body: Bytes<'_>) -> Option<()> {
        let (pid, parent, tid, parent_tid) = (body.u32()?, body.u32()?, body.u32()?, body.u32()?);
        self.stacks
            .inherit_name(builder, (parent, parent_tid), (pid, tid));
        if pid != parent {
            self.stacks.spaces.fork(parent, pid);
            // Those that ran already were made up at time 0.
            if time > 0 {
                let life = self.lives.entry(pid).or_default();
                (life.parent, life.start) = (Some(parent), Some(time));
            }
        }
        Some(())
    }

    fn exit(&mut self, time: u64, mut body: Bytes<'_>) -> Option<()> {
        let (pid, _, tid) = (body.u32()?, body.u32()?, body.u32()?);
        if pid == tid {
            self.lives.entry(pid).or_default().end = Some(time);
        }
        Some(())
    }

    fn finish(mut self, builder: &mut Builder, wanted: Option<&str>) -> Result<(), Error> {
        self.name_processes(builder);
        let first = std::mem::take(&mut self.events).finish(builder, wanted)?;
        let first = first.unwrap_or(0);
        self.give_lives(builder, first);
        let meta = &mut builder.profile.meta;
        if let Some((wall, clock)) = self.head.clock {
            meta.started_at_unix = (wall.wrapping_add(first)).wrapping_sub(clock);
        }
        if self.head.machine != Default::default() {
            meta.machine = Some(self.head.machine.clone());
        }
        self.stacks.note_cuts(builder);
        let has_stacks = |attr: &attr::Attr| attr.has_chains() || attr.has_stack_memory();
        if !self.head.attrs.iter().any(has_stacks) {
            builder.note("the recording has no stacks (`perf record -g` records them)");
        }
        if self.stacks.has_unnamed_kernel {
            builder.note(
                "functions of the kernel have no names: the kernel that runs is another one, or its \
                 table of names may not be read",
            );
        }
        Ok(())
    }

    /// Gives processes with samples their parents, starts and ends.
    fn give_lives(&self, builder: &mut Builder, first: u64) {
        let processes = &mut builder.profile.processes;
        let ids = (0..).map(ProcessId);
        let known: FxHashMap<u32, ProcessId> = processes.iter().map(|it| it.pid).zip(ids).collect();
        let since = |time: u64| Nanos(time.saturating_sub(first));
        for process in processes {
            let life = self.lives.get(&process.pid).copied().unwrap_or_default();
            process.parent = life.parent.and_then(|pid| known.get(&pid).copied());
            process.started = life.start.map(since);
            process.ended = life.end.map(since);
        }
    }

    /// Names the processes by their last program, and the recorded one by its whole command.
    fn name_processes(&mut self, builder: &mut Builder) {
        let processes = builder.profile.processes.iter();
        let sampled: FxHashSet<u32> = processes.map(|it| it.pid).collect();
        let words = self.head.command.get(1..).unwrap_or_default();
        for (pid, name) in self.commands.drain(..) {
            if !sampled.contains(&pid) {
                continue;
            }
            let start = words.iter().position(|word| super::is_of(word, &name));
            let command = start.filter(|&at| at > 0).map(|at| words[at..].join(" "));
            builder.process(pid, command.as_deref().unwrap_or(&name));
        }
    }
}

/// Counts lost samples, whose number stands at an offset.
fn lost(builder: &mut Builder, mut body: Bytes<'_>, at: usize) -> Option<()> {
    body.skip(at)?;
    let many = body.u64()?;
    let loss = &mut builder.profile.meta.loss;
    loss.buffer_full = loss.buffer_full.saturating_add(many);
    Some(())
}
