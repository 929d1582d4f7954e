//! The processed format of the Firefox Profiler, for <https://profiler.firefox.com>: a track for
//! each thread, with its samples in the order of time.
//!
//! ```text
//! { "meta": { "categories", "markerSchema", "interval", … }, "libs": [module…],
//!   "counters": [{ "name", "category": "Memory", "samples": { "time", "count" } }…],
//!   "threads": [{ "name", "pid", "tid",
//!                 "samples": { "stack", "time", "weight", "threadCPUDelta" },
//!                 "nativeAllocations": { "time", "weight", "stack", … },
//!                 "markers": { "name", "startTime", "endTime", "phase", "data" },
//!                 "stackTable", "frameTable", "funcTable", "resourceTable", "stringArray" }…] }
//! ```
//!
//! Tables are columns, and rows are known by their numbers. The layout is that of version 48,
//! which every later version of the page reads: it has tables by thread, where a newer layout
//! shares them.
//!
//! A row of samples has the time that it stands for, so a function's running time is that of our
//! reports. Where a thread was not sampled for a while, rows without a stack say so, because the
//! page draws each row as far as to its neighbours. Spans and marks are markers. Each process's
//! memory over time is a counter, and allocations are native allocations; with `--of`, they are in
//! the place of samples.

mod columns;
mod memory;
mod tables;
mod thread;

use std::io::{self, Write};

use profundo_analysis::heap_samples;
use profundo_model::{Kinds, Measure, Nanos, Profile, Sample, SampleKind, ThreadId};

use super::format::{Holds, Row, has};
use super::view::View;
use super::{Counts, Format, Options, Weights, json, measured, owner};
use crate::Error;
use tables::CATEGORIES;

impl Format {
    /// See [`firefox`](self).
    pub const FIREFOX: Self = Self(&Row {
        name: "firefox",
        aliases: &["gecko", "firefox-profiler"],
        extensions: &["firefox.json"],
        about: "JSON for profiler.firefox.com",
        file: "Firefox Profiler file",
        holds: Holds::SamplesOrSpans,
        has_title: true,
        is_in_order: true,
        has_memory_too: true,
        misfit: |options| {
            if options.processes || options.threads {
                Some(
                    "the Firefox Profiler shows each thread by itself; it needs no --threads or --processes",
                )
            } else if options.tasks {
                Some("the Firefox Profiler has no tasks; collapsed and speedscope take --tasks")
            } else if options.kinds {
                Some("the Firefox Profiler colours by kind; it needs no --kinds")
            } else if options.merge.is_some() {
                Some("the Firefox Profiler has functions and lines; it needs no --frames")
            } else {
                None
            }
        },
        is_start: |start| start.starts_with(b"{") && has(start, b"\"preprocessedProfileVersion\""),
        write: |profile, options, mut out| write(profile, options, &mut out),
    });
}

/// The version of the layout.
const VERSION: u32 = 48;

/// Writes the profile.
pub fn write(profile: &Profile, options: &Options, out: &mut impl Write) -> Result<(), Error> {
    let writer = Writer::new(profile, options);
    writer.write(options, out).map_err(Error::Write)
}

/// The meaning of the weights of a thread's samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Samples,
    Milliseconds,
    Bytes,
}

struct Writer<'a> {
    view: View<'a>,
    kinds: Kinds,
    /// Allocations in the place of samples.
    allocations: Option<Vec<Sample>>,
    weights: Weights,
    unit: Unit,
    /// Whether samples have their places in time.
    is_timed: bool,
}

impl<'a> Writer<'a> {
    fn new(profile: &'a Profile, options: &Options) -> Self {
        let asked: Option<Measure> = options.measure;
        let measure = asked.or_else(|| measured::of(profile));
        let weights = match asked {
            Some(_) => Weights::Time,
            None => Weights::or_time(options.weights, profile),
        };
        Self {
            view: View::new(profile, options),
            kinds: Kinds::of(profile),
            allocations: asked.map(|measure| heap_samples(profile, measure)),
            weights,
            unit: match (measure, weights) {
                (Some(measure), _) if !measure.counts => Unit::Bytes,
                (None, Weights::Time) if profile.meta.kind != SampleKind::Events => {
                    Unit::Milliseconds
                }
                _ => Unit::Samples,
            },
            is_timed: asked.is_none() && profile.has_times(),
        }
    }

    /// The samples of each thread with their weights.
    fn by_thread(&self) -> Vec<Vec<(&Sample, u64)>> {
        let profile = self.view.profile;
        let mut threads = vec![Vec::new(); profile.threads.len()];
        match &self.allocations {
            Some(samples) => {
                for sample in samples {
                    threads[sample.thread.index()].push((sample, sample.weight.0));
                }
            }
            None => {
                let counts = Counts::new(profile);
                for (row, sample) in profile.samples.iter().enumerate() {
                    let weight = self.weights.of(&counts, row, sample);
                    threads[sample.thread.index()].push((sample, weight));
                }
            }
        }
        threads
    }

