//! From a profile to chunks. A table is written as far as the next batch of samples needs it, so
//! that wherever a file is cut, its ids refer to rows in it.

use std::io::Write;
use std::ops::Range;

use profundo_model::{
    Block, Ends, Gauge, Growing, LocationKind, Many, Meta, Profile, Sample, Sampling, SpanId,
    SpanLoss, SyscallCount, Tracing, Traffic,
};

use super::chunk::{self, ChunkWriter, Kind};
use super::column::Payload;
use super::sample::LastSeen;
use super::{
    gauge, growing, heap, meta, name, origin, owner, place, sample, source_file, span, summed,
    syscalls, traced, traffic,
};
use crate::Error;

/// Samples in a chunk: at 1000 a second a cut file loses the last 16 s of one thread at most, and
/// beyond this size a larger chunk is no smaller by the sample.
pub(crate) const BATCH: usize = 16_384;

/// Rows of the other tables in a chunk.
pub(super) const ROWS: usize = 8_192;

/// The bytes of text in a chunk, after which the next one is started.
const TEXT: usize = 1 << 20;

/// Writes everything after the header, which is `offset` bytes long.
pub(crate) fn write(profile: &Profile, out: &mut dyn Write, offset: usize) -> Result<(), Error> {
    let mut encoder = Encoder::new(out, offset);
    encoder.meta(&profile.meta)?;
    for batch in profile.samples.chunks(BATCH) {
        encoder.samples(profile, batch)?;
    }
    encoder.summed(&profile.gathered.rows, 0)?;
    encoder.traffic(profile, &profile.traffic)?;
    encoder.syscalls(profile, &profile.syscalls)?;
    encoder.heap(profile, &profile.heap.blocks)?;
    encoder.gauges(profile, &profile.heap.gauges)?;
    encoder.the_rest(profile)?;
    encoder.end().map(drop)
}

/// The number of rows of each table in the file.
pub(super) struct Written {
    pub(super) strings: usize,
    pub(super) files: usize,
    pub(super) frames: usize,
    pub(super) modules: usize,
    pub(super) locations: usize,
    pub(super) stacks: usize,
    pub(super) origins: usize,
    pub(super) processes: usize,
    pub(super) threads: usize,
    pub(super) tasks: usize,
    pub(super) spans: usize,
    pub(super) sources: usize,
    pub(super) samples: usize,
    pub(super) codes: usize,
    pub(super) mappings: usize,
    pub(super) traffic: usize,
    pub(super) syscalls: usize,
    pub(super) sampling: Sampling,
    pub(super) blocks: usize,
    pub(super) copies: usize,
    pub(super) ends: usize,
    pub(super) unreachable: usize,
    pub(super) searched: usize,
    pub(super) sites: usize,
    pub(super) moments: usize,
    pub(super) gauges: usize,
}

impl Default for Written {
    fn default() -> Self {
        Self {
            // Row 0 is in every profile.
            strings: 1,
            files: 1,
            frames: 0,
            modules: 0,
            locations: 0,
            stacks: 0,
            origins: 0,
            processes: 0,
            threads: 0,
            tasks: 0,
            // Row 0 is in every profile.
            spans: 1,
            sources: 0,
            samples: 0,
            codes: 0,
            mappings: 0,
            traffic: 0,
            syscalls: 0,
            sampling: Sampling::None,
            blocks: 0,
            copies: 0,
            ends: 0,
            unreachable: 0,
            searched: 0,
            sites: 0,
            moments: 0,
            gauges: 0,
        }
    }
}

/// The number of rows that a table must have for the ids seen so far.
#[derive(Default)]
struct Need(usize);

impl Need {
    fn row(&mut self, index: usize) {
        self.0 = self.0.max(index + 1);
    }
}

pub(super) type Encode = fn(&Profile, Range<usize>) -> Result<Payload, Error>;

/// Writes chunks, and keeps account of written rows.
pub(super) struct Encoder<W> {
    pub(super) out: ChunkWriter<W>,
    pub(super) written: Written,
    last_seen: LastSeen,
}

impl<W: Write> Encoder<W> {
    pub(super) fn new(out: W, offset: usize) -> Self {
        Self {
            out: ChunkWriter::new(out, offset),
            written: Written::default(),
            last_seen: LastSeen::new(),
        }
    }

