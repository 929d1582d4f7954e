//! Chrome's Trace Event JSON, for <https://ui.perfetto.dev>, `chrome://tracing` and VizTracer: the
//! calls and the spans of each thread as slices, marks as instants, and memory as counters.
//!
//! ```text
//! { "traceEvents": [
//!     { "ph": "M", "name": "thread_name", "pid", "tid", "args": { "name" } }…,
//!     { "ph": "X", "name", "cat": "sample", "pid", "tid", "ts", "dur", "args": { "file", "line" } }…,
//!     { "ph": "X", "name", "cat": "span", "pid", "tid", "ts", "dur", "args": { key: value… } }…,
//!     { "ph": "i", "s": "t", "name", "cat": "mark", "pid", "tid", "ts" }…,
//!     { "ph": "C", "name": "memory", "pid", "ts", "args": { "resident" } }… ] }
//! ```
//!
//! Slices of a thread have to lie in one another. The spans of futures need not: one that overlaps
//! the slice around it is a pair of events `b` and `e`, which has a track of its own. Spans that
//! are known as sums have no times, and are not in it. The bounds of sampled calls are not those of
//! spans, so a thread that has both has two tracks.
//!
//! Perfetto leaves an escape in a name as it is written, unless the name has a quotation mark, too.
//! So there are no more of them than JSON asks for, except that no text ends in a plain backslash,
//! behind which Perfetto finds no end of it.
//!
//! A call goes on as long as samples show it, and ends where one does not or where there is none
//! for longer than two. How often a function was called is not known.

mod samples;

use std::cmp::Reverse;
use std::io::{self, Write};

use profundo_model::{Profile, Span, ThreadId};

use super::format::{Holds, Row, has};
use super::json::bare_string as string;
use super::{Format, Options, Weights, owner};
use crate::Error;

impl Format {
    /// See [`chrome`](self).
    pub const CHROME: Self = Self(&Row {
        name: "chrome",
        aliases: &["perfetto", "trace-events"],
        extensions: &["trace.json"],
        about: "Calls, spans and memory over time, for Perfetto and chrome://tracing",
        file: "trace file",
        holds: Holds::SamplesOrSpans,
        has_title: false,
        is_in_order: true,
        has_memory_too: false,
        misfit: |options| {
            if options.measure.is_some() {
                Some(
                    "a trace has times and readings of memory; pprof and the Firefox Profiler's format have allocations",
                )
            } else if options.weights == Some(Weights::Samples) {
                Some("a trace has times; pprof, collapsed and speedscope take --weights samples")
            } else if options.processes || options.threads {
                Some("a trace has a track for each thread; it needs no --threads or --processes")
            } else if options.kinds {
                Some("a trace has no kinds; the Firefox Profiler's format has")
            } else {
                None
            }
        },
        is_start: |start| start.starts_with(b"{") && has(start, b"\"traceEvents\""),
        write: |profile, options, mut out| write(profile, options, &mut out),
    });
}

/// Writes calls, spans, marks and readings of memory.
pub fn write(profile: &Profile, options: &Options, out: &mut impl Write) -> Result<(), Error> {
    if profile.samples.is_empty()
        && profile.spans.each.is_empty()
        && profile.spans.marks.is_empty()
        && !profile.spans.sums.is_empty()
    {
        return Err(Error::NoSpans);
    }
    events(profile, options, out).map_err(Error::Write)
}

fn events(profile: &Profile, options: &Options, out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"{\"displayTimeUnit\":\"ms\",\"traceEvents\":[")?;
    let mut first = true;
    let mut begin = |out: &mut dyn Write| match std::mem::take(&mut first) {
        true => out.write_all(b"\n"),
        false => out.write_all(b",\n"),
    };
    let owners = profile.spans.each.iter().map(|span| span.thread);
    let marks = profile.spans.marks.iter().map(|mark| mark.thread);
    let mut threads: Vec<ThreadId> = owners.chain(marks).collect();
    threads.sort_unstable();
    threads.dedup();
    samples::write(profile, options, &threads, &mut begin, out)?;
    memory(profile, &mut begin, out)?;
    for &thread in &threads {
        for (what, name) in [
            ("process_name", owner::process(profile, thread)),
            ("thread_name", owner::thread_name(profile, thread)),
        ] {
            begin(out)?;
            write!(out, "{{\"ph\":\"M\",\"name\":\"{what}\",")?;
            place(profile, thread, out)?;
            out.write_all(b",\"args\":{\"name\":")?;
            string(out, &name)?;
            out.write_all(b"}}")?;
        }
    }
    let end = profile.meta.duration.0;
    let end_of = |span: &Span| span.to.map_or(end.max(span.from.0), |to| to.0);
    let mut spans: Vec<&Span> = profile.spans.each.iter().collect();
    spans.sort_by_key(|span| (span.thread, span.from, Reverse(end_of(span)), span.number));
    // The ends of the slices around the present one.
    let mut around: Vec<u64> = Vec::new();
    let mut last = None;
    for span in spans {
        if last.replace(span.thread) != Some(span.thread) {
            around.clear();
        }
        while around.last().is_some_and(|&end| end <= span.from.0) {
            around.pop();
        }
        let end = end_of(span);
        if around.last().is_none_or(|&outer| end <= outer) {
            around.push(end);
            begin(out)?;
            slice(profile, span, "X", span.from.0, out)?;
            write!(out, ",\"dur\":{}", Micros(end - span.from.0))?;
            arguments(profile, span, out)?;
            continue;
        }
        for (kind, time) in [("b", span.from.0), ("e", end)] {
            begin(out)?;
            slice(profile, span, kind, time, out)?;
            write!(out, ",\"id\":{}", span.number)?;
            arguments(profile, span, out)?;
        }
    }
    for mark in &profile.spans.marks {
        begin(out)?;
        out.write_all(b"{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"mark\",\"name\":")?;
        string(out, profile.strings.get(mark.name))?;
        out.write_all(b",")?;
        place(profile, mark.thread, out)?;
        write!(out, ",\"ts\":{}}}", Micros(mark.time.0))?;
    }
    out.write_all(b"\n]}\n")
}