    fn write(&self, options: &Options, out: &mut impl Write) -> io::Result<()> {
        let profile = self.view.profile;
        let samples = self.by_thread();
        // Allocations lie beside the samples, unless they are in their place.
        let is_memory = self.allocations.is_some() || measured::of(profile).is_some();
        let mut allocations = match is_memory {
            true => Vec::new(),
            false => memory::changes(profile),
        };
        allocations.resize_with(profile.threads.len(), Vec::new);
        let mut spans = vec![Vec::new(); profile.threads.len()];
        for span in &profile.spans.each {
            spans[span.thread.index()].push(span);
        }
        let mut marks = vec![Vec::new(); profile.threads.len()];
        for mark in &profile.spans.marks {
            marks[mark.thread.index()].push(mark);
        }
        let has_any = |thread: ThreadId| {
            let at = thread.index();
            !(samples[at].is_empty()
                && allocations[at].is_empty()
                && spans[at].is_empty()
                && marks[at].is_empty())
        };
        let threads = profile.threads.iter().map(|(id, _)| id);
        let mut threads: Vec<ThreadId> = threads.filter(|&id| has_any(id)).collect();
        threads.sort_by_key(|&id| {
            let row = profile.threads.get(id);
            (row.process, row.number)
        });
        out.write_all(b"{")?;
        self.meta(options, out)?;
        out.write_all(b",")?;
        self.libraries(out)?;
        out.write_all(b",")?;
        memory::counters(profile, &threads, out)?;
        out.write_all(b",")?;
        let mut last = None;
        json::list(out, "threads", threads, |out, id| {
            let process = profile.threads.get(id).process;
            let is_first = last.replace(process) != Some(process);
            let at = id.index();
            thread::Thread {
                writer: self,
                id,
                is_first,
                samples: &samples[at],
                allocations: &allocations[at],
                spans: &spans[at],
                marks: &marks[at],
            }
            .write(out)
        })?;
        out.write_all(b"}\n")
    }

    fn meta(&self, options: &Options, out: &mut impl Write) -> io::Result<()> {
        let profile = self.view.profile;
        let meta = &profile.meta;
        let title = match &options.title {
            Some(title) => title.clone(),
            None => owner::title(profile),
        };
        write!(
            out,
            "\"meta\":{{\"version\":28,\"preprocessedProfileVersion\":{VERSION},\"processType\":0,\
             \"stackwalk\":1,\"debug\":false,\"symbolicated\":true,\"usesOnlyOneStackType\":true,\
             \"doesNotUseFrameImplementation\":true,\"sourceCodeIsNotOnSearchfox\":true,\
             \"extensions\":{{\"baseURL\":[],\"id\":[],\"name\":[],\"length\":0}},\
             \"importedFrom\":\"profundo {}\",\"product\":",
            env!("CARGO_PKG_VERSION")
        )?;
        json::string(out, &title)?;
        out.write_all(b",\"startTime\":")?;
        json::millionths(out, meta.started_at_unix)?;
        out.write_all(b",\"interval\":")?;
        json::millionths(out, self.period().0)?;
        if let Some(machine) = &meta.machine
            && machine.cpus > 0
        {
            write!(out, ",\"logicalCPUs\":{}", machine.cpus)?;
        }
        out.write_all(
            b",\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"},",
        )?;
        json::list(out, "categories", CATEGORIES, |out, (name, colour)| {
            write!(
                out,
                "{{\"name\":\"{name}\",\"color\":\"{colour}\",\"subcategories\":[\"Other\"]}}"
            )
        })?;
        out.write_all(b",")?;
        json::list(out, "markerSchema", ["Span", "Mark"], |out, name| {
            let key = match name {
                "Span" => {
                    "{\"key\":\"attributes\",\"label\":\"Attributes\",\"format\":\"string\",\"searchable\":true}"
                }
                _ => "",
            };
            write!(
                out,
                "{{\"name\":\"{name}\",\"tooltipLabel\":\"{{marker.name}}\",\
                 \"tableLabel\":\"{{marker.name}}\",\"chartLabel\":\"{{marker.name}}\",\
                 \"display\":[\"marker-chart\",\"marker-table\",\"timeline-overview\"],\
                 \"data\":[{key}]}}"
            )
        })?;
        out.write_all(b"}")
    }

    /// The time between two samples, which the page has to know: a millisecond where it is unknown.
    fn period(&self) -> Nanos {
        match self.view.profile.meta.period {
            Nanos(period) if period > 0 && self.is_timed => Nanos(period),
            _ => Nanos(1_000_000),
        }
    }

    fn libraries(&self, out: &mut impl Write) -> io::Result<()> {
        let profile = self.view.profile;
        json::list(out, "libs", profile.modules.iter(), |out, (_, module)| {
            let path = profile.strings.get(module.path);
            let name = path.rsplit('/').next().unwrap_or(path);
            out.write_all(b"{\"arch\":\"\",\"name\":")?;
            json::string(out, name)?;
            out.write_all(b",\"path\":")?;
            json::string(out, path)?;
            out.write_all(b",\"debugName\":")?;
            json::string(out, name)?;
            out.write_all(b",\"debugPath\":")?;
            json::string(out, path)?;
            let id = &module.build_id;
            write!(out, ",\"breakpadId\":\"{}\",\"codeId\":", breakpad_id(id))?;
            match id.is_empty() {
                true => out.write_all(b"null}"),
                false => {
                    out.write_all(b"\"")?;
                    for byte in id {
                        write!(out, "{byte:02x}")?;
                    }
                    out.write_all(b"\"}")
                }
            }
        })
    }
}

/// The id by which symbol servers know an ELF file: the first sixteen bytes of its build id, of
/// which the first three words are turned around as in a GUID, and an age of 0.
fn breakpad_id(build_id: &[u8]) -> String {
    let mut bytes = [0; 16];
    for (to, from) in bytes.iter_mut().zip(build_id) {
        *to = *from;
    }
    bytes[..4].reverse();
    bytes[4..6].reverse();
    bytes[6..8].reverse();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
    format!("{hex}0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_file_is_that_of_symbol_servers() {
        let id: Vec<u8> = (1..=20).collect();
        assert_eq!(breakpad_id(&id), "0403020106050807090A0B0C0D0E0F100");
        assert_eq!(breakpad_id(&[]), "0".repeat(33));
    }
}
