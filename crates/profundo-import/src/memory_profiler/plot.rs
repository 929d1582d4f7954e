//! `mprofile_*.dat`: `CMDLINE …`, `MEM MiB seconds`, `CHLD pid MiB seconds` of children, and `FUNC
//! name MiB seconds MiB seconds level` of marked functions, at their start and their end.

use profundo_model::{Gauge, Nanos, ProcessId, Sampling, Span, SpanPath};

use super::bytes;
use crate::encoding::json::scaled;
use crate::reader::{Reader, Table};
use crate::{Builder, Error, Source};

pub(crate) const READER: Reader = Reader(&Table {
    name: "mprof",
    writers: "memory_profiler's mprof run",
    is_start,
    fill,
});

/// Whether the first lines are readings of memory, behind the command line.
fn is_start(start: &[u8]) -> bool {
    let mut lines = start.split_inclusive(|&byte| byte == b'\n');
    let first = lines.next().unwrap_or_default();
    let first = match first.starts_with(b"CMDLINE ") {
        true => lines.next().unwrap_or_default(),
        false => first,
    };
    std::str::from_utf8(first).is_ok_and(|line| Line::of(line.trim_end()).is_some())
}

/// A line.
#[derive(Debug, Clone, Copy)]
enum Line<'a> {
    Reading {
        /// The number of a child.
        pid: Option<u32>,
        mebibytes: f64,
        /// Nanoseconds since 1970.
        time: u64,
    },
    Function {
        name: &'a str,
        from: u64,
        to: u64,
        level: u32,
    },
}

impl<'a> Line<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let mut words = line.split(' ');
        let kind = words.next()?;
        let number = |word: Option<&str>| word?.parse::<f64>().ok().filter(|it| it.is_finite());
        match kind {
            "MEM" => Some(Self::Reading {
                pid: None,
                mebibytes: number(words.next())?,
                time: nanos(words.next())?,
            }),
            "CHLD" => Some(Self::Reading {
                pid: Some(words.next()?.parse().ok()?),
                mebibytes: number(words.next())?,
                time: nanos(words.next())?,
            }),
            "FUNC" => {
                let name = words.next()?;
                number(words.next())?;
                let from = nanos(words.next())?;
                number(words.next())?;
                let to = nanos(words.next())?;
                let level = words.next().and_then(|level| level.parse().ok());
                Some(Self::Function {
                    name,
                    from,
                    to,
                    level: level.unwrap_or(0),
                })
            }
            _ => None,
        }
    }
}

/// Seconds in nanoseconds.
fn nanos(word: Option<&str>) -> Option<u64> {
    let nanos = scaled(word?.as_bytes(), 9)?;
    u64::try_from(nanos).ok()
}

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    let mut readings: Vec<(ProcessId, u64, u64)> = Vec::new();
    let mut functions: Vec<(&str, u64, u64, u32)> = Vec::new();
    let main = builder.process(0, "");
    let lines = source.bytes.split(|&byte| byte == b'\n');
    for (line, number) in lines.zip(1_u64..) {
        let text = std::str::from_utf8(line).unwrap_or_default().trim_end();
        if let Some(command) = text.strip_prefix("CMDLINE ") {
            builder.process(0, command);
            continue;
        }
        match Line::of(text) {
            Some(Line::Reading {
                pid,
                mebibytes,
                time,
            }) => {
                let process = match pid {
                    Some(pid) => builder.process(pid, ""),
                    None => main,
                };
                readings.push((process, time, bytes(mebibytes)));
            }
            Some(Line::Function {
                name,
                from,
                to,
                level,
            }) => functions.push((name, from, to, level)),
            None if line.trim_ascii().is_empty() => {}
            None => builder.leave_out("lines", || format!("line {number}")),
        }
    }
    // Functions and children may begin before the first reading.
    let starts = readings.iter().map(|&(_, time, _)| time);
    let starts = starts.chain(functions.iter().map(|&(_, from, ..)| from));
    let start = starts.min().unwrap_or(0);
    let end = readings
        .iter()
        .map(|&(_, time, _)| time)
        .max()
        .unwrap_or(start);
    builder.profile.meta.started_at_unix = start;
    builder.profile.meta.duration = Nanos(end - start);
    builder.profile.heap.sampling = Sampling::None;
    readings.sort_by_key(|&(process, time, _)| (process, time));
    for &(process, time, resident) in &readings {
        builder.profile.heap.gauges.push(Gauge {
            process,
            time: Nanos(time - start),
            resident,
            ..Gauge::default()
        });
    }
    spans(builder, functions, start);
    builder.note("an mprof file has the resident memory over time, and no allocations");
    Ok(())
}

/// Functions as spans, in the order of their starts.
fn spans(builder: &mut Builder, mut functions: Vec<(&str, u64, u64, u32)>, start: u64) {
    functions.sort_by_key(|&(_, from, _, level)| (from, level));
    let thread = builder.only_thread();
    let profile = &mut builder.profile;
    // The open ones, the innermost last: their ends, their paths and their numbers.
    let mut open: Vec<(u64, profundo_model::SpanId, u64)> = Vec::new();
    for ((name, from, to, _), number) in functions.into_iter().zip(1_u64..) {
        open.retain(|&(end, ..)| end > from);
        let around = open.last().copied();
        let name = profile.strings.intern(name);
        let path = profile.spans.paths.intern(SpanPath {
            parent: around.map(|(_, path, _)| path),
            name,
            attributes: Box::default(),
        });
        profile.spans.each.push(Span {
            path,
            thread,
            number,
            parent: around.map_or(0, |(.., number)| number),
            from: Nanos(from - start),
            to: Some(Nanos(to.saturating_sub(start).max(from - start))),
            ..Span::default()
        });
        // Deeper ones are beside each other.
        if open.len() < 256 {
            open.push((to, path, number));
        }
    }
}
