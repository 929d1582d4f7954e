//! A gzipped `perftools.profiles.Profile`, for `go tool pprof` and the tools around it.
//!
//! The message is written field by field by a small encoder: the schema is frozen, and a tree of
//! generated structures would hold the whole profile in memory once more, and bring five crates, to
//! write three kinds of field.
//!
//! A sample is the sum of the samples of one stack, thread, task and kind, with two values: their
//! count and their time; and more where memory was recorded, too, under the names of Go's heap
//! profiles: the allocated blocks and bytes, and those live at the end; and the copied bytes. One
//! location has the lines of all functions that were inlined there. `system_name` is the name with
//! its parameters where known, and otherwise empty: where it equals the name, pprof strips brackets
//! with their contents, and `<module>` becomes nothing.

mod strings;

use std::io::{Read, Write};

use flate2::read::GzDecoder;
use flate2::{Compression, GzBuilder};
use profundo_analysis::{has_allocations, heap_samples};
use profundo_model::{
    Gil, Kind, Kinds, LocationId, LocationKind, Measure, ModuleId, Part, Profile, Sample,
    SampleKind, SpanId, State, StringId, TaskId, ThreadId,
};
use rustc_hash::FxHashMap;

use super::Format;
use super::format::{Holds, Row};
use super::protobuf::{self, Message};
use super::view::View;
use super::{Counts, Options, Weights, add};
use super::{measured, owner};
use crate::Error;
use strings::Strings;

impl Format {
    /// See [`pprof`](self).
    pub const PPROF: Self = Self(&Row {
        name: "pprof",
        aliases: &["pb"],
        extensions: &["pb.gz", "pprof", "pprof.gz"],
        about: "Gzipped protobuf for `pprof` and everything that reads it",
        file: "pprof file",
        holds: Holds::Samples,
        has_title: false,
        is_in_order: false,
        has_memory_too: true,
        misfit,
        is_start,
        write: |profile, options, mut out| write(profile, options, &mut out),
    });
}

/// Writes the profile. Of the options, only those of shown frames and weights concern it: both
/// weights are always there, and the requested one is shown first.
pub fn write(profile: &Profile, options: &Options, out: &mut impl Write) -> Result<(), Error> {
    let out = GzBuilder::new().write(out, Compression::default());
    let mut writer = Writer {
        view: View::new(profile, options),
        measures: match (has_allocations(profile), profile.heap.copies.is_empty()) {
            (_, false) => &MEASURES,
            (true, true) => &MEASURES[..4],
            (false, true) => &[],
        },
        strings: Strings::default(),
        message: Message::default(),
        out,
    };
    writer.types(Weights::or_time(options.weights, profile), options.measure)?;
    writer.samples()?;
    writer.places()?;
    writer.about()?;
    writer.strings()?;
    writer.out.finish().map_err(Error::Write)?;
    Ok(())
}

/// Why options do not go with it.
fn misfit(options: &Options) -> Option<&'static str> {
    let is_unknown = |measure: Measure| {
        matches!(measure.part, Part::Peak | Part::Temporary)
            || measure.part == Part::Copied && measure.counts
    };
    if options.measure.is_some_and(is_unknown) {
        Some(
            "pprof has what was allocated, what was live at the end, and the bytes copied; other formats have --of peak and --of temporary too",
        )
    } else if options.merge.is_some() {
        Some("pprof has functions and lines; it needs no --frames")
    } else if options.processes || options.threads || options.tasks {
        Some("pprof has labels for processes, threads and tasks; it needs no option for them")
    } else if options.kinds {
        Some("pprof has a label for the kind; it needs no --kinds")
    } else {
        None
    }
}

/// Whether a file begins as a gzipped message whose first field is a type of value.
fn is_start(start: &[u8]) -> bool {
    let mut message = [0; 3];
    start.starts_with(&[0x1f, 0x8b])
        && GzDecoder::new(start).read_exact(&mut message).is_ok()
        && matches!(message, [0x0a, 2..=32, 0x08])
}

/// The identity of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    node: u32,
    thread: ThreadId,
    task: TaskId,
    span: SpanId,
    kind: Kind,
    state: State,
    gil: Gil,
}

/// Its count, its time, and its allocated and live amounts.
type Values = [u64; 2 + MEASURES.len()];

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

struct Writer<'a, W: Write> {
    view: View<'a>,
    /// The measures of memory that are written.
    measures: &'static [Measure],
    strings: Strings,
    /// The message in the making, kept for its memory.
    message: Message,
    out: W,
}

