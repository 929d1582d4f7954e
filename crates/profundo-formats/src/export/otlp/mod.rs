//! Profiles of OpenTelemetry: a `ProfilesData` of `opentelemetry.proto.profiles.v1development`, as
//! it is since protocol 1.9, in protobuf. Collectors and servers take it at
//! `/v1development/profiles`.
//!
//! ```text
//! 1 resource_profiles, one a process, with its attributes
//!     2 scope_profiles
//!         2 profiles, one for each type of value: time, allocated bytes, …
//! 2 dictionary: tables of strings, functions, locations, stacks, attributes
//! ```
//!
//! Samples of one stack, thread, task and state are one, with the time and the value of each where
//! these are known, and else with their sum. Whose they are is said by attributes, under the names
//! of OpenTelemetry's conventions where there are any, and else under `profundo.…`.

mod tables;

use std::io::Write;

use profundo_analysis::{has_allocations, heap_samples};
use profundo_model::{
    Gil, LocationId, LocationKind, Measure, ModuleId, Part, ProcessId, Profile, Sample, SampleKind,
    SpanId, State, TaskId, ThreadId,
};
use rustc_hash::FxHashMap;

use super::format::{Holds, Row, has};
use super::protobuf::{self, Message};
use super::view::{Side, View};
use super::{Counts, Format, Options, Weights, add};
use super::{measured, owner};
use crate::Error;
use tables::Tables;

impl Format {
    /// See [`otlp`](self).
    pub const OTLP: Self = Self(&Row {
        name: "otlp",
        aliases: &["opentelemetry"],
        extensions: &["otlp", "otlp.pb"],
        about: "Protobuf of OpenTelemetry's profiles, for collectors and servers",
        file: "file of OpenTelemetry's profiles",
        holds: Holds::Samples,
        has_title: false,
        is_in_order: true,
        has_memory_too: true,
        misfit,
        is_start: |start| {
            start.starts_with(&[0x0a]) && has(start, b"service.name") && has(start, SCOPE)
        },
        write: |profile, options, mut out| write(profile, options, &mut out),
    });
}

/// The name of what has made the profile.
const SCOPE: &[u8] = b"\x0a\x08profundo";

/// Why options do not go with it.
fn misfit(options: &Options) -> Option<&'static str> {
    let is_unknown =
        |measure: Measure| !matches!(measure.part, Part::Allocated | Part::Live | Part::Copied);
    if options.measure.is_some_and(is_unknown) {
        Some("otlp has what was allocated, what was live at the end, and the bytes copied")
    } else if options.merge.is_some() {
        Some("otlp has functions and lines; it needs no --frames")
    } else if options.processes || options.threads || options.tasks {
        Some("otlp has attributes for processes, threads and tasks; it needs no option for them")
    } else if options.kinds {
        Some("otlp has an attribute for the type of a frame; it needs no --kinds")
    } else {
        None
    }
}

/// In the order of Go's heap profiles.
const MEASURES: [Measure; 5] = [
    measure(Part::Allocated, true),
    measure(Part::Allocated, false),
    measure(Part::Live, true),
    measure(Part::Live, false),
    measure(Part::Copied, false),
];

const fn measure(part: Part, counts: bool) -> Measure {
    Measure { part, counts }
}

/// Writes the profile.
pub fn write(profile: &Profile, options: &Options, out: &mut impl Write) -> Result<(), Error> {
    write_of(profile, options, &[], out)
}

/// Writes the profile with these attributes of each of its resources. They take the place of those
/// that have the same names otherwise: `service.name` is the name of the program.
pub fn write_of(
    profile: &Profile,
    options: &Options,
    resource: &[(String, String)],
    out: &mut impl Write,
) -> Result<(), Error> {
    let view = View::new(profile, options);
    let mut writer = Writer {
        resource,
        tables: Tables::default(),
        locations: vec![None; view.spots.len()],
        stacks: vec![None; view.nodes.len()],
        view,
    };
    let weights = Weights::or_time(options.weights, profile);
    let kinds = writer.kinds(weights);
    let processes = profile.processes.len().max(1);
    for number in 0..processes {
        let process = ProcessId::from_index(number);
        let message = writer.process(process, &kinds);
        protobuf::write(1, message.bytes(), out).map_err(Error::Write)?;
    }
    writer.tables.write(2, out).map_err(Error::Write)
}

