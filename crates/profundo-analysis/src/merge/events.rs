//! What an input recorded: samples, traffic, allocations, spans, traced calls, lines
//! and exceptions. The rows are appended, with the ids and the times of the merged profile.

use profundo_model::{
    Block, Call, Copied, ExceptionEnd, Exceptions, Gathered, Line, Many, Mark, Moment, Nanos,
    Profile, Sample, Site, Span, SpanId, SpanSum, StringId, SyscallCount, Taken, TaskId, Traffic,
};

use super::Rows;
use crate::gathered::merged_of_row;
use crate::weights::{Squares, weight_of};

/// Adds the events of an input. `sites` is the number of sites so far.
pub(super) fn add(profile: &mut Profile, input: &Profile, rows: &Rows, sites: &mut usize) {
    add_samples(profile, input, rows);
    let traffic = input.traffic.iter().map(|row| Traffic {
        thread: rows.thread(row.thread),
        from: rows.time(row.from),
        to: rows.time(row.to),
        ..*row
    });
    profile.traffic.extend(traffic);
    let syscalls = input.syscalls.iter().map(|row| SyscallCount {
        thread: rows.thread(row.thread),
        from: rows.time(row.from),
        to: rows.time(row.to),
        call: rows.maps.strings[row.call.index()],
        stack: row.stack.map(|stack| rows.maps.stacks[stack.index()]),
        ..*row
    });
    profile.syscalls.extend(syscalls);
    add_heap(profile, input, rows, sites);
    add_spans(profile, input, rows);
    let calls = input.traced.calls.iter().map(|call| Call {
        thread: rows.thread(call.thread),
        stack: rows.maps.stacks[call.stack.index()],
        ..*call
    });
    profile.traced.calls.extend(calls);
    let lines = input.traced.lines.iter().map(|line| Line {
        process: rows.process(line.process),
        frame: rows.maps.frames[line.frame.index()],
        ..*line
    });
    profile.traced.lines.extend(lines);
    let exceptions = input.traced.exceptions.iter().map(|row| Exceptions {
        process: rows.process(row.process),
        of_type: rows.maps.strings[row.of_type.index()],
        raised: rows.maps.frames[row.raised.index()],
        end: match row.end {
            ExceptionEnd::Caught(frame) => ExceptionEnd::Caught(rows.maps.frames[frame.index()]),
            end => end,
        },
        ..*row
    });
    profile.traced.exceptions.extend(exceptions);
}

fn add_samples(profile: &mut Profile, input: &Profile, rows: &Rows) {
    let before = profile.samples.len();
    if input.gathered.is_any() || profile.gathered.is_any() {
        gather(profile, input, rows, before);
    }
    let text = |id: StringId| rows.maps.strings[id.index()];
    profile.samples.reserve(input.samples.len());
    let samples = input.samples.iter().map(|sample| Sample {
        time: rows.time(sample.time),
        thread: rows.thread(sample.thread),
        task: rows.task(sample.task),
        stack: rows.maps.stacks[sample.stack.index()],
        file: text(sample.file),
        span: rows.maps.spans[sample.span.index()],
        ..*sample
    });
    profile.samples.extend(samples);
}

/// Adds the samples behind merged rows. Where one input has such rows, all rows get theirs.
fn gather(profile: &mut Profile, input: &Profile, rows: &Rows, before: usize) {
    if profile.gathered.rows.len() < before {
        let squares = Squares::new(profile);
        let many: Vec<Many> = (0..before)
            .map(|row| alone(profile, row, squares))
            .collect();
        profile.gathered.rows = many;
        take_all(&mut profile.gathered, &profile.samples, 0, Nanos(0));
    }
    if !input.gathered.is_any() {
        let squares = Squares::new(input);
        let many = (0..input.samples.len()).map(|row| Many {
            last: rows.time(input.samples[row].time),
            ..alone(input, row, squares)
        });
        profile.gathered.rows.extend(many);
        take_all(&mut profile.gathered, &input.samples, before, rows.begins);
        return;
    }
    let many = input.gathered.rows.iter().map(|many| Many {
        last: rows.time(many.last),
        ..*many
    });
    profile.gathered.rows.extend(many);
    let offset = profile.gathered.taken.len();
    let taken = input.gathered.taken.iter().map(|taken| Taken {
        row: super::id(before) + taken.row,
        time: rows.time(taken.time),
        ..*taken
    });
    profile.gathered.taken.extend(taken);
    let ends = input.gathered.ends.iter().map(|end| offset + end);
    profile.gathered.ends.extend(ends);
}

