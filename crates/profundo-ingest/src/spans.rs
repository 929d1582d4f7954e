//! Spans and marks of programs, from their records to rows.
//!
//! A sample names a path by its number in its process. The record of that path may come later, from
//! another thread's chunk. So a sample has a *ticket* while it is held back, in place of the row,
//! and gets the row when it is appended.

use profundo_model::{
    Lengths, Mark, ProcessId, Profile, Span, SpanId, SpanLoss, SpanPath, SpanSum, TaskId, ThreadId,
};
use profundo_wire::{SPAN_SEPARATOR, SpanOwner};
use rustc_hash::FxHashMap;

use crate::clock::Clock;
use crate::threads_and_tasks::PARKED;

/// The limit of spans with a row each. Later ones are added up.
const MOST_SPANS: usize = 1 << 17;
/// The limit of marks.
const MOST_MARKS: usize = 1 << 16;
/// The limit of paths in the profile.
const MOST_PATHS: usize = 1 << 18;
/// The deepest nesting.
const DEEPEST: usize = 1 << 12;

/// The spans of all programs.
#[derive(Debug, Default)]
pub(crate) struct Spans {
    /// Tickets by the key of a process and the number of a path. The first ticket is 1.
    tickets: FxHashMap<(u32, u32), u32>,
    paths: Vec<Path>,
    /// Spans and marks held back until the clock is known.
    held: Vec<(Owner, Held)>,
    /// The rows of sums.
    sums: FxHashMap<(SpanId, ProcessId, Option<ThreadId>), usize>,
    /// The losses of each process so far.
    losses: FxHashMap<u32, SpanLoss>,
}

/// A path as its process knows it.
#[derive(Debug, Default)]
struct Path {
    /// The ticket of the path around it, and its text, once they are known.
    known: Option<(u32, Box<str>)>,
    row: Option<SpanId>,
}

/// The owner of a span or mark.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Owner {
    /// The ticket of its path.
    pub(crate) ticket: u32,
    pub(crate) process: ProcessId,
    pub(crate) thread: ThreadId,
    pub(crate) task: TaskId,
}

/// What is held back.
#[derive(Debug)]
pub(crate) enum Held {
    Span(profundo_wire::Span),
    /// Its figures, and lengths with their counts.
    Sum([u64; 4], Vec<(u64, u64)>),
    Mark(u64, String),
}

impl Spans {
    /// The ticket of a path of a process; 0 outside of spans.
    pub(crate) fn ticket(&mut self, process: u32, path: u32) -> u32 {
        if path == 0 {
            return 0;
        }
        let paths = &mut self.paths;
        *self.tickets.entry((process, path)).or_insert_with(|| {
            paths.push(Path::default());
            u32::try_from(paths.len()).unwrap_or(0)
        })
    }

    /// Takes in the record of a path.
    pub(crate) fn path(&mut self, process: u32, record: &profundo_wire::SpanPath<'_>) {
        let ticket = self.ticket(process, record.number);
        let parent = self.ticket(process, record.parent);
        if let Some(path) = index(ticket).and_then(|at| self.paths.get_mut(at)) {
            path.known
                .get_or_insert_with(|| (parent, record.text().into()));
        }
    }

    /// Holds a span, a sum or a mark back.
    pub(crate) fn hold(&mut self, owner: Owner, held: Held) {
        self.held.push((owner, held));
    }

    /// Takes in what a process has not kept so far.
    pub(crate) fn lose(
        &mut self,
        process: u32,
        loss: profundo_wire::SpanLoss,
        profile: &mut Profile,
    ) {
        let loss = SpanLoss {
            marks: loss.marks,
            attributes: loss.attributes,
            names: loss.names,
        };
        let before = self.losses.insert(process, loss).unwrap_or_default();
        let all = &mut profile.spans.loss;
        let more = |all: &mut u64, before: u64, now: u64| *all += now.saturating_sub(before);
        more(&mut all.marks, before.marks, loss.marks);
        more(&mut all.attributes, before.attributes, loss.attributes);
        more(&mut all.names, before.names, loss.names);
    }

    /// The row of a ticket.
    pub(crate) fn row(&mut self, ticket: u32, profile: &mut Profile) -> SpanId {
        // Outwards to a path with a row, then back.
        let mut missing = Vec::new();
        let mut next = ticket;
        let mut around = None;
        while let Some(at) = index(next)
            && missing.len() < DEEPEST
            && let Some(path) = self.paths.get(at)
        {
            if let Some(row) = path.row {
                around = Some(row);
                break;
            }
            missing.push(at);
            next = path.known.as_ref().map_or(0, |&(parent, _)| parent);
        }
        for at in missing.into_iter().rev() {
            let Some((_, text)) = &self.paths[at].known else {
                // Its record was lost.
                continue;
            };
            let mut parts = text.split(SPAN_SEPARATOR);
            let strings = &mut profile.strings;
            let name = strings.intern(parts.next().unwrap_or_default());
            let mut attributes = Vec::new();
            while let (Some(key), Some(value)) = (parts.next(), parts.next()) {
                attributes.push((strings.intern(key), strings.intern(value)));
            }
            let path = SpanPath {
                parent: around.filter(|around| around.index() > 0),
                name,
                attributes: attributes.into(),
            };
            let paths = &mut profile.spans.paths;
            let row = match paths.len() < MOST_PATHS {
                true => paths.intern(path),
                false => around.unwrap_or_default(),
            };
            self.paths[at].row = Some(row);
            around = Some(row);
        }
        match index(ticket).and_then(|at| self.paths.get(at)) {
            Some(path) => path.row.unwrap_or_default(),
            None => SpanId::default(),
        }
    }