/// A type of value and the samples that have it.
struct Kind {
    name: &'static str,
    unit: &'static str,
    /// The unit and the length of the period, where samples were taken in time.
    period: Option<(&'static str, u64)>,
    /// By process.
    sums: Vec<Vec<(Key, Series)>>,
    /// The name of an event that is none of ours.
    event: String,
}

/// The identity of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    node: u32,
    thread: ThreadId,
    task: TaskId,
    span: SpanId,
    state: State,
    gil: Gil,
}

/// The values of a sample, and its times, if it has any.
#[derive(Debug, Default)]
struct Series {
    values: Vec<u64>,
    times: Vec<u64>,
}

struct Writer<'a> {
    resource: &'a [(String, String)],
    view: View<'a>,
    tables: Tables,
    /// By spot.
    locations: Vec<Option<u64>>,
    /// By node.
    stacks: Vec<Option<u64>>,
}

impl Writer<'_> {
    fn kinds(&self, weights: Weights) -> Vec<Kind> {
        let profile = self.view.profile;
        let meta = &profile.meta;
        let counts = Counts::new(profile);
        let period = (meta.period.0 > 0).then_some(meta.period.0);
        let clock = match meta.kind {
            SampleKind::Cpu => "cpu",
            SampleKind::Wall => "wall",
            SampleKind::Traced => "traced",
            SampleKind::Events => "events",
            SampleKind::Heap(_) => "memory",
        };
        let is_clock = matches!(meta.kind, SampleKind::Cpu | SampleKind::Wall);
        let (name, unit) = match (weights, meta.kind) {
            (_, SampleKind::Heap(measure)) => {
                measured::pprof(measure).unwrap_or(("memory", "bytes"))
            }
            (Weights::Time, SampleKind::Cpu | SampleKind::Wall | SampleKind::Traced) => {
                (clock, "nanoseconds")
            }
            (_, SampleKind::Traced) => ("calls", "count"),
            _ => ("samples", "count"),
        };
        let is_timed =
            profile.has_times() && meta.started_at_unix > 0 && !profile.gathered.is_any();
        let mut kinds = Vec::new();
        if !profile.samples.is_empty() {
            let value = |(row, sample): (usize, &Sample)| {
                let value = weights.of(&counts, row, sample);
                let time = is_timed.then(|| meta.started_at_unix.saturating_add(sample.time.0));
                (*sample, value, time)
            };
            kinds.push(Kind {
                name,
                unit,
                period: period.filter(|_| is_clock).map(|period| (clock, period)),
                sums: self.sums(profile.samples.iter().enumerate().map(value)),
                event: match meta.kind {
                    SampleKind::Events => meta.event.clone(),
                    _ => String::new(),
                },
            });
        }
        let measures = match (has_allocations(profile), profile.heap.copies.is_empty()) {
            (_, false) => &MEASURES[..],
            (true, true) => &MEASURES[..4],
            (false, true) => &[],
        };
        for &measure in measures {
            let Some((name, unit)) = measured::pprof(measure) else {
                continue;
            };
            let samples = heap_samples(profile, measure).into_iter();
            kinds.push(Kind {
                name,
                unit,
                period: None,
                sums: self.sums(samples.map(|sample| (sample, sample.weight.0, None))),
                event: String::new(),
            });
        }
        kinds
    }

    /// The series of samples that are alike, by process.
    fn sums(
        &self,
        samples: impl Iterator<Item = (Sample, u64, Option<u64>)>,
    ) -> Vec<Vec<(Key, Series)>> {
        let profile = self.view.profile;
        let mut rows: FxHashMap<Key, (usize, usize)> = FxHashMap::default();
        let mut sums: Vec<Vec<(Key, Series)>> = Vec::new();
        sums.resize_with(profile.processes.len().max(1), Vec::new);
        for (sample, value, time) in samples {
            let key = Key {
                node: self.view.node(sample.stack),
                thread: sample.thread,
                task: sample.task,
                span: sample.span,
                state: sample.state,
                gil: sample.gil,
            };
            let (process, row) = *rows.entry(key).or_insert_with(|| {
                let process = profile.threads.get(sample.thread).process.index();
                let process = process.min(sums.len() - 1);
                sums[process].push((key, Series::default()));
                (process, sums[process].len() - 1)
            });
            // Their numbers are signed.
            let value = value.min(i64::MAX.unsigned_abs());
            let series = &mut sums[process][row].1;
            match (time, series.values.last_mut()) {
                (Some(time), _) => {
                    series.values.push(value);
                    series.times.push(time);
                }
                (None, Some(sum)) => {
                    add(sum, value);
                    *sum = (*sum).min(i64::MAX.unsigned_abs());
                }
                (None, None) => series.values.push(value),
            }
        }
        sums
    }

    /// The profiles of a process.
    fn process(&mut self, process: ProcessId, kinds: &[Kind]) -> Message {
        let profile = self.view.profile;
        let row = profile.processes.get(process.index());
        let command = row.map_or("", |row| profile.strings.get(row.command));
        let program = command
            .split_whitespace()
            .next()
            .unwrap_or("unknown_service");
        let program = program.rsplit('/').next().unwrap_or(program);
        let mut message = Message::default();
        message.inner(1, |resource| {
            let mut attribute = |key: &str, fill: &dyn Fn(&mut Message)| {
                resource.inner(1, |pair| {
                    pair.text(1, key);
                    pair.inner(2, fill);
                });
            };
            for (key, text) in self.resource {
                attribute(key, &|value| value.text(1, text));
            }
            let is_given = |name: &str| self.resource.iter().any(|(key, _)| key == name);
            if !is_given("service.name") {
                attribute("service.name", &|value| value.text(1, program));
            }
            if let Some(pid) = row.map(|row| row.pid).filter(|&pid| pid > 0) {
                attribute("process.pid", &|value| value.number(3, pid.into()));
            }
            if !command.is_empty() {
                attribute("process.command_line", &|value| value.text(1, command));
            }
        });
        message.inner(2, |scope| {
            scope.inner(1, |about| {
                about.text(1, "profundo");
                about.text(2, env!("CARGO_PKG_VERSION"));
            });
            for kind in kinds {
                let sums = &kind.sums[process.index()];
                if !sums.is_empty() {
                    let inside = self.profile(kind, sums);
                    scope.framed(2, inside.bytes());
                }
            }
        });
        message
    }

    fn profile(&mut self, kind: &Kind, sums: &[(Key, Series)]) -> Message {
        let mut message = Message::default();
        let name = match &kind.event[..] {
            "" => kind.name,
            event => event,
        };
        let (name, unit) = (self.tables.text(name), self.tables.text(kind.unit));
        message.inner(1, |value| {
            value.number(1, name);
            value.number(2, unit);
        });
        let mut last = 0;
        for (key, series) in sums {
            let sample = self.sample(*key, series);
            message.framed(2, sample.bytes());
            last = last.max(series.times.iter().copied().max().unwrap_or(0));
        }
        let meta = &self.view.profile.meta;
        let start = meta.started_at_unix;
        message.fixed64(3, start);
        // Times lie before the end.
        let length = meta.duration.0.max((last + 1).saturating_sub(start.max(1)));
        message.number(4, if last == 0 { meta.duration.0 } else { length });
        if let Some((clock, period)) = kind.period {
            let (clock, unit) = (self.tables.text(clock), self.tables.text("nanoseconds"));
            message.inner(5, |value| {
                value.number(1, clock);
                value.number(2, unit);
            });
            message.number(6, period);
        }
        message
    }

    fn sample(&mut self, key: Key, series: &Series) -> Message {
        let stack = self.stack(key.node);
        let attributes = self.attributes(key);
        let mut message = Message::default();
        message.number(1, stack);
        message.packed(2, attributes);
        message.packed(4, series.values.iter().copied());
        message.packed_fixed64(5, &series.times);
        message
    }

    fn attributes(&mut self, key: Key) -> Vec<u64> {
        let profile = self.view.profile;
        let tables = &mut self.tables;
        let thread = profile.threads.get(key.thread);
        // The conventions have the system's number, and our own where there is none.
        let id = match thread.tid {
            0 => thread.number,
            tid => tid.into(),
        };
        let mut attributes = vec![tables.number_attribute("thread.id", id)];
        let mut text = |tables: &mut Tables, name: &str, text: &str| {
            if !text.is_empty() {
                attributes.push(tables.text_attribute(name, text));
            }
        };
        text(tables, "thread.name", profile.strings.get(thread.name));
        text(tables, "profundo.state", state(key.state));
        text(tables, "profundo.gil", gil(key.gil));
        if let Some(span) = profile.spans.paths.outwards(key.span).next() {
            let name = profile.spans.paths.get(span).name;
            text(tables, "profundo.span", profile.strings.get(name));
        }
        if owner::is_task(profile, key.task) {
            let task = profile.tasks.get(key.task);
            text(tables, "profundo.task.name", profile.strings.get(task.name));
            attributes.push(tables.number_attribute("profundo.task.id", task.number));
        }
        attributes
    }

    fn stack(&mut self, node: u32) -> u64 {
        if let Some(known) = self.stacks[node as usize] {
            return known;
        }
        let spots: Vec<u32> = self.view.spots_of(node).collect();
        let locations: Vec<u64> = spots.iter().map(|&spot| self.location(spot)).collect();
        let id = self.tables.stacks.row(|row| row.packed(1, locations));
        self.stacks[node as usize] = Some(id);
        id
    }

    fn location(&mut self, spot: u32) -> u64 {
        if let Some(known) = self.locations[spot as usize] {
            return known;
        }
        let profile = self.view.profile;
        // The last spot is no location's: it stands for hidden stacks.
        let location = ((spot as usize) < profile.locations.len())
            .then(|| profile.locations.get(LocationId(spot)));
        let mapping = location.and_then(|location| location.module);
        let mapping = mapping.map_or(0, |module| self.mapping(module));
        let address = match location.map(|location| location.kind) {
            Some(LocationKind::Code(address)) => address.for_lookup().0,
            _ => 0,
        };
        let points = self.view.spots[spot as usize].clone();
        let kind = points.last().map_or("native", |point| {
            frame_type(self.view.functions[point.function as usize].side)
        });
        let kind = self.tables.text_attribute("profile.frame.type", kind);
        let lines: Vec<(u64, u64, u64)> = (points.iter())
            .map(|point| {
                let function = self.function(point.function);
                (function, point.line.into(), point.column.into())
            })
            .collect();
        let id = self.tables.locations.row(|row| {
            row.number(1, mapping);
            row.number(2, address);
            for (function, line, column) in lines {
                row.inner(3, |inner| {
                    inner.number(1, function);
                    inner.number(2, line);
                    inner.number(3, column);
                });
            }
            row.packed(4, [kind]);
        });
        self.locations[spot as usize] = Some(id);
        id
    }

    fn function(&mut self, function: u32) -> u64 {
        let function = &self.view.functions[function as usize];
        let system_name = match function.signature {
            signature if signature == function.name => "",
            signature => signature,
        };
        let path = self.view.path(function.file);
        let name = self.tables.text(&function.name);
        let (system_name, path) = (self.tables.text(system_name), self.tables.text(path));
        self.tables.functions.row(|row| {
            row.number(1, name);
            row.number(2, system_name);
            row.number(3, path);
        })
    }

    fn mapping(&mut self, module: ModuleId) -> u64 {
        let profile = self.view.profile;
        let module = profile.modules.get(module);
        let path = self.tables.text(profile.strings.get(module.path));
        let build_id: String = (module.build_id.iter())
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let build_id = (!build_id.is_empty())
            .then(|| (self.tables).text_attribute("process.executable.build_id.gnu", &build_id));
        self.tables.mappings.row(|row| {
            row.number(1, module.start.0);
            row.number(2, module.end.0);
            row.number(3, module.start.0.wrapping_sub(module.bias));
            row.number(4, path);
            row.packed(5, build_id);
        })
    }
}

fn state(state: State) -> &'static str {
    match state {
        State::Sleeping => "sleeping",
        State::WallWaiting => "waiting",
        State::WallRunning => "running",
        State::System => "system",
        _ => "",
    }
}

fn gil(gil: Gil) -> &'static str {
    match gil {
        Gil::Held => "held",
        Gil::Waiting => "waiting",
        Gil::Released => "released",
        _ => "",
    }
}

/// The type of a frame in OpenTelemetry's conventions.
fn frame_type(side: Side) -> &'static str {
    match side {
        Side::Python => "cpython",
        Side::Kernel => "kernel",
        _ => "native",
    }
}
