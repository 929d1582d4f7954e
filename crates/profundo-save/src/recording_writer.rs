//! From the recorder's events to the file: the profile grows in memory, and what is complete is
//! written at once, so that little is lost if this process is killed.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use profundo_console::output;
use profundo_formats::{Error, StreamWriter, create_file, read_file, write_file};
use profundo_ingest::{Ingest, Split};
use profundo_linux::machine;
use profundo_model::{Growing, Loss, Nanos, Origin, Profile, SampleKind};
use profundo_recorder::{Lines, SoFar};
use profundo_wire::recording::{Event, Finish, Start};
use profundo_wire::traced::TracedCalls;

use crate::native_calls::CoverageCounters;
use crate::this_machine;
use crate::trace_request::TraceRequest;
use crate::{naming, sources, stack_weights};

/// The start of each sentence on why there is no recording.
pub const UNBEGUN: &str = "nothing was run, because the recording could not be begun";

/// The time that samples wait in memory.
const FLUSH: Duration = Duration::from_millis(250);
/// The time between two writes of changed tables.
const UPDATE: Duration = Duration::from_secs(5);

/// A recording in progress.
#[derive(Debug)]
pub struct RecordingWriter {
    ingest: Ingest,
    /// `None` once writing has failed.
    stream: Option<StreamWriter<BufWriter<File>>>,
    failure: Option<Error>,
    path: PathBuf,
    /// The final path of the file, which it gets when there is something to record. Until then an
    /// older recording stays there.
    place: Option<PathBuf>,
    max_size: u64,
    /// The weight of each stack: the samples themselves leave the memory.
    weights: Vec<u64>,
    /// The time of each stack.
    times: Vec<u64>,
    flushed: Instant,
    updated: Instant,
    /// The request for a trace, if there was one.
    request: Option<TraceRequest>,
    /// The counters of compilers.
    coverage: CoverageCounters,
    /// The source text that only the programs have.
    in_memory: sources::InMemory,
    /// The CPU time of the machine and of this process at the beginning, in nanoseconds.
    busy: [u64; 2],
}

/// What a process has counted by itself.
#[derive(Debug)]
pub struct Counts<'a> {
    /// Its number in the recording.
    pub process: u32,
    /// The counts, one after another.
    pub calls: &'a [TracedCalls],
    /// What was to be counted.
    pub request: TraceRequest,
    /// How long it was counted.
    pub duration: Nanos,
    /// Sentences for the reader.
    pub notes: Vec<String>,
}

/// A finished recording.
#[derive(Debug)]
pub struct Saved {
    /// The number of samples in the file.
    pub samples: usize,
    /// Notes on the recording for the reader.
    pub notes: Vec<String>,
    /// The reason why the file is incomplete, if it is.
    pub failure: Option<Error>,
}

impl RecordingWriter {
    /// Begins the file.
    pub fn create(path: &Path, start: Start, max_size: u64) -> Result<Self> {
        let ingest = Ingest::new(start).max_stacks(stacks_within(max_size));
        let mut ingest = this_machine::noted(ingest);
        // If we are killed at any time, the file can be read and continued.
        let stream = begin(path, ingest.profile_mut(), max_size)
            .map_err(|error| output::why_not_written(path, error))
            .context(UNBEGUN)?;
        let now = Instant::now();
        Ok(Self {
            ingest,
            stream: Some(stream),
            failure: None,
            path: path.to_owned(),
            place: None,
            max_size,
            weights: Vec::new(),
            times: Vec::new(),
            flushed: now,
            updated: now,
            request: None,
            coverage: CoverageCounters::default(),
            in_memory: sources::InMemory::default(),
            busy: busy(),
        })
    }