    pub(super) fn meta(&mut self, meta: &Meta) -> Result<(), Error> {
        self.out.write(chunk::META, meta::encode(meta)?.as_bytes())
    }

    /// A batch of samples, behind the rows that it needs.
    pub(super) fn samples(&mut self, profile: &Profile, batch: &[Sample]) -> Result<(), Error> {
        self.what_samples_need(profile, batch)?;
        let (first, threads) = (self.written.samples, profile.threads.len());
        let payload = sample::encode(batch, first, threads, &mut self.last_seen)?;
        self.out.write(chunk::SAMPLES, payload.as_bytes())?;
        self.written.samples += batch.len();
        Ok(())
    }

    /// The samples behind rows, from the sample of number `first` on.
    pub(super) fn summed(&mut self, rows: &[Many], first: usize) -> Result<(), Error> {
        for (number, part) in rows.chunks(ROWS).enumerate() {
            let payload = summed::encode(part, first + number * ROWS);
            self.out.write(chunk::SUMMED, payload.as_bytes())?;
        }
        Ok(())
    }

    /// The traffic of threads, behind the threads that it needs.
    pub(super) fn traffic(&mut self, profile: &Profile, rows: &[Traffic]) -> Result<(), Error> {
        for part in rows.chunks(ROWS) {
            let mut threads = Need::default();
            part.iter().for_each(|row| threads.row(row.thread.index()));
            self.threads(profile, threads.0)?;
            let payload = traffic::encode(part, self.written.traffic);
            self.out.write(chunk::TRAFFIC, payload.as_bytes())?;
            self.written.traffic += part.len();
        }
        Ok(())
    }

    /// Counts of system calls, behind the rows that they need.
    pub(super) fn syscalls(
        &mut self,
        profile: &Profile,
        rows: &[SyscallCount],
    ) -> Result<(), Error> {
        for part in rows.chunks(ROWS) {
            let (mut threads, mut strings) = (Need::default(), Need::default());
            let mut stacks = Need::default();
            for row in part {
                threads.row(row.thread.index());
                strings.row(row.call.index());
                row.stack.iter().for_each(|stack| stacks.row(stack.index()));
            }
            self.strings(profile, strings.0)?;
            self.threads(profile, threads.0)?;
            self.stacks(profile, stacks.0)?;
            let payload = syscalls::encode(part, self.written.syscalls);
            self.out.write(chunk::SYSCALLS, payload.as_bytes())?;
            self.written.syscalls += part.len();
        }
        Ok(())
    }

    /// Allocations, behind the rows that they need: `blocks`, and those of the profile's sites that
    /// are not in the file yet.
    pub(super) fn heap(&mut self, profile: &Profile, blocks: &[Block]) -> Result<(), Error> {
        let heap = &profile.heap;
        if self.written.sampling != heap.sampling {
            let payload = heap::sampling::encode(heap);
            self.out.write(chunk::HEAP, payload.as_bytes())?;
            self.written.sampling = heap.sampling;
        }
        for part in blocks.chunks(ROWS) {
            let (mut threads, mut tasks) = (Need::default(), Need::default());
            let (mut stacks, mut strings) = (Need::default(), Need::default());
            let mut spans = Need::default();
            for row in part {
                threads.row(row.thread.index());
                tasks.row(row.task.index());
                spans.row(row.span.index());
                stacks.row(row.stack.index());
                strings.row(row.type_name.index());
            }
            self.span_paths(profile, spans.0)?;
            self.strings(profile, strings.0)?;
            self.threads(profile, threads.0)?;
            self.tasks(profile, tasks.0)?;
            self.stacks(profile, stacks.0)?;
            let payload = heap::blocks::encode(part, self.written.blocks)?;
            self.out.write(chunk::BLOCKS, payload.as_bytes())?;
            self.written.blocks += part.len();
        }
        for part in heap.copies.chunks(ROWS) {
            let (mut threads, mut stacks) = (Need::default(), Need::default());
            for row in part {
                threads.row(row.thread.index());
                stacks.row(row.stack.index());
            }
            self.threads(profile, threads.0)?;
            self.stacks(profile, stacks.0)?;
            let payload = heap::copies::encode(part, self.written.copies);
            self.out.write(chunk::COPIES, payload.as_bytes())?;
            self.written.copies += part.len();
        }
        for part in heap.ends.chunks(ROWS) {
            let payload = heap::ends::encode(part, self.written.ends);
            self.out.write(chunk::ENDS, payload.as_bytes())?;
            self.written.ends += part.len();
        }
        for part in heap.unreachable.chunks(ROWS) {
            let payload = heap::unreachable::encode(part, self.written.unreachable);
            self.out.write(chunk::UNREACHABLE, payload.as_bytes())?;
            self.written.unreachable += part.len();
        }
        let new = heap.searched.get(self.written.searched..);
        for part in new.unwrap_or_default().chunks(ROWS) {
            let mut processes = Need::default();
            part.iter().for_each(|row| processes.row(row.index()));
            self.processes(profile, processes.0)?;
            let payload = heap::searched::encode(part, self.written.searched);
            self.out.write(chunk::SEARCHED, payload.as_bytes())?;
            self.written.searched += part.len();
        }
        let new = self.written.sites..heap.sites.len();
        self.sites(profile, chunk::SITES, new)?;
        for part in heap.moments.chunks(ROWS) {
            let payload = heap::moments::encode(part, self.written.moments);
            self.out.write(chunk::MOMENTS, payload.as_bytes())?;
            self.written.moments += part.len();
        }
        Ok(())
    }