    /// Appends to the profile what was held back, as far as its names are known.
    pub(crate) fn flush_known(&mut self, clock: Clock, profile: &mut Profile) {
        let held = std::mem::take(&mut self.held);
        let (known, later) = (held.into_iter()).partition(|(owner, _)| self.is_named(owner.ticket));
        self.held = known;
        self.flush(clock, u64::MAX, profile);
        self.held = later;
    }

    /// Whether the records of a path and of those around it have come.
    fn is_named(&self, ticket: u32) -> bool {
        let mut next = ticket;
        for _ in 0..DEEPEST {
            let Some(at) = index(next) else {
                return true;
            };
            let known = self.paths.get(at).and_then(|path| path.known.as_ref());
            match known {
                Some(&(parent, _)) => next = parent,
                None => return false,
            }
        }
        true
    }

    /// Appends to the profile what was held back. What is later than `end` was open then.
    pub(crate) fn flush(&mut self, clock: Clock, end: u64, profile: &mut Profile) {
        for (owner, held) in std::mem::take(&mut self.held) {
            let path = self.row(owner.ticket, profile);
            match held {
                Held::Span(span) => self.span(owner, path, span, clock, end, profile),
                Held::Sum(figures, lengths) => {
                    let [count, total, least, most] = figures;
                    let nanos = |cycles: u64| clock.length(cycles.into()).0;
                    let figures = [count, nanos(total), nanos(least), nanos(most)];
                    let lengths = lengths.iter();
                    let around = lengths.map(|&(length, count)| (nanos(length), count));
                    (self.lengths(owner, path, profile)).add_sum(figures, around);
                }
                Held::Mark(at, _) if clock.is_before(at) => {}
                Held::Mark(at, name) => {
                    if profile.spans.marks.len() >= MOST_MARKS {
                        profile.spans.loss.marks += 1;
                        continue;
                    }
                    let mark = Mark {
                        name: profile.strings.intern(&name),
                        time: clock.since_start(at),
                        thread: owner.thread,
                        task: owner.task,
                        span: path,
                    };
                    profile.spans.marks.push(mark);
                }
            }
        }
    }

    fn span(
        &mut self,
        owner: Owner,
        path: SpanId,
        span: profundo_wire::Span,
        clock: Clock,
        end: u64,
        profile: &mut Profile,
    ) {
        let has_ended = span.ended != 0 && span.ended <= end;
        if span.ended != 0 && clock.is_before(span.ended) {
            return;
        }
        if profile.spans.each.len() < MOST_SPANS || !has_ended {
            profile.spans.each.push(Span {
                path,
                thread: owner.thread,
                task: owner.task,
                number: span.number,
                parent: span.parent,
                from: clock.since_start(span.began),
                to: has_ended.then(|| clock.since_start(span.ended)),
            });
            return;
        }
        let cycles = span.ended.saturating_sub(span.began);
        let length = clock.length(cycles.into());
        self.lengths(owner, path, profile).add(length.0);
    }

    /// The lengths of a path on a thread.
    fn lengths<'a>(
        &mut self,
        owner: Owner,
        path: SpanId,
        profile: &'a mut Profile,
    ) -> &'a mut Lengths {
        let is_thread = profile.threads.get(owner.thread).number != PARKED;
        let thread = is_thread.then_some(owner.thread);
        let sums = &mut profile.spans.sums;
        let row = *(self.sums)
            .entry((path, owner.process, thread))
            .or_insert_with(|| {
                sums.push(SpanSum {
                    path,
                    process: owner.process,
                    thread,
                    lengths: Lengths::default(),
                });
                sums.len() - 1
            });
        &mut sums[row].lengths
    }

    /// Drops everything but paths.
    pub(crate) fn clear(&mut self, profile: &mut Profile) {
        self.held.retain(|(_, held)| match held {
            Held::Span(span) => span.ended == 0,
            Held::Sum(..) | Held::Mark(..) => false,
        });
        self.sums.clear();
        let spans = &mut profile.spans;
        spans.each.retain(|span| span.to.is_none());
        spans.sums.clear();
        spans.marks.clear();
        spans.loss = SpanLoss::default();
    }
}

/// The place of a ticket's path.
fn index(ticket: u32) -> Option<usize> {
    (ticket as usize).checked_sub(1)
}

/// The numbers of a sample of this owner, to find its thread and its task.
pub(crate) fn head_of(owner: SpanOwner, task: u64) -> profundo_wire::SampleHead {
    profundo_wire::SampleHead {
        state: profundo_wire::State::Running,
        end: profundo_wire::End::Root,
        frames: 0,
        python: 0,
        python_end: profundo_wire::PythonEnd::Whole,
        gil: profundo_wire::Gil::None,
        clock: 0,
        weight: 0,
        task,
        thread: owner.thread,
        tid: owner.tid,
        span: owner.path,
    }
}
