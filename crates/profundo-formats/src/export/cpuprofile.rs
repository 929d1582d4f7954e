//! Chrome's CPU profile, for DevTools, VS Code, speedscope and the Firefox Profiler: a tree of
//! calls, and the node that runs at each instant.
//!
//! ```text
//! { "nodes": [{ "id", "callFrame": { "functionName", "scriptId", "url", "lineNumber",
//!               "columnNumber" }, "hitCount", "children": [id…],
//!               "positionTicks": [{ "line", "ticks" }…] }…],
//!   "startTime", "endTime", "samples": [id…], "timeDeltas": [microseconds…] }
//! ```
//!
//! A row of `samples` lasts until the next one. Where a thread was not sampled, the node `(idle)`
//! runs, which readers leave out. A file has one thread. If several have samples, each has a node,
//! and they stand one behind the other without gaps, the one with the most time first.
//!
//! DevTools takes no notice of what happens at the time 0, so the file begins later. And it takes
//! all hits and ticks for equally long: here each of them is a microsecond, so that the times of
//! functions and lines are those of the samples.

use std::io::{self, Write};

use profundo_model::{FileId, Profile};

use super::calls::Callee;
use super::format::{Holds, Row, has};
use super::stretches::Stretches;
use super::view::View;
use super::{Format, Options, Weights, add, json};
use crate::Error;

impl Format {
    /// See [`cpuprofile`](self).
    pub const CPUPROFILE: Self = Self(&Row {
        name: "cpuprofile",
        aliases: &["v8"],
        extensions: &["cpuprofile"],
        about: "JSON for Chrome's DevTools and VS Code",
        file: "CPU profile of Chrome",
        holds: Holds::Samples,
        has_title: false,
        is_in_order: true,
        has_memory_too: false,
        misfit: |options| {
            if options.measure.is_some() {
                Some("cpuprofile has time, and heapprofile has memory")
            } else if options.weights == Some(Weights::Samples) {
                Some(
                    "cpuprofile has instants; pprof, collapsed and speedscope take --weights samples",
                )
            } else if options.merge.is_some() {
                Some("cpuprofile has functions, and how often each line ran; it needs no --frames")
            } else if options.kinds {
                Some("cpuprofile has no kinds; the Firefox Profiler's format has")
            } else {
                None
            }
        },
        is_start: |start| {
            start.starts_with(b"{") && has(start, b"\"callFrame\"") && has(start, b"\"hitCount\"")
        },
        write: |profile, options, mut out| write(profile, options, &mut out),
    });
}

/// The numbers of the first nodes.
const ROOT: u32 = 1;
const IDLE: u32 = 2;
const FIRST: u32 = 3;

/// When the file begins, in nanoseconds.
const START: u64 = 1_000;

/// Writes the profile.
pub fn write(profile: &Profile, options: &Options, out: &mut impl Write) -> Result<(), Error> {
    let view = View::new(profile, options);
    let mut sampled: Vec<_> = profile.samples.iter().map(|sample| sample.thread).collect();
    sampled.sort_unstable();
    sampled.dedup();
    let mut processes: Vec<_> = (sampled.iter())
        .map(|&thread| profile.threads.get(thread).process)
        .collect();
    processes.dedup();
    let stretches = Stretches::new(
        &view,
        &Options {
            threads: options.threads || sampled.len() > 1,
            processes: options.processes || processes.len() > 1,
            ..options.clone()
        },
    );
    let writer = Writer {
        view: &view,
        stretches: &stretches,
        rows: rows(&stretches),
    };
    writer.write(out).map_err(Error::Write)
}

/// A node that runs from an instant until the next row.
type Running = (u64, u32);