    /// The memory of processes, behind the processes that it needs.
    pub(super) fn gauges(&mut self, profile: &Profile, rows: &[Gauge]) -> Result<(), Error> {
        for part in rows.chunks(ROWS) {
            let mut processes = Need::default();
            part.iter()
                .for_each(|row| processes.row(row.process.index()));
            self.processes(profile, processes.0)?;
            let payload = gauge::encode(part, self.written.gauges);
            self.out.write(chunk::GAUGES, payload.as_bytes())?;
            self.written.gauges += part.len();
        }
        Ok(())
    }

    /// Writes sums by stack: new ones, or some again.
    pub(super) fn sites(
        &mut self,
        profile: &Profile,
        kind: Kind,
        rows: Range<usize>,
    ) -> Result<(), Error> {
        let sites = profile.heap.sites.get(rows.clone()).unwrap_or_default();
        let (mut processes, mut stacks) = (Need::default(), Need::default());
        for site in sites {
            processes.row(site.process.index());
            stacks.row(site.stack.index());
        }
        self.processes(profile, processes.0)?;
        self.stacks(profile, stacks.0)?;
        self.written.sites = self.written.sites.max(rows.end);
        self.emit(profile, kind, rows, |profile, rows| {
            let first = rows.start;
            heap::sites::encode(&profile.heap.sites[rows], first)
        })
    }

    /// The data of an unfinished recording, behind the rows that it refers to.
    pub(super) fn growing(&mut self, profile: &Profile) -> Result<(), Error> {
        let Growing { codes, mappings } = &profile.growing;
        if codes.is_empty() && mappings.is_empty() {
            return Ok(());
        }
        self.processes(profile, profile.processes.len())?;
        self.modules(profile, profile.modules.len())?;
        for part in mappings.chunks(ROWS) {
            let payload = growing::mappings::encode(part, self.written.mappings);
            self.out.write(chunk::MAPPINGS, payload.as_bytes())?;
            self.written.mappings += part.len();
        }
        for part in codes.chunks(ROWS) {
            let (mut strings, mut files) = (Need::default(), Need::default());
            for code in part {
                strings.row(code.name.index());
                files.row(code.file.index());
            }
            self.files(profile, files.0)?;
            self.strings(profile, strings.0)?;
            let payload = growing::codes::encode(part, self.written.codes);
            self.out.write(chunk::CODES, payload.as_bytes())?;
            self.written.codes += part.len();
        }
        Ok(())
    }

    /// The end mark. Returns the writer.
    pub(super) fn end(mut self) -> Result<W, Error> {
        let payload = meta::encode_end(self.written.samples);
        self.out.write(chunk::END, payload.as_bytes())?;
        Ok(self.out.into_inner())
    }

