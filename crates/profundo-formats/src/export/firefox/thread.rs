//! A thread: its samples, allocations and markers, and the tables behind them.

use std::io::{self, Write};

use profundo_model::{Kind, Mark, Sample, SampleKind, Span, ThreadId};

use super::columns::{length, numbers, same, times};
use super::memory::Change;
use super::tables::{OTHER, Tables};
use super::{Unit, Writer};
use crate::export::{json, owner};

/// The data of a thread, see the module.
pub(super) struct Thread<'a> {
    pub writer: &'a Writer<'a>,
    pub id: ThreadId,
    /// Whether it is the first one of its process.
    pub is_first: bool,
    pub samples: &'a [(&'a Sample, u64)],
    pub allocations: &'a [Change],
    pub spans: &'a [&'a Span],
    pub marks: &'a [&'a Mark],
}

/// A row of samples. One without a stack stands for time that was not sampled.
struct Row {
    time: u64,
    stack: Option<u32>,
    weight: u64,
    cpu: u64,
}

impl Thread<'_> {
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let profile = self.writer.view.profile;
        let row = profile.threads.get(self.id);
        let mut tables = Tables::new(&self.writer.view);
        out.write_all(b"{\"processType\":\"default\",\"processStartupTime\":")?;
        let process = profile.processes.get(row.process.index());
        let started = process.and_then(|process| process.started);
        json::millionths(out, started.map_or(0, |time| time.0))?;
        out.write_all(b",\"processShutdownTime\":")?;
        match process.and_then(|process| process.ended) {
            Some(time) => json::millionths(out, time.0)?,
            None => out.write_all(b"null")?,
        }
        out.write_all(
            b",\"registerTime\":0,\"unregisterTime\":null,\"pausedRanges\":[],\"name\":",
        )?;
        json::string(out, &owner::thread_name(profile, self.id))?;
        out.write_all(b",\"processName\":")?;
        json::string(out, &owner::process(profile, self.id))?;
        let tid = match row.tid {
            0 => row.number,
            tid => u64::from(tid),
        };
        write!(
            out,
            ",\"isMainThread\":{},\"pid\":\"{}\",\"tid\":{tid},",
            self.is_first,
            owner::pid(profile, self.id)
        )?;
        self.write_samples(&mut tables, out)?;
        if !self.allocations.is_empty() {
            self.write_allocations(&mut tables, out)?;
        }
        self.write_markers(&mut tables, out)?;
        tables.write(out)?;
        out.write_all(b"}")
    }

    /// The rows of samples in the order of time.
    fn rows(&self, tables: &mut Tables<'_>) -> Vec<Row> {
        let Writer {
            kinds, is_timed, ..
        } = self.writer;
        let profile = self.writer.view.profile;
        let period = self.writer.period().0;
        let mut rows: Vec<Row> = Vec::with_capacity(self.samples.len());
        // Where there are no times, samples stand one behind the other.
        let mut sum = 0_u64;
        let mut end = 0_u64;
        for &(sample, weight) in self.samples {
            let kind = match profile.meta.kind {
                SampleKind::Heap(_) => None,
                _ if self.writer.allocations.is_some() => None,
                _ => Some(kinds.kind(sample)),
            };
            let length = match is_timed {
                true => sample.weight.0,
                false => 0,
            };
            sum = match self.writer.unit {
                Unit::Milliseconds => sum.saturating_add(weight),
                _ => sum.saturating_add(period),
            };
            let time = match is_timed {
                true => sample.time.0.max(end),
                false => sum,
            };
            let start = time.saturating_sub(length);
            // The page draws a row as far as to the middle between it and its neighbours.
            if *is_timed && start > end.saturating_add(period.saturating_mul(2)) {
                let idle = |time| Row {
                    time,
                    stack: None,
                    weight: 0,
                    cpu: 0,
                };
                if end > 0 {
                    rows.push(idle(end.saturating_add(period)));
                }
                rows.push(idle(start));
            }
            end = time;
            rows.push(Row {
                time,
                stack: Some(tables.stack(sample.stack, kind)),
                weight,
                cpu: match kind {
                    Some(Kind::Waiting) | None => 0,
                    Some(_) => length,
                },
            });
        }
        rows
    }

    fn write_samples(&self, tables: &mut Tables<'_>, out: &mut impl Write) -> io::Result<()> {
        let rows = self.rows(tables);
        out.write_all(b"\"samples\":{")?;
        numbers(out, "stack", rows.iter().map(|row| row.stack))?;
        times(out, "time", rows.iter().map(|row| row.time))?;
        let weights = rows.iter().map(|row| row.weight);
        let kind = match self.writer.unit {
            Unit::Milliseconds => {
                times(out, "weight", weights)?;
                "tracing-ms"
            }
            unit => {
                numbers(out, "weight", weights.map(Some))?;
                match unit {
                    Unit::Bytes => "bytes",
                    _ => "samples",
                }
            }
        };
        if self.writer.is_timed && self.writer.view.profile.meta.kind != SampleKind::Events {
            numbers(out, "threadCPUDelta", rows.iter().map(|row| Some(row.cpu)))?;
        }
        write!(out, "\"weightType\":\"{kind}\",")?;
        length(out, rows.len())?;
        out.write_all(b",")
    }

    fn write_allocations(&self, tables: &mut Tables<'_>, out: &mut impl Write) -> io::Result<()> {
        let rows = self.allocations;
        let stacks: Vec<u32> = (rows.iter())
            .map(|change| tables.stack(change.stack, None))
            .collect();
        out.write_all(b"\"nativeAllocations\":{")?;
        times(out, "time", rows.iter().map(|change| change.time))?;
        numbers(out, "weight", rows.iter().map(|change| Some(change.bytes)))?;
        numbers(out, "stack", stacks.into_iter().map(Some))?;
        // Blocks that are known one by one tell what was kept.
        if rows.iter().all(|change| change.block.is_some()) {
            numbers(out, "memoryAddress", rows.iter().map(|change| change.block))?;
            same(out, "threadId", &self.id.index().to_string(), rows.len())?;
        }
        out.write_all(b"\"weightType\":\"bytes\",")?;
        length(out, rows.len())?;
        out.write_all(b",")
    }

    fn write_markers<'a>(&self, tables: &mut Tables<'a>, out: &mut impl Write) -> io::Result<()>
    where
        Self: 'a,
    {
        let profile = self.writer.view.profile;
        let last = profile.meta.duration.0;
        let spans = self.spans.iter().map(|span| {
            let end = span.to.map_or(last.max(span.from.0), |to| to.0);
            let name = profile.spans.paths.get(span.path).name;
            (span.from.0, Some(end), name, Some(*span))
        });
        let marks = self.marks.iter();
        let marks = marks.map(|mark| (mark.time.0, None, mark.name, None));
        let mut rows: Vec<_> = spans.chain(marks).collect();
        rows.sort_by_key(|&(from, ..)| from);
        let mut names = Vec::with_capacity(rows.len());
        for &(_, _, name, _) in &rows {
            let name = self.writer.view.profile.strings.get(name);
            names.push(Some(tables.string(name.to_owned().into())));
        }
        out.write_all(b"\"markers\":{")?;
        numbers(out, "name", names)?;
        times(out, "startTime", rows.iter().map(|&(from, ..)| from))?;
        json::list(out, "endTime", &rows, |out, &(_, to, ..)| match to {
            Some(to) => json::millionths(out, to),
            None => out.write_all(b"null"),
        })?;
        out.write_all(b",")?;
        // An interval, or an instant.
        let phase = rows.iter().map(|&(_, to, ..)| Some(u8::from(to.is_some())));
        numbers(out, "phase", phase)?;
        numbers(out, "category", rows.iter().map(|_| Some(OTHER)))?;
        json::list(out, "data", &rows, |out, &(_, _, _, span)| match span {
            Some(span) => {
                out.write_all(b"{\"type\":\"Span\",\"attributes\":")?;
                json::string(out, &self.attributes(span))?;
                out.write_all(b"}")
            }
            None => out.write_all(b"{\"type\":\"Mark\"}"),
        })?;
        out.write_all(b",")?;
        length(out, rows.len())?;
        out.write_all(b",")
    }

    /// The attributes of a span in words.
    fn attributes(&self, span: &Span) -> String {
        let profile = self.writer.view.profile;
        let text = |id| profile.strings.get(id);
        let path = profile.spans.paths.get(span.path);
        let open = span.to.is_none().then(|| "open at the end".to_owned());
        let attributes = path.attributes.iter();
        let attributes = attributes.map(|&(key, value)| format!("{}={}", text(key), text(value)));
        attributes.chain(open).collect::<Vec<_>>().join(", ")
    }
}