/// The memory of processes over time.
fn memory<W: Write>(
    profile: &Profile,
    begin: &mut impl FnMut(&mut dyn Write) -> io::Result<()>,
    out: &mut W,
) -> io::Result<()> {
    for gauge in &profile.heap.gauges {
        let mut threads = profile.threads.iter();
        let Some((thread, _)) = threads.find(|(_, row)| row.process == gauge.process) else {
            continue;
        };
        begin(out)?;
        out.write_all(b"{\"ph\":\"C\",\"name\":\"memory\",")?;
        place(profile, thread, out)?;
        write!(
            out,
            ",\"ts\":{},\"args\":{{\"resident\":{}",
            Micros(gauge.time.0),
            gauge.resident
        )?;
        if let Some(in_use) = gauge.in_use {
            write!(out, ",\"in use\":{in_use}")?;
        }
        out.write_all(b"}}")?;
    }
    Ok(())
}

/// Begins the event of a span.
fn slice(
    profile: &Profile,
    span: &Span,
    kind: &str,
    time: u64,
    out: &mut impl Write,
) -> io::Result<()> {
    let path = profile.spans.paths.get(span.path);
    write!(out, "{{\"ph\":\"{kind}\",\"cat\":\"span\",\"name\":")?;
    string(out, profile.strings.get(path.name))?;
    out.write_all(b",")?;
    place(profile, span.thread, out)?;
    write!(out, ",\"ts\":{}", Micros(time))
}

/// The attributes of a span, and the end of its event.
fn arguments(profile: &Profile, span: &Span, out: &mut impl Write) -> io::Result<()> {
    let path = profile.spans.paths.get(span.path);
    out.write_all(b",\"args\":{")?;
    let open = span.to.is_none().then_some(("open at the end", "yes"));
    let text = |id| profile.strings.get(id);
    let attributes = path.attributes.iter();
    let attributes = attributes.map(|&(key, value)| (text(key), text(value)));
    for (number, (key, value)) in attributes.chain(open).enumerate() {
        if number > 0 {
            out.write_all(b",")?;
        }
        string(out, key)?;
        out.write_all(b":")?;
        string(out, value)?;
    }
    out.write_all(b"}}")
}

/// The numbers of a process and a thread.
fn place(profile: &Profile, thread: ThreadId, out: &mut impl Write) -> io::Result<()> {
    let (pid, tid) = (
        owner::pid(profile, thread),
        profile.threads.get(thread).number,
    );
    write!(out, "\"pid\":{pid},\"tid\":{tid}")
}

/// Nanoseconds as microseconds.
struct Micros(u64);

impl std::fmt::Display for Micros {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

#[cfg(test)]
mod tests {
    use profundo_model::{Mark, Nanos, SpanId, SpanPath};

    use super::*;

    #[test]
    fn names_have_no_escapes_that_perfetto_would_show() {
        let profile = Profile::from_folded("<module>;Vec<u8>é 1").unwrap();
        let mut out = Vec::new();
        write(&profile, &Options::default(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(!text.contains('\\'), "{text}");
        assert!(text.contains("\"name\":\"<module>\""), "{text}");
    }

    #[test]
    fn slices_lie_in_one_another_and_others_have_tracks() {
        let mut profile = Profile::from_folded("main 1").unwrap();
        profile.meta.duration = Nanos(9_000);
        let words = ["request", "route", "/\"", "epoch"];
        let [request, route, place, epoch] = words.map(|word| profile.strings.intern(word));
        let path = profile.spans.paths.intern(SpanPath {
            parent: None,
            name: request,
            attributes: [(route, place)].into(),
        });
        assert_eq!(path, SpanId(1));
        let span = |number, from, to: Option<u64>| Span {
            path,
            number,
            from: Nanos(from),
            to: to.map(Nanos),
            ..Span::default()
        };
        profile.spans.each = vec![
            span(2, 1_500, Some(2_000)),
            span(1, 1_000, Some(3_000)),
            // It overlaps the first one.
            span(3, 2_500, Some(4_001)),
            span(4, 5_000, None),
        ];
        profile.spans.marks.push(Mark {
            name: epoch,
            time: Nanos(7),
            ..Mark::default()
        });
        let mut out = Vec::new();
        profile.samples.clear();
        write(&profile, &Options::default(), &mut out).unwrap();
        assert!(Format::CHROME.is_start_of(&out));
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.lines().filter(|line| line.contains("cat")).collect();
        let kinds: Vec<&str> = lines.iter().map(|line| &line[7..8]).collect();
        assert_eq!(kinds, ["X", "X", "b", "e", "X", "i"], "{text}");
        let args = "\"args\":{\"route\":\"/\\\"\"";
        assert!(lines[0].contains("\"ts\":1.000,\"dur\":2.000"), "{text}");
        assert!(lines[0].contains(args), "{text}");
        assert!(lines[3].contains("\"ts\":4.001,\"id\":3"), "{text}");
        assert!(lines[4].contains("\"dur\":4.000") && lines[4].contains("open"));
        assert!(lines[5].contains("\"ts\":0.007}"), "{text}");
    }
}