    fn what_samples_need(&mut self, profile: &Profile, batch: &[Sample]) -> Result<(), Error> {
        let (mut threads, mut tasks, mut stacks) =
            (Need::default(), Need::default(), Need::default());
        let (mut strings, mut spans) = (Need::default(), Need::default());
        for sample in batch {
            threads.row(sample.thread.index());
            tasks.row(sample.task.index());
            stacks.row(sample.stack.index());
            strings.row(sample.file.index());
            spans.row(sample.span.index());
        }
        self.span_paths(profile, spans.0)?;
        self.strings(profile, strings.0)?;
        self.threads(profile, threads.0)?;
        self.tasks(profile, tasks.0)?;
        self.stacks(profile, stacks.0)
    }

    /// Rows that no sample needs are part of the profile, too.
    pub(super) fn the_rest(&mut self, profile: &Profile) -> Result<(), Error> {
        self.origins(profile, profile.origins.len())?;
        self.processes(profile, profile.processes.len())?;
        self.threads(profile, profile.threads.len())?;
        self.tasks(profile, profile.tasks.len())?;
        self.span_paths(profile, profile.spans.paths.len())?;
        self.stacks(profile, profile.stacks.len())?;
        self.locations(profile, profile.locations.len())?;
        self.modules(profile, profile.modules.len())?;
        self.frames(profile, profile.frames.len())?;
        self.files(profile, profile.files.len())?;
        self.strings(profile, profile.strings.len())?;
        self.sources(profile)?;
        self.source_files(profile)?;
        self.spans(profile)?;
        self.traced(profile)
    }

    /// Spans and marks, behind the rows that they need.
    fn spans(&mut self, profile: &Profile) -> Result<(), Error> {
        let spans = &profile.spans;
        for (number, part) in spans.each.chunks(ROWS).enumerate() {
            let payload = span::each::encode(part, number * ROWS);
            self.out.write(chunk::SPANS, payload.as_bytes())?;
        }
        for (number, part) in spans.sums.chunks(ROWS).enumerate() {
            let payload = span::sums::encode(part, number * ROWS);
            self.out.write(chunk::SPAN_SUMS, payload.as_bytes())?;
        }
        for (number, part) in spans.marks.chunks(ROWS).enumerate() {
            let payload = span::marks::encode(part, number * ROWS);
            self.out.write(chunk::MARKS, payload.as_bytes())?;
        }
        if spans.loss != SpanLoss::default() {
            let payload = span::loss::encode(spans.loss);
            self.out.write(chunk::SPAN_LOSS, payload.as_bytes())?;
        }
        Ok(())
    }

    /// Calls, lines and exceptions, behind the rows that they need.
    fn traced(&mut self, profile: &Profile) -> Result<(), Error> {
        let traced = &profile.traced;
        if traced.is_empty() && traced.tracing == Tracing::Unknown {
            return Ok(());
        }
        let payload = traced::about::encode(traced)?;
        self.out.write(chunk::TRACED, payload.as_bytes())?;
        for (number, part) in traced.calls.chunks(ROWS).enumerate() {
            let payload = traced::calls::encode(part, number * ROWS);
            self.out.write(chunk::CALLS, payload.as_bytes())?;
        }
        for (number, part) in traced.lines.chunks(ROWS).enumerate() {
            let payload = traced::lines::encode(part, number * ROWS);
            self.out.write(chunk::LINES, payload.as_bytes())?;
        }
        for (number, part) in traced.exceptions.chunks(ROWS).enumerate() {
            let payload = traced::exceptions::encode(part, number * ROWS);
            self.out.write(chunk::EXCEPTIONS, payload.as_bytes())?;
        }
        Ok(())
    }

    fn sources(&mut self, profile: &Profile) -> Result<(), Error> {
        let rows = self.written.sources..profile.sources.len();
        let (mut files, mut strings) = (Need::default(), Need::default());
        for (file, _, text) in profile.sources.iter() {
            files.row(file.index());
            strings.row(text.index());
        }
        self.files(profile, files.0)?;
        self.strings(profile, strings.0)?;
        self.written.sources = rows.end;
        self.emit(profile, chunk::SOURCES, rows, name::sources::encode)
    }

    fn source_files(&mut self, profile: &Profile) -> Result<(), Error> {
        let mut files = Need::default();
        for file in profile.source_files.keys() {
            files.row(file.index());
        }
        self.files(profile, files.0)?;
        let rows = 0..profile.source_files.len();
        let encode = source_file::encode;
        self.emit(profile, chunk::SOURCE_FILES, rows, encode)
    }

