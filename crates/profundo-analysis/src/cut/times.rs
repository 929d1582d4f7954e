//! The time of a part. It begins where the filter says, and ends there.
//!
//! A span that began before the part keeps its length, so it is known as a sum from then on.

use profundo_model::{Lengths, Nanos, ProcessEnd, Profile, SpanSum};

use crate::Filter;

/// Begins the time of a profile at an instant of it. What came before it has its place there.
pub fn begin_at(profile: &mut Profile, from: Nanos) {
    add_up_earlier(profile, from);
    shift(profile, from);
    let meta = &mut profile.meta;
    if meta.started_at_unix > 0 {
        meta.started_at_unix = meta.started_at_unix.saturating_add(from.0);
    }
}

/// Begins the time of a profile with the part that passes, and ends it there.
pub(super) fn begin(profile: &mut Profile, filter: &Filter) {
    if filter.from.is_none() && filter.to.is_none() {
        return;
    }
    let last = profile.samples.iter().map(|sample| sample.time).max();
    // The duration is without pauses.
    let end = profile.meta.duration.max(last.unwrap_or_default());
    let from = filter.from.unwrap_or_default().min(end);
    let to = filter.to.map_or(end, |to| to.min(end));
    let duration = Nanos(to.0.saturating_sub(from.0));
    add_up_earlier(profile, from);
    shift(profile, from);
    let meta = &mut profile.meta;
    meta.duration = duration;
    if meta.started_at_unix > 0 {
        meta.started_at_unix = meta.started_at_unix.saturating_add(from.0);
    }
    if let Some(machine) = &mut meta.machine {
        // It is the CPU time of the whole recording.
        machine.others = None;
    }
    for process in &mut profile.processes {
        // It goes on behind the part: what it frees last is not freed because it ends.
        if process.ended.is_some_and(|ended| ended > duration) {
            (process.ended, process.end) = (Some(duration), ProcessEnd::Unknown);
        }
    }
    for origin in &mut profile.origins {
        origin.duration = origin.duration.min(duration);
        if origin.started_at_unix > 0 {
            origin.started_at_unix = origin.started_at_unix.saturating_add(from.0);
        }
    }
    let ids: Vec<_> = profile.threads.iter().map(|(id, _)| id).collect();
    for id in ids {
        let thread = profile.threads.get_mut(id);
        thread.alive = thread.alive.map(|alive| alive.min(duration));
    }
}

/// Adds up the spans that began earlier and have ended.
fn add_up_earlier(profile: &mut Profile, from: Nanos) {
    let spans = &mut profile.spans;
    let (threads, sums) = (&profile.threads, &mut spans.sums);
    spans.each.retain(|span| {
        let Some(length) = span.length().filter(|_| span.from < from) else {
            return true;
        };
        let mut lengths = Lengths::default();
        lengths.add(length);
        sums.push(SpanSum {
            path: span.path,
            process: threads.get(span.thread).process,
            thread: Some(span.thread),
            lengths,
        });
        false
    });
}

/// Moves everything that has a time.
fn shift(profile: &mut Profile, from: Nanos) {
    let moved = |time: &mut Nanos| *time = Nanos(time.0.saturating_sub(from.0));
    let may_be = |time: &mut Option<Nanos>| time.iter_mut().for_each(moved);
    (profile.samples.iter_mut()).for_each(|row| moved(&mut row.time));
    for row in &mut profile.traffic {
        moved(&mut row.from);
        moved(&mut row.to);
    }
    for row in &mut profile.syscalls {
        moved(&mut row.from);
        moved(&mut row.to);
    }
    let heap = &mut profile.heap;
    for block in &mut heap.blocks {
        moved(&mut block.time);
        may_be(&mut block.freed);
    }
    heap.copies.iter_mut().for_each(|row| moved(&mut row.time));
    heap.moments.iter_mut().for_each(|row| moved(&mut row.time));
    heap.gauges.iter_mut().for_each(|row| moved(&mut row.time));
    let spans = &mut profile.spans;
    for span in &mut spans.each {
        moved(&mut span.from);
        may_be(&mut span.to);
    }
    spans.marks.iter_mut().for_each(|row| moved(&mut row.time));
    for process in &mut profile.processes {
        may_be(&mut process.started);
        may_be(&mut process.ended);
    }
    for origin in &mut profile.origins {
        moved(&mut origin.begins);
    }
}