    /// Begins the file, but leaves an older recording where it is, up to
    /// [`RecordingWriter::take_place`].
    pub fn create_beside(path: &Path, start: Start, max_size: u64) -> Result<Self> {
        // A symbolic link is kept.
        let place = fs::canonicalize(path).ok().filter(|path| path.is_file());
        let Some((place, name)) =
            place.and_then(|path| Some((path.clone(), path.file_name()?.to_owned())))
        else {
            return Self::create(path, start, max_size);
        };
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}.new", std::process::id()));
        let mut writer = Self::create(&place.with_file_name(hidden), start, max_size)?;
        writer.place = Some(place);
        Ok(writer)
    }

    /// The program has begun: the file gets its final name.
    pub fn take_place(&mut self) -> Result<()> {
        if let Some(place) = self.place.take() {
            fs::rename(&self.path, &place)
                .with_context(|| format!("cannot replace {}", place.display()))?;
            self.path = place;
        }
        Ok(())
    }

    /// Nothing will be recorded: removes the file.
    pub fn discard(self) {
        // A file that cannot be removed stays.
        let _ = fs::remove_file(&self.path);
    }

    /// Sets what is to be traced, if anything.
    pub fn trace_request(mut self, request: Option<TraceRequest>) -> Self {
        self.request = request;
        self
    }

    /// Sets the rules for own code.
    pub fn own_code(mut self, mine: &[String]) -> Self {
        self.ingest.profile_mut().meta.add_mine(mine);
        self
    }

    /// Notes that all processes of the machine are recorded, or some of them.
    pub fn of_machine(mut self) -> Self {
        self.ingest.profile_mut().meta.is_of_machine = true;
        self
    }

    /// Gives the recording labels, each a key and a value, before it has processes. They are in the
    /// file at once, for a recording without its end.
    pub fn labels(mut self, labels: &[(String, String)]) -> Self {
        if !labels.is_empty() {
            let profile = self.ingest.profile_mut();
            let mut origin = Origin::default();
            for (key, value) in labels {
                let (key, value) = (profile.strings.intern(key), profile.strings.intern(value));
                origin.set_label(key, value);
            }
            profile.origins.push(origin);
            if let Some(Err(error)) = self.stream.as_mut().map(|it| it.update(profile)) {
                self.failure = Some(error);
                self.stream = None;
            }
        }
        self
    }

    /// Counts lines instead of calls, from the counters of compilers.
    pub fn with_lines(mut self, lines: Option<Lines>) -> Self {
        self.coverage = CoverageCounters::new(lines);
        self
    }

    /// Adds an event of the recorder.
    pub fn event(&mut self, event: Event<'_>) {
        if let Event::Tallies { process, tallies } = event {
            return self.coverage.keep(process, tallies);
        }
        let is_cleared = matches!(event, Event::Cleared(_));
        let has_code = matches!(event, Event::Words { .. });
        let mappings = self.ingest.profile_mut().growing.mappings.len();
        self.ingest.event(event);
        (self.in_memory).note_modules(self.ingest.profile_mut(), mappings);
        if has_code {
            // Before the names of new files are written.
            self.in_memory.read_new(self.ingest.profile_mut());
        }
        if is_cleared && self.stream.is_some() {
            self.begin_anew();
        }
    }

    /// Rewrites the file with only the data that is to stay.
    fn begin_anew(&mut self) {
        // The names for the records of a program that is no longer recorded. They are needed only
        // if we are killed; later data is more important.
        let kept = read_file(&self.path).map(|(profile, _)| profile.growing);
        let profile = self.ingest.profile_mut();
        let mut growing = kept.unwrap_or_default();
        growing.codes.append(&mut profile.growing.codes);
        growing.mappings.append(&mut profile.growing.mappings);
        profile.growing = growing;
        self.weights.clear();
        self.times.clear();
        self.busy = busy();
        match begin(&self.path, profile, self.max_size) {
            Ok(stream) => self.stream = Some(stream),
            Err(error) => {
                self.failure = Some(error);
                self.stream = None;
            }
        }
    }

    /// The interpreters that were found, as `CPython 3.12.1`.
    pub fn runtimes(&mut self) -> Vec<String> {
        let profile = self.ingest.profile();
        let processes = profile.processes.iter();
        let names = processes.map(|process| profile.strings.get(process.runtime).to_owned());
        names.filter(|name| !name.is_empty()).collect()
    }

    /// Writes what is ready, if it is due. Returns whether the file can still grow.
    pub fn turn(&mut self) -> bool {
        let now = Instant::now();
        let flushes = now.duration_since(self.flushed) >= FLUSH;
        // Together with a flush: otherwise the update would be skipped.
        let updates = flushes && now.duration_since(self.updated) >= UPDATE;
        if flushes {
            self.flushed = now;
        }
        if updates {
            self.updated = now;
        }
        if self.stream.is_none() {
            // They are not needed any more.
            let profile = self.ingest.profile_mut();
            profile.samples.clear();
            profile.traffic.clear();
            profile.syscalls.clear();
            profile.heap.taken += profile.heap.blocks.len() as u64;
            profile.heap.blocks.clear();
            profile.heap.ends.clear();
            profile.heap.unreachable.clear();
            profile.heap.copies.clear();
            profile.heap.moments.clear();
            profile.heap.gauges.clear();
            return false;
        }
        if !flushes {
            return true;
        }
        self.write(updates);
        self.stream.is_some()
    }

    /// Writes all that is ready now, so that a reader of the file has it.
    pub fn flush(&mut self) {
        let now = Instant::now();
        (self.flushed, self.updated) = (now, now);
        self.write(true);
    }

    /// Writes a whole recording of all so far to another file, and goes on with this one.
    pub fn snapshot(&mut self, path: &Path, so_far: &SoFar, keeps_source: bool) -> Result<()> {
        self.ingest.settle_spans();
        self.flush();
        let read = read_file(&self.path);
        let (mut profile, _) =
            read.with_context(|| format!("cannot read {}", self.path.display()))?;
        profile.growing = Growing::default();
        // A file that grows has the paths of spans, and the spans themselves from its end on.
        let spans = &self.ingest.profile().spans;
        profile.spans.each.clone_from(&spans.each);
        profile.spans.sums.clone_from(&spans.sums);
        profile.spans.marks.clone_from(&spans.marks);
        profile.spans.loss = spans.loss;
        let finish = so_far.finish;
        profile.meta.duration = Nanos(finish.duration);
        profile.meta.cpu = (profile.meta.kind == SampleKind::Cpu).then_some(Nanos(finish.cpu));
        profile.meta.own_cost = finish.own_cost.map(Nanos);
        profile.meta.by_ticks = (finish.by_ticks > 0).then_some(Nanos(finish.by_ticks));
        for times in &so_far.processes {
            let mut living = profile.processes.iter_mut().rev();
            if let Some(process) = living.find(|process| process.pid == times.pid) {
                (process.user, process.system) =
                    (Some(Nanos(times.user)), Some(Nanos(times.system)));
            }
        }
        add_others(&mut profile, self.busy);
        profile.name_reasons();
        let samples = profile.samples.len();
        naming::complete(&mut profile, samples);
        if keeps_source {
            sources::keep(&mut profile, &self.weights, &mut self.in_memory);
        }
        write_file(path, &profile).map_err(|error| output::why_not_written(path, error))
    }

    /// Writes a whole recording of what a process has counted, and of nothing else, to another
    /// file, and goes on with this one.
    pub fn counts(&mut self, path: &Path, counts: Counts<'_>, keeps_source: bool) -> Result<()> {
        let Counts { process, calls, .. } = counts;
        let tracing = counts.request.tracing();
        let mut profile = self.ingest.profile_of_calls(process, calls, tracing);
        self.read_sources(process, calls);
        // Cells have got their names.
        let known = self.ingest.profile();
        (profile.files, profile.strings) = (known.files.clone(), known.strings.clone());
        let meta = &mut profile.meta;
        meta.duration = counts.duration;
        (meta.cpu, meta.own_cost, meta.by_ticks) = (None, None, None);
        meta.loss = Loss::default();
        // What the recorder had to say was about samples.
        let known = self.ingest.profile().meta.notes.len();
        meta.notes.drain(..known.min(meta.notes.len()));
        meta.notes.extend(counts.notes);
        counts.request.add_to(&mut profile);
        for process in &mut profile.processes {
            (process.user, process.system) = (None, None);
        }
        let mut weights = Vec::new();
        stack_weights::add_samples(&mut weights, &profile);
        // Counted functions have names. Addresses of samples may be in the tables, and need none.
        profile.name_reasons();
        profile.mark_runtime();
        if keeps_source {
            sources::keep(&mut profile, &weights, &mut self.in_memory);
        }
        write_file(path, &profile).map_err(|error| output::why_not_written(path, error))
    }

    /// Reads the source of functions that were counted, while the program has it.
    fn read_sources(&mut self, process: u32, calls: &[TracedCalls]) {
        let id = self.ingest.process_of(process);
        let profile = self.ingest.profile_mut();
        let files: BTreeSet<&str> = (calls.iter())
            .flat_map(|calls| &calls.functions)
            .map(|function| function.file.as_str())
            .filter(|file| !file.is_empty())
            .collect();
        let files: Vec<_> = (files.into_iter())
            .map(|file| profile.file(file, "", ""))
            .collect();
        self.in_memory.read_counted(profile, id, files);
    }

    fn write(&mut self, updates: bool) {
        if updates {
            self.ingest.name_generated();
        }
        let Some(stream) = &mut self.stream else {
            return;
        };
        let profile = self.ingest.profile_mut();
        stack_weights::add_samples(&mut self.weights, profile);
        stack_weights::add_times(&mut self.times, profile);
        let written = stream.flush(profile).and_then(|()| match updates {
            true => stream.update(profile),
            false => Ok(()),
        });
        if let Err(error) = written {
            self.failure = Some(error);
            self.stream = None;
        }
    }

    /// Adds names and source lines and ends the file.
    pub fn finish(mut self, finish: Finish, keeps_source: bool) -> Saved {
        if let Some(request) = &self.request {
            self.ingest.profile_mut().traced.tracing = request.tracing();
        }
        for event in std::mem::take(&mut self.coverage).finish() {
            self.ingest.event(event);
        }
        let (mut profile, split) = self.ingest.finish_unsplit(finish);
        if let Some(request) = &self.request {
            request.add_to(&mut profile);
        }
        add_others(&mut profile, self.busy);
        stack_weights::add_samples(&mut self.weights, &profile);
        stack_weights::add_times(&mut self.times, &profile);
        stack_weights::add_sums(&mut self.weights, &profile);
        let Some(stream) = self.stream else {
            return Saved {
                samples: 0,
                notes: profile.meta.notes,
                failure: self.failure,
            };
        };
        let samples = stream.samples() + profile.samples.len();
        naming::complete_last(&mut profile, &self.times, samples);
        if keeps_source {
            sources::keep(&mut profile, &self.weights, &mut self.in_memory);
        }
        let written = stream.finish(&mut profile);
        let written = written.and_then(|_| match split.is_needed() {
            true => split_names(&self.path, &split, samples),
            false => Ok(()),
        });
        Saved {
            samples,
            failure: written.err(),
            notes: profile.meta.notes,
        }
    }
}