    pub(super) fn strings(&mut self, profile: &Profile, upto: usize) -> Result<(), Error> {
        let strings = &profile.strings;
        let rows = new_rows("strings", &mut self.written.strings, upto, strings.len())?;
        let (mut start, mut text) = (rows.start, 0);
        for (id, string) in rows.clone().zip(strings.iter().skip(rows.start)) {
            let full = text + string.len() > TEXT || id - start == ROWS;
            if full && id > start {
                self.emit(profile, chunk::STRINGS, start..id, name::strings::encode)?;
                (start, text) = (id, 0);
            }
            text += string.len();
        }
        self.emit(
            profile,
            chunk::STRINGS,
            start..rows.end,
            name::strings::encode,
        )
    }

    pub(super) fn files(&mut self, profile: &Profile, upto: usize) -> Result<(), Error> {
        let files = &profile.files;
        let rows = new_rows("files", &mut self.written.files, upto, files.len())?;
        let mut strings = Need::default();
        for file in files.iter().skip(rows.start).take(rows.len()) {
            strings.row(file.path.index());
            strings.row(file.prefix.index());
            strings.row(file.rest.index());
        }
        self.strings(profile, strings.0)?;
        self.emit(profile, chunk::FILES, rows, name::files::encode)
    }

    pub(super) fn frames(&mut self, profile: &Profile, upto: usize) -> Result<(), Error> {
        let frames = &profile.frames;
        let rows = new_rows("frames", &mut self.written.frames, upto, frames.len())?;
        let (mut strings, mut files) = (Need::default(), Need::default());
        for frame in frames.iter().skip(rows.start).take(rows.len()) {
            strings.row(frame.function.index());
            strings.row(frame.signature.index());
            files.row(frame.file.index());
        }
        self.strings(profile, strings.0)?;
        self.files(profile, files.0)?;
        self.emit(profile, chunk::FRAMES, rows, name::frames::encode)
    }

    pub(super) fn modules(&mut self, profile: &Profile, upto: usize) -> Result<(), Error> {
        let modules = &profile.modules;
        let rows = new_rows("modules", &mut self.written.modules, upto, modules.len())?;
        let mut strings = Need::default();
        for (_, module) in modules.iter().skip(rows.start).take(rows.len()) {
            strings.row(module.path.index());
        }
        self.strings(profile, strings.0)?;
        self.emit(profile, chunk::MODULES, rows, place::modules::encode)
    }

    pub(super) fn locations(&mut self, profile: &Profile, upto: usize) -> Result<(), Error> {
        let locations = &profile.locations;
        let rows = new_rows(
            "locations",
            &mut self.written.locations,
            upto,
            locations.len(),
        )?;
        let (mut modules, mut frames) = (Need::default(), Need::default());
        for (_, location) in locations.iter().skip(rows.start).take(rows.len()) {
            location
                .module
                .iter()
                .for_each(|id| modules.row(id.index()));
            location.frames.iter().for_each(|id| frames.row(id.index()));
            if let LocationKind::Python { frame, .. } | LocationKind::Wait { frame, .. } =
                location.kind
            {
                frames.row(frame.index());
            }
            // The location that a part is of stands before it.
            if let LocationKind::Part {
                ends: Some(Ends { library, .. }),
                ..
            } = location.kind
            {
                library.iter().for_each(|id| modules.row(id.index()));
            }
        }
        self.modules(profile, modules.0)?;
        self.frames(profile, frames.0)?;
        self.emit(profile, chunk::LOCATIONS, rows, place::locations::encode)
    }

    pub(super) fn stacks(&mut self, profile: &Profile, upto: usize) -> Result<(), Error> {
        let stacks = &profile.stacks;
        let rows = new_rows("stacks", &mut self.written.stacks, upto, stacks.len())?;
        // A parent stands before its child: the table itself guarantees that.
        let mut locations = Need::default();
        for stack in stacks.iter().skip(rows.start).take(rows.len()) {
            locations.row(stack.location.index());
        }
        self.locations(profile, locations.0)?;
        self.emit(profile, chunk::STACKS, rows, place::stacks::encode)
    }