/// The rows, the last of which is the end.
fn rows(stretches: &Stretches) -> Vec<Running> {
    let mut rows = Vec::new();
    let mut end = 0_u64;
    let is_alone = stretches.threads.len() < 2;
    for (_, stretches) in stretches.heaviest_first() {
        for stretch in stretches {
            if is_alone && stretch.from > end {
                rows.push((end, IDLE));
                end = stretch.from;
            }
            rows.push((end, FIRST.saturating_add(stretch.call)));
            end = end.saturating_add(stretch.to - stretch.from);
        }
    }
    rows.push((end, IDLE));
    rows
}

struct Writer<'a> {
    view: &'a View<'a>,
    stretches: &'a Stretches,
    rows: Vec<Running>,
}

impl Writer<'_> {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(b"{")?;
        self.nodes(out)?;
        let end = self.rows.last().map_or(0, |&(time, _)| time);
        out.write_all(b",\"startTime\":")?;
        json::thousandths(out, START)?;
        out.write_all(b",\"endTime\":")?;
        json::thousandths(out, end.saturating_add(START))?;
        out.write_all(b",")?;
        json::list(out, "samples", &self.rows, |out, (_, node)| {
            write!(out, "{node}")
        })?;
        out.write_all(b",")?;
        let mut last = 0;
        json::list(out, "timeDeltas", &self.rows, |out, &(time, _)| {
            json::thousandths(out, time - std::mem::replace(&mut last, time))
        })?;
        out.write_all(b"}\n")
    }

    fn nodes(&self, out: &mut impl Write) -> io::Result<()> {
        let calls = &self.stretches.calls;
        let (roots, children) = calls.children(|call| call);
        let first_lines = first_lines(self.view);
        let mut ticks: Vec<Vec<(u32, u64)>> = vec![Vec::new(); calls.calls.len()];
        for (&(call, line), &time) in &self.stretches.ticks {
            if line > 0 {
                ticks[call as usize].push((line, microseconds(time)));
            }
        }
        let mut own = vec![0; calls.calls.len() + FIRST as usize];
        for two in self.rows.windows(2) {
            add(&mut own[two[0].1 as usize], two[1].0 - two[0].0);
        }
        let hits = hits(&own);
        out.write_all(b"\"nodes\":[")?;
        let mut roots: Vec<u32> = roots.iter().map(|root| FIRST + root).collect();
        roots.push(IDLE);
        node(out, ROOT, "(root)", None, 0, &roots, &[])?;
        out.write_all(b",")?;
        node(out, IDLE, "(idle)", None, hits[IDLE as usize], &[], &[])?;
        for (index, call) in calls.calls.iter().enumerate() {
            let (name, place) = match call.callee {
                Callee::Owner(owner) => (&calls.owners[owner as usize][..], None),
                Callee::System => ("[system]", None),
                Callee::Function { function, .. } => {
                    let line = first_lines[function as usize];
                    let function = &self.view.functions[function as usize];
                    (
                        &*function.name,
                        Some((function.file, self.view.path(function.file), line)),
                    )
                }
            };
            let ids: Vec<u32> = children[index].iter().map(|child| FIRST + child).collect();
            ticks[index].sort_unstable();
            out.write_all(b",")?;
            let id = FIRST + index as u32;
            node(out, id, name, place, hits[id as usize], &ids, &ticks[index])?;
        }
        out.write_all(b"]")
    }
}

/// Times in microseconds, which are as much in sum.
fn hits(own: &[u64]) -> Vec<u64> {
    let mut sum = 0_u64;
    let mut before = 0;
    let each = own.iter().map(|time| {
        add(&mut sum, *time);
        let now = microseconds(sum);
        now - std::mem::replace(&mut before, now)
    });
    each.collect()
}

/// The nearest number of microseconds.
fn microseconds(nanoseconds: u64) -> u64 {
    nanoseconds / 1_000 + u64::from(nanoseconds % 1_000 >= 500)
}