/// The CPU time of the machine and of this process so far, in nanoseconds.
fn busy() -> [u64; 2] {
    [machine::busy(), machine::own()]
}

/// Adds the CPU time of the programs that were not recorded. Where the kernel has not counted the
/// recorded ones, nothing is known about the others.
fn add_others(profile: &mut Profile, [all_before, own_before]: [u64; 2]) {
    let recorded = profile.cpu_used();
    let (Some(machine), Some((user, system))) = (&mut profile.meta.machine, recorded) else {
        return;
    };
    let [all, own] = busy();
    if all > all_before {
        let others = (all - all_before).saturating_sub(own - own_before);
        machine.others = Some(Nanos(others.saturating_sub(user.0 + system.0)));
    }
}

/// Begins a file with the profile so far.
fn begin(
    path: &Path,
    profile: &mut Profile,
    max_size: u64,
) -> Result<StreamWriter<BufWriter<File>>, Error> {
    let mut stream = create_file(path, &profile.meta)?.max_size(max_size);
    stream.flush(profile)?;
    Ok(stream)
}

/// Gives each sample the names that its addresses had when it was taken, if generated code was
/// replaced later.
pub(crate) fn split_names(path: &Path, split: &Split, samples: usize) -> Result<(), Error> {
    /// The samples have to be in memory for it.
    const MOST: usize = 8 << 20;
    if samples > MOST {
        return Ok(());
    }
    let (mut profile, _) = read_file(path)?;
    split.apply(&mut profile);
    write_file(path, &profile)
}

/// The number of rows of the stack table that a file of this size has room for beside its samples.
pub(crate) fn stacks_within(max_size: u64) -> usize {
    /// The bytes of a row in a file where no two stacks are alike.
    const BYTES: u64 = 3;
    /// A quarter of the file is for stacks.
    const PART: u64 = 4;
    /// Fewer would not hold even the ordinary stacks of a program.
    const LEAST: usize = 1 << 12;
    let rows = usize::try_from(max_size / BYTES / PART).unwrap_or(usize::MAX);
    rows.clamp(LEAST, profundo_ingest::MOST_STACKS)
}

#[cfg(test)]
mod tests;