    /// Always all of them: a parent may stand after its child.
    pub(super) fn processes(&mut self, profile: &Profile, upto: usize) -> Result<(), Error> {
        let processes = &profile.processes;
        let len = processes.len();
        new_rows("processes", &mut 0, upto, len)?;
        let rows = new_rows("processes", &mut self.written.processes, len, len)?;
        let (mut strings, mut parents) = (Need::default(), Need::default());
        let mut origins = Need::default();
        for process in &processes[rows.clone()] {
            strings.row(process.command.index());
            strings.row(process.runtime.index());
            let names = &process.environment;
            names.iter().for_each(|name| strings.row(name.index()));
            for &(key, value) in &process.labels {
                strings.row(key.index());
                strings.row(value.index());
            }
            process.parent.iter().for_each(|id| parents.row(id.index()));
            process.origin.iter().for_each(|id| origins.row(id.index()));
        }
        self.origins(profile, origins.0)?;
        new_rows("processes", &mut 0, parents.0, len)?;
        self.strings(profile, strings.0)?;
        self.emit(profile, chunk::PROCESSES, rows, owner::processes::encode)
    }

    pub(super) fn origins(&mut self, profile: &Profile, upto: usize) -> Result<(), Error> {
        let origins = &profile.origins;
        let rows = new_rows("origins", &mut self.written.origins, upto, origins.len())?;
        let mut strings = Need::default();
        for origin in &origins[rows.clone()] {
            strings.row(origin.name.index());
            for &(key, value) in &origin.labels {
                strings.row(key.index());
                strings.row(value.index());
            }
        }
        self.strings(profile, strings.0)?;
        self.emit(profile, chunk::ORIGINS, rows, origin::encode)
    }

    pub(super) fn threads(&mut self, profile: &Profile, upto: usize) -> Result<(), Error> {
        let threads = &profile.threads;
        let rows = new_rows("threads", &mut self.written.threads, upto, threads.len())?;
        let (mut strings, mut processes) = (Need::default(), Need::default());
        for (_, thread) in threads.iter().skip(rows.start).take(rows.len()) {
            strings.row(thread.name.index());
            processes.row(thread.process.index());
        }
        self.strings(profile, strings.0)?;
        self.processes(profile, processes.0)?;
        self.emit(profile, chunk::THREADS, rows, owner::threads::encode)
    }

    pub(super) fn tasks(&mut self, profile: &Profile, upto: usize) -> Result<(), Error> {
        let tasks = &profile.tasks;
        let rows = new_rows("tasks", &mut self.written.tasks, upto, tasks.len())?;
        let mut strings = Need::default();
        for (_, task) in tasks.iter().skip(rows.start).take(rows.len()) {
            strings.row(task.name.index());
            strings.row(task.spawned_at.index());
        }
        self.strings(profile, strings.0)?;
        self.emit(profile, chunk::TASKS, rows, owner::tasks::encode)
    }

    /// The paths of spans up to a row: each stands behind the one around it.
    pub(super) fn span_paths(&mut self, profile: &Profile, upto: usize) -> Result<(), Error> {
        let paths = &profile.spans.paths;
        let rows = new_rows("paths of spans", &mut self.written.spans, upto, paths.len())?;
        let mut strings = Need::default();
        for row in rows.clone() {
            let path = paths.get(SpanId::from_index(row));
            strings.row(path.name.index());
            for &(key, value) in &path.attributes {
                strings.row(key.index());
                strings.row(value.index());
            }
        }
        self.strings(profile, strings.0)?;
        self.emit(profile, chunk::SPAN_PATHS, rows, span::paths::encode)
    }

    pub(super) fn emit(
        &mut self,
        profile: &Profile,
        kind: Kind,
        rows: Range<usize>,
        encode: Encode,
    ) -> Result<(), Error> {
        for start in rows.clone().step_by(ROWS) {
            let part = start..rows.end.min(start + ROWS);
            self.out.write(kind, encode(profile, part)?.as_bytes())?;
        }
        Ok(())
    }
}

/// The unwritten rows up to `upto`, which count as written from now on.
fn new_rows(
    table: &'static str,
    written: &mut usize,
    upto: usize,
    rows: usize,
) -> Result<Range<usize>, Error> {
    if upto > rows {
        return Err(Error::Dangling {
            table,
            id: upto - 1,
            rows,
        });
    }
    let start = *written;
    *written = upto.max(start);
    Ok(start..*written)
}