/// A row that is one sample.
fn alone(profile: &Profile, row: usize, squares: Squares) -> Many {
    let sample = &profile.samples[row];
    let weight = weight_of(profile, sample);
    Many {
        samples: 1,
        count: profile.count_of(sample),
        squares: squares.of_row(profile, row, sample),
        merged: merged_of_row(profile, row, sample, weight),
        last: sample.time,
    }
}

/// Adds samples as a stretch in which none is missing.
fn take_all(gathered: &mut Gathered, samples: &[Sample], first: usize, begins: Nanos) {
    if samples.is_empty() {
        return;
    }
    let taken = (first..).zip(samples).map(|(row, sample)| Taken {
        row: super::id(row),
        time: Nanos(sample.time.0.saturating_add(begins.0)),
        weight: sample.weight,
    });
    gathered.taken.extend(taken);
    gathered.ends.push(gathered.taken.len());
}

/// Adds spans and marks.
fn add_spans(profile: &mut Profile, input: &Profile, rows: &Rows) {
    let from = &input.spans;
    let path = |id: SpanId| rows.maps.spans[id.index()];
    let task = |id: TaskId| rows.task(id);
    let spans = &mut profile.spans;
    spans.each.extend(from.each.iter().map(|span| Span {
        path: path(span.path),
        thread: rows.thread(span.thread),
        task: task(span.task),
        from: rows.time(span.from),
        to: span.to.map(|to| rows.time(to)),
        ..*span
    }));
    spans.sums.extend(from.sums.iter().map(|sum| SpanSum {
        path: path(sum.path),
        process: rows.process(sum.process),
        thread: sum.thread.map(|thread| rows.thread(thread)),
        lengths: sum.lengths.clone(),
    }));
    spans.marks.extend(from.marks.iter().map(|mark| Mark {
        name: rows.maps.strings[mark.name.index()],
        time: rows.time(mark.time),
        thread: rows.thread(mark.thread),
        task: task(mark.task),
        span: path(mark.span),
    }));
    spans.loss = spans.loss.with(from.loss);
}

fn add_heap(profile: &mut Profile, input: &Profile, rows: &Rows, sites: &mut usize) {
    let (heap, from) = (&mut profile.heap, &input.heap);
    let stack = |id: profundo_model::StackId| rows.maps.stacks[id.index()];
    // The mean distance of the merged profile is the smallest of all inputs'.
    let blocks_are_rarer = super::meta::doublings(heap.sampling, from.sampling).unwrap_or(0);
    let blocks = from.blocks.iter().map(|block| Block {
        time: rows.time(block.time),
        freed: block.freed.map(|time| rows.time(time)),
        thread: rows.thread(block.thread),
        task: rows.task(block.task),
        stack: stack(block.stack),
        type_name: rows.maps.strings[block.type_name.index()],
        span: rows.maps.spans[block.span.index()],
        doublings: block.doublings.saturating_add(blocks_are_rarer),
        ..*block
    });
    heap.blocks.extend(blocks);
    let searched = from.searched.iter().map(|&process| rows.process(process));
    heap.searched.extend(searched);
    let copies_are_rarer = super::meta::doublings(heap.copying, from.copying).unwrap_or(0);
    let copies = from.copies.iter().map(|copied| Copied {
        time: rows.time(copied.time),
        thread: rows.thread(copied.thread),
        stack: stack(copied.stack),
        doublings: copied.doublings.saturating_add(copies_are_rarer),
        ..*copied
    });
    heap.copies.extend(copies);
    let moments = from.moments.iter().map(|moment| Moment {
        site: super::id(*sites) + moment.site,
        time: rows.time(moment.time),
        ..*moment
    });
    heap.moments.extend(moments);
    *sites += from.sites.len();
    let own = from.sites.iter().map(|site| Site {
        process: rows.process(site.process),
        stack: stack(site.stack),
        ..*site
    });
    heap.sites.extend(own);
    let gauges = from.gauges.iter().map(|gauge| profundo_model::Gauge {
        process: rows.process(gauge.process),
        time: rows.time(gauge.time),
        ..*gauge
    });
    heap.gauges.extend(gauges);
}