impl<W: Write> Writer<'_, W> {
    /// Writes the finished message as `field` of the profile.
    fn emit(&mut self, field: u32) -> Result<(), Error> {
        self.message
            .emit(field, &mut self.out)
            .map_err(Error::Write)
    }

    fn value_type(&mut self, field: u32, name: &str, unit: &str) -> Result<(), Error> {
        let (name, unit) = (self.strings.id(name), self.strings.id(unit));
        self.message.number(1, name);
        self.message.number(2, unit);
        self.emit(field)
    }

    fn types(&mut self, weights: Weights, asked: Option<Measure>) -> Result<(), Error> {
        let profile = self.view.profile;
        let meta = &profile.meta;
        let clock = match meta.kind {
            SampleKind::Cpu => "cpu",
            SampleKind::Wall => "wall",
            SampleKind::Traced => "traced",
            SampleKind::Events if meta.event.is_empty() => "events",
            SampleKind::Events => &meta.event,
            // The only type, which names the measure.
            SampleKind::Heap(_) => "memory",
        };
        let counted = match meta.kind {
            SampleKind::Traced => "calls",
            _ => "samples",
        };
        let unit = match meta.kind {
            SampleKind::Events => "count",
            _ => "nanoseconds",
        };
        self.value_type(1, counted, "count")?;
        self.value_type(1, clock, unit)?;
        for (name, unit) in self.measures.iter().copied().filter_map(measured::pprof) {
            self.value_type(1, name, unit)?;
        }
        self.value_type(11, clock, unit)?;
        let default = match (asked.and_then(measured::pprof), weights) {
            (Some((name, _)), _) => name,
            // Events are counts already.
            (None, Weights::Samples) if meta.kind != SampleKind::Events => counted,
            (None, Weights::Samples | Weights::Time) => clock,
        };
        let default = self.strings.id(default);
        let mut top = Message::default();
        top.number(9, meta.started_at_unix);
        top.number(10, meta.duration.0);
        top.number(12, meta.period.0);
        top.number(14, default);
        self.out.write_all(top.bytes()).map_err(Error::Write)
    }

    fn samples(&mut self) -> Result<(), Error> {
        let profile = self.view.profile;
        let kinds = Kinds::of(profile);
        let mut rows: FxHashMap<Key, usize> = FxHashMap::default();
        let mut sums: Vec<(Key, Values)> = Vec::new();
        let mut row_of = |sample: &Sample, sums: &mut Vec<(Key, Values)>| {
            let key = Key {
                node: self.view.node(sample.stack),
                thread: sample.thread,
                task: sample.task,
                span: sample.span,
                kind: kinds.kind(sample),
                state: sample.state,
                gil: sample.gil,
            };
            let row = *rows.entry(key).or_insert(sums.len());
            if row == sums.len() {
                sums.push((key, Values::default()));
            }
            row
        };
        let counts = Counts::new(profile);
        for (number, sample) in profile.samples.iter().enumerate() {
            let row = row_of(sample, &mut sums);
            add(&mut sums[row].1[0], counts.of(number, sample));
            add(&mut sums[row].1[1], sample.weight.0);
        }
        for (at, &measure) in self.measures.iter().enumerate() {
            for sample in heap_samples(profile, measure) {
                let row = row_of(&sample, &mut sums);
                add(&mut sums[row].1[2 + at], sample.weight.0);
            }
        }
        for (key, values) in sums {
            let locations = self.view.spots_of(key.node);
            let locations = locations.map(|spot| u64::from(spot) + 1);
            self.message.packed(1, locations);
            // Their numbers are signed.
            let most = i64::MAX.unsigned_abs();
            let values = values.into_iter().take(2 + self.measures.len());
            self.message.packed(2, values.map(|value| value.min(most)));
            self.labels(key);
            self.emit(2)?;
        }
        Ok(())
    }

    fn labels(&mut self, key: Key) {
        let profile = self.view.profile;
        let thread = profile.threads.get(key.thread);
        if let Some(process) = profile.processes.get(thread.process.index()) {
            let command = profile.strings.get(process.command);
            self.text_label("process", command);
            self.number_label("pid", u64::from(process.pid));
        }
        self.text_label("thread", &owner::thread_name(profile, key.thread));
        self.number_label("thread_number", thread.number);
        self.number_label("tid", u64::from(thread.tid));
        if owner::is_task(profile, key.task) {
            let number = profile.tasks.get(key.task).number;
            self.number_label("task_number", number);
            self.text_label("task", &owner::task(profile, key.task));
        }
        self.span_labels(key.span);
        self.text_label("kind", &key.kind.name().to_ascii_lowercase());
        let state = match key.state {
            State::Sleeping => "sleeping",
            State::WallWaiting => "waiting",
            State::WallRunning => "running",
            _ => "",
        };
        self.text_label("state", state);
        let gil = match key.gil {
            Gil::Held => "held",
            Gil::Waiting => "waiting",
            Gil::Released => "released",
            _ => "",
        };
        self.text_label("gil", gil);
    }

    /// The names of all spans around a sample, the innermost first, and their attributes as
    /// `span.KEY`; of a key that several have, the innermost value.
    fn span_labels(&mut self, span: SpanId) {
        let profile = self.view.profile;
        let paths = &profile.spans.paths;
        let mut keys: Vec<StringId> = Vec::new();
        for id in paths.outwards(span) {
            let path = paths.get(id);
            self.text_label("span", profile.strings.get(path.name));
            for &(key, value) in &path.attributes {
                if !keys.contains(&key) {
                    keys.push(key);
                    let key = format!("span.{}", profile.strings.get(key));
                    self.text_label(&key, profile.strings.get(value));
                }
            }
        }
    }

    /// A label, unless it is empty.
    fn text_label(&mut self, key: &str, text: &str) {
        if !text.is_empty() {
            let (key, text) = (self.strings.id(key), self.strings.id(text));
            self.message.inner(3, |label| {
                label.number(1, key);
                label.number(2, text);
            });
        }
    }

    fn number_label(&mut self, key: &str, number: u64) {
        if number != 0 {
            let key = self.strings.id(key);
            self.message.inner(3, |label| {
                label.number(1, key);
                label.number(3, number);
            });
        }
    }

    /// The mappings, locations and functions of stacks.
    fn places(&mut self) -> Result<(), Error> {
        let mut spots = vec![false; self.view.spots.len()];
        for node in &self.view.nodes {
            spots[node.spot as usize] = true;
        }
        let mut functions = vec![false; self.view.functions.len()];
        let mut mappings: Vec<Mapping> = vec![Mapping::default(); self.view.profile.modules.len()];
        for (spot, _) in spots.iter().enumerate().filter(|(_, used)| **used) {
            self.location(spot, &mut functions, &mut mappings)?;
        }
        for (index, mapping) in mappings.into_iter().enumerate() {
            // Readers take the first one for the program itself.
            if mapping.is_used || index == 0 {
                self.mapping(index, mapping)?;
            }
        }
        for (index, _) in functions.iter().enumerate().filter(|(_, used)| **used) {
            let function = &self.view.functions[index];
            let system_name = match function.signature {
                signature if signature == function.name => "",
                signature => signature,
            };
            let name = self.strings.id(&function.name);
            let system_name = self.strings.id(system_name);
            let path = self.strings.id(self.view.path(function.file));
            self.message.number(1, index as u64 + 1);
            self.message.number(2, name);
            self.message.number(3, system_name);
            self.message.number(4, path);
            self.emit(5)?;
        }
        Ok(())
    }

    fn location(
        &mut self,
        spot: usize,
        functions: &mut [bool],
        mappings: &mut [Mapping],
    ) -> Result<(), Error> {
        // The last spot is no location's: it stands for hidden stacks.
        let location = (spot < self.view.profile.locations.len())
            .then(|| (self.view.profile.locations).get(LocationId(spot as u32)));
        self.message.number(1, spot as u64 + 1);
        if let Some(location) = location {
            if let Some(module) = location.module {
                self.message.number(2, module.index() as u64 + 1);
                let mapping = &mut mappings[module.index()];
                mapping.is_used = true;
                mapping.has_functions |= !location.frames.is_empty();
                mapping.has_inlined |= location.frames.len() > 1;
                mapping.has_lines |= self.view.spots[spot].iter().any(|point| point.line > 0);
            }
            if let LocationKind::Code(address) = location.kind {
                self.message.number(3, address.for_lookup().0);
            }
        }
        for point in &self.view.spots[spot] {
            functions[point.function as usize] = true;
            self.message.inner(4, |line| {
                line.number(1, u64::from(point.function) + 1);
                line.number(2, u64::from(point.line));
                line.number(3, u64::from(point.column));
            });
        }
        self.emit(4)
    }

    fn mapping(&mut self, index: usize, mapping: Mapping) -> Result<(), Error> {
        let profile = self.view.profile;
        let module = profile.modules.get(ModuleId::from_index(index));
        let path = self.strings.id(profile.strings.get(module.path));
        let build_id: String = (module.build_id.iter())
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let build_id = self.strings.id(&build_id);
        self.message.number(1, index as u64 + 1);
        self.message.number(2, module.start.0);
        self.message.number(3, module.end.0);
        self.message.number(5, path);
        self.message.number(6, build_id);
        self.message.number(7, u64::from(mapping.has_functions));
        self.message.number(8, u64::from(mapping.has_lines));
        self.message.number(9, u64::from(mapping.has_lines));
        self.message.number(10, u64::from(mapping.has_inlined));
        self.emit(3)
    }

    /// Comments for the reader besides the numbers.
    fn about(&mut self) -> Result<(), Error> {
        let meta = &self.view.profile.meta;
        let mut comments = vec![format!(
            "profundo {}, engine {}",
            env!("CARGO_PKG_VERSION"),
            meta.engine.name()
        )];
        let loss = meta.loss;
        if loss.lost() + loss.truncated + loss.broken > 0 {
            comments.push(format!(
                "{} samples lost, {} stacks truncated, {} broken",
                loss.lost(),
                loss.truncated,
                loss.broken
            ));
        }
        comments.extend(meta.notes.iter().cloned());
        let ids: Vec<u64> = comments.iter().map(|text| self.strings.id(text)).collect();
        let mut top = Message::default();
        top.packed(13, ids);
        self.out.write_all(top.bytes()).map_err(Error::Write)
    }

    fn strings(&mut self) -> Result<(), Error> {
        for text in self.strings.all() {
            protobuf::write(6, text.as_bytes(), &mut self.out).map_err(Error::Write)?;
        }
        Ok(())
    }
}

/// The data of a mapping besides its row.
#[derive(Debug, Clone, Default)]
struct Mapping {
    is_used: bool,
    has_functions: bool,
    has_lines: bool,
    has_inlined: bool,
}