/// The first known line of each function: readers take functions at different lines for different
/// ones.
pub(super) fn first_lines(view: &View<'_>) -> Vec<u32> {
    let mut lines = vec![0; view.functions.len()];
    for point in view.spots.iter().flatten() {
        let line = &mut lines[point.function as usize];
        if point.line > 0 && (*line == 0 || point.line < *line) {
            *line = point.line;
        }
    }
    lines
}

/// Writes the place of a function, as profiles of time and of memory have it. Lines count from 0.
pub(super) fn call_frame(
    out: &mut impl Write,
    name: &str,
    place: Option<(FileId, &str, u32)>,
) -> io::Result<()> {
    let (file, path, line) = place.unwrap_or((FileId(0), "", 0));
    out.write_all(b"\"callFrame\":{\"functionName\":")?;
    json::string(out, name)?;
    write!(out, ",\"scriptId\":\"{}\",\"url\":", file.0)?;
    json::string(out, path)?;
    write!(
        out,
        ",\"lineNumber\":{},\"columnNumber\":-1}}",
        i64::from(line) - 1
    )
}

fn node(
    out: &mut impl Write,
    id: u32,
    name: &str,
    place: Option<(FileId, &str, u32)>,
    hits: u64,
    children: &[u32],
    ticks: &[(u32, u64)],
) -> io::Result<()> {
    write!(out, "\n{{\"id\":{id},")?;
    call_frame(out, name, place)?;
    write!(out, ",\"hitCount\":{hits},")?;
    json::list(out, "children", children, |out, child| {
        write!(out, "{child}")
    })?;
    if !ticks.is_empty() {
        out.write_all(b",")?;
        json::list(out, "positionTicks", ticks, |out, (line, count)| {
            write!(out, "{{\"line\":{line},\"ticks\":{count}}}")
        })?;
    }
    out.write_all(b"}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use profundo_model::Nanos;

    #[test]
    fn hits_of_short_calls_are_not_lost() {
        assert_eq!(hits(&[400, 400, 400, 0, 2_300]), [0, 1, 0, 0, 3]);
        assert_eq!(
            hits(&[u64::MAX, 1]).iter().sum::<u64>(),
            u64::MAX / 1_000 + 1
        );
    }

    #[test]
    fn hits_and_ticks_are_times() {
        let mut profile = Profile::from_folded("main;work 1\nmain;other 1").unwrap();
        profile.samples[0].weight = Nanos(4_000_000);
        profile.samples[1].weight = Nanos(250_499);
        let mut out = Vec::new();
        write(&profile, &Options::default(), &mut out).unwrap();
        let file: serde_json::Value = serde_json::from_slice(&out).unwrap();
        let nodes = file["nodes"].as_array().unwrap();
        let hits = |name: &str| {
            let mut nodes = nodes.iter();
            let node = nodes.find(|node| node["callFrame"]["functionName"] == name);
            node.unwrap()["hitCount"].as_u64().unwrap()
        };
        assert_eq!(["work", "other", "main"].map(hits), [4_000, 250, 0]);
    }

    #[test]
    fn a_gap_is_idle_and_lines_have_ticks() {
        let mut profile = Profile::from_folded("main;work 2").unwrap();
        profile.samples[0].time = Nanos(1_000_000);
        profile.samples[1].time = Nanos(9_000_500);
        let mut out = Vec::new();
        write(&profile, &Options::default(), &mut out).unwrap();
        assert!(Format::CPUPROFILE.is_start_of(&out));
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("\"samples\":[4,2,4,2]"), "{text}");
        assert!(
            text.contains("\"timeDeltas\":[0,1000,7000.5,1000]"),
            "{text}"
        );
        assert!(
            text.contains("\"startTime\":1,\"endTime\":9001.5"),
            "{text}"
        );
        let idle = "\"(idle)\",\"scriptId\":\"0\",\"url\":\"\",\"lineNumber\":-1,\"columnNumber\":-1},\"hitCount\":7001";
        assert!(text.contains(idle), "{text}");
    }
}
