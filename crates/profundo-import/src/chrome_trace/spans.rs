//! Asynchronous stretches, which need not lie in those of a thread, as spans; instants as marks.

use profundo_model::{Mark, Nanos, Span, SpanId, SpanPath, TaskId, ThreadId};
use rustc_hash::FxHashMap;

use super::ZERO;
use super::event::Event;
use crate::Builder;

/// The stretches that are open, the innermost last, by process, category and id.
#[derive(Default)]
pub(super) struct Open {
    rows: FxHashMap<Box<[u8]>, Vec<usize>>,
}

impl Open {
    /// Takes the start (`b`, `S`) or the end (`e`, `F`) of a stretch.
    pub(super) fn event(&mut self, event: &Event<'_>, thread: ThreadId, builder: &mut Builder) {
        /// Deeper ones are not told apart.
        const DEEPEST: usize = 64;
        let Some(time) = event.time else {
            return;
        };
        let key = [event.category.as_bytes(), event.pid, event.id].join(&0);
        let open = self.rows.entry(key.into()).or_default();
        let spans = &mut builder.profile.spans;
        let time = instant(time);
        if matches!(event.kind, b'e' | b'F') {
            match open.pop().and_then(|row| spans.each.get_mut(row)) {
                Some(span) => span.to = Some(Nanos(time)),
                None => builder.leave_out("ends of spans", || event.name.clone().into_owned()),
            }
            return;
        }
        let around = open.last().and_then(|&row| spans.each.get(row)).copied();
        if open.len() >= DEEPEST {
            return;
        }
        let path = SpanPath {
            parent: around.map(|around| around.path),
            name: builder.profile.strings.intern(&event.name),
            attributes: Box::default(),
        };
        open.push(spans.each.len());
        spans.each.push(Span {
            path: spans.paths.intern(path),
            thread,
            task: TaskId::default(),
            number: spans.each.len() as u64 + 1,
            parent: around.map_or(0, |around| around.number),
            from: Nanos(time),
            to: None,
        });
    }

    /// Nothing ends before it begins.
    pub(super) fn finish(self, builder: &mut Builder) {
        for span in &mut builder.profile.spans.each {
            span.to = span.to.map(|to| to.max(span.from));
        }
    }
}

/// An instant.
pub(super) fn mark(event: &Event<'_>, thread: ThreadId, builder: &mut Builder) {
    let Some(time) = event.time else {
        return;
    };
    let name = builder.profile.strings.intern(&event.name);
    builder.profile.spans.marks.push(Mark {
        name,
        time: Nanos(instant(time)),
        thread,
        task: TaskId::default(),
        span: SpanId::default(),
    });
}

fn instant(time: i64) -> u64 {
    ZERO.saturating_add_signed(time)
}
