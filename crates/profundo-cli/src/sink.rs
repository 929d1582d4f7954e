//! From what the recorder tells to the file: the profile grows in memory, and what is complete is
//! written at once, so that little is lost if this process is killed.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use profundo_formats::{Error, StreamWriter, create_file, read_file, write_file};
use profundo_ingest::{Ingest, Split};
use profundo_model::Profile;
use profundo_remote::Lines;
use profundo_wire::recording::{Event, Finish, Start};

use crate::asked::Asked;
use crate::qualified;
use crate::run::UNBEGUN;
use crate::tallies::Tallied;
use crate::{naming, open, sources};

/// How long samples wait in memory.
const FLUSH: Duration = Duration::from_millis(250);
/// How often what has changed is written again.
const UPDATE: Duration = Duration::from_secs(5);

/// A recording in the making.
pub struct Sink {
    ingest: Ingest,
    /// Gone once it has failed.
    writer: Option<StreamWriter<BufWriter<File>>>,
    failure: Option<Error>,
    path: PathBuf,
    /// Where the file goes as soon as there is something to record. Until then an older recording stays there.
    place: Option<PathBuf>,
    max_size: u64,
    /// What each stack weighs: the samples themselves leave the memory.
    weights: Vec<u64>,
    flushed: Instant,
    updated: Instant,
    /// What was to be traced, if anything was.
    asked: Option<Asked>,
    /// What compilers' counters say.
    tallied: Tallied,
    /// The source text that only the programs have.
    in_memory: sources::InMemory,
}

/// A recording that is done.
#[derive(Debug)]
pub struct Done {
    /// How many samples are in the file.
    pub samples: usize,
    /// What the reader has to know about the recording.
    pub notes: Vec<String>,
    /// Why the file is not whole, if it is not.
    pub failure: Option<Error>,
}

impl Sink {
    /// Begins the file.
    pub fn create(path: &Path, start: Start, max_size: u64) -> Result<Self> {
        let mut ingest = Ingest::new(start)
            .max_stacks(stacks_within(max_size))
            .qualified_names(qualified::by_source());
        // Whenever we are killed, there is a file that can be read and gone on with.
        let writer = begin(path, ingest.profile_mut(), max_size)
            .map_err(|error| open::why_not_written(path, error))
            .context(UNBEGUN)?;
        let now = Instant::now();
        Ok(Self {
            ingest,
            writer: Some(writer),
            failure: None,
            path: path.to_owned(),
            place: None,
            max_size,
            weights: Vec::new(),
            flushed: now,
            updated: now,
            asked: None,
            tallied: Tallied::default(),
            in_memory: sources::InMemory::default(),
        })
    }

    /// Begins the file, but leaves an older recording where it is, up to [`Sink::take_place`].
    pub fn create_beside(path: &Path, start: Start, max_size: u64) -> Result<Self> {
        // A symbolic link stays one.
        let place = fs::canonicalize(path).ok().filter(|it| it.is_file());
        let Some((place, name)) =
            place.and_then(|it| Some((it.clone(), it.file_name()?.to_owned())))
        else {
            return Self::create(path, start, max_size);
        };
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}.new", std::process::id()));
        let mut sink = Self::create(&place.with_file_name(hidden), start, max_size)?;
        sink.place = Some(place);
        Ok(sink)
    }

    /// The program has begun: from now on the file has its name.
    pub fn take_place(&mut self) -> Result<()> {
        if let Some(place) = self.place.take() {
            fs::rename(&self.path, &place)
                .with_context(|| format!("cannot replace {}", place.display()))?;
            self.path = place;
        }
        Ok(())
    }

    /// Nothing will be recorded: no file is left.
    pub fn discard(self) {
        // What cannot be removed stays.
        let _ = fs::remove_file(&self.path);
    }

    /// What is to be traced, if anything is.
    pub fn asked(mut self, asked: Option<Asked>) -> Self {
        self.asked = asked;
        self
    }

    /// Whose code it is, where that is said.
    pub fn own_code(mut self, mine: &[String]) -> Self {
        crate::own_code::add(self.ingest.profile_mut(), mine);
        self
    }

    /// Of compilers' counters, lines are wanted instead of calls.
    pub fn with_lines(mut self, lines: Option<Lines>) -> Self {
        self.tallied = Tallied::new(lines);
        self
    }

    /// Takes in what the recorder tells.
    pub fn event(&mut self, event: Event<'_>) {
        if let Event::Tallies { process, tallies } = event {
            return self.tallied.keep(process, tallies);
        }
        let is_cleared = matches!(event, Event::Cleared(_));
        let has_code = matches!(event, Event::Words { .. });
        self.ingest.event(event);
        if has_code {
            // Before the names of new files are written.
            self.in_memory.look(self.ingest.profile_mut());
        }
        if is_cleared && self.writer.is_some() {
            self.begin_anew();
        }
    }

    /// What is in the file is not to be in it: it is written anew, from what is to stay.
    fn begin_anew(&mut self) {
        // What names the records of a program that is told of no more. It is wanted only if we are killed, and
        // what comes later goes before it.
        let kept = read_file(&self.path).map(|(profile, _)| profile.growing);
        let profile = self.ingest.profile_mut();
        let mut growing = kept.unwrap_or_default();
        growing.codes.append(&mut profile.growing.codes);
        growing.mappings.append(&mut profile.growing.mappings);
        profile.growing = growing;
        self.weights.clear();
        match begin(&self.path, profile, self.max_size) {
            Ok(writer) => self.writer = Some(writer),
            Err(error) => {
                self.failure = Some(error);
                self.writer = None;
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

    /// Writes what is ready, from time to time. Returns whether the file can still grow.
    pub fn turn(&mut self) -> bool {
        let now = Instant::now();
        let flushes = now.duration_since(self.flushed) >= FLUSH;
        // Together with what is ready: else its turn would pass without it.
        let updates = flushes && now.duration_since(self.updated) >= UPDATE;
        if flushes {
            self.flushed = now;
        }
        if updates {
            self.updated = now;
        }
        let Some(writer) = &mut self.writer else {
            // Nobody will want them.
            let profile = self.ingest.profile_mut();
            profile.samples.clear();
            profile.traffic.clear();
            profile.heap.taken += profile.heap.blocks.len() as u64;
            profile.heap.blocks.clear();
            profile.heap.ends.clear();
            profile.heap.unreachable.clear();
            profile.heap.copies.clear();
            profile.heap.moments.clear();
            profile.heap.gauges.clear();
            return false;
        };
        if !flushes {
            return true;
        }
        if updates {
            self.ingest.name_generated();
        }
        let profile = self.ingest.profile_mut();
        weigh(&mut self.weights, profile);
        let written = writer.flush(profile).and_then(|()| match updates {
            true => writer.update(profile),
            false => Ok(()),
        });
        if let Err(error) = written {
            self.failure = Some(error);
            self.writer = None;
        }
        self.writer.is_some()
    }

    /// Adds names and source lines and ends the file.
    pub fn finish(mut self, finish: Finish, keeps_source: bool) -> Done {
        if let Some(asked) = &self.asked {
            self.ingest.profile_mut().traced.tracing = asked.tracing();
        }
        for event in std::mem::take(&mut self.tallied).finish() {
            self.ingest.event(event);
        }
        let (mut profile, split) = self.ingest.finish_unsplit(finish);
        if let Some(asked) = &self.asked {
            asked.tell(&mut profile);
        }
        weigh(&mut self.weights, &profile);
        weigh_sums(&mut self.weights, &profile);
        let Some(writer) = self.writer else {
            return Done {
                samples: 0,
                notes: profile.meta.notes,
                failure: self.failure,
            };
        };
        let samples = writer.samples() + profile.samples.len();
        naming::complete(&mut profile, samples);
        if keeps_source {
            sources::keep(&mut profile, &self.weights, &self.in_memory);
        }
        let written = writer.finish(&mut profile);
        let written = written.and_then(|_| match split.is_needed() {
            true => tell_apart(&self.path, &split, samples),
            false => Ok(()),
        });
        Done {
            samples,
            failure: written.err(),
            notes: profile.meta.notes,
        }
    }
}

/// A file with what there is so far.
fn begin(
    path: &Path,
    profile: &mut Profile,
    max_size: u64,
) -> Result<StreamWriter<BufWriter<File>>, Error> {
    let mut writer = create_file(path, &profile.meta)?.max_size(max_size);
    writer.flush(profile)?;
    Ok(writer)
}

/// Gives each sample in the file the names that its addresses had when it was taken, where code that
/// the program made has since become other code.
fn tell_apart(path: &Path, split: &Split, samples: usize) -> Result<(), Error> {
    /// They have to be in memory for it.
    const MOST: usize = 8 << 20;
    if samples > MOST {
        return Ok(());
    }
    let (mut profile, _) = read_file(path)?;
    split.apply(&mut profile);
    write_file(path, &profile)
}

/// How many rows of the stack table a file of this size has room for beside its samples.
fn stacks_within(max_size: u64) -> usize {
    /// What a row takes in the file where no two stacks are alike.
    const BYTES: u64 = 3;
    /// A quarter of the file is for them.
    const PART: u64 = 4;
    /// Fewer would not even tell the ordinary stacks of a program.
    const LEAST: usize = 1 << 12;
    let rows = usize::try_from(max_size / BYTES / PART).unwrap_or(usize::MAX);
    rows.clamp(LEAST, profundo_ingest::MOST_STACKS)
}

#[cfg(test)]
mod tests;

/// Adds what exact sums weigh, which stay in the profile while it grows.
pub fn weigh_sums(weights: &mut Vec<u64>, profile: &Profile) {
    weights.resize(profile.stacks.len(), 0);
    for site in &profile.heap.sites {
        let weight = &mut weights[site.stack.index()];
        *weight = weight.saturating_add(site.allocated.bytes);
    }
}

/// Adds up what each stack weighs. A byte is as good as a nanosecond: a gigabyte that is allocated matters about as much
/// as a second.
pub fn weigh(weights: &mut Vec<u64>, profile: &Profile) {
    weights.resize(profile.stacks.len(), 0);
    for sample in &profile.samples {
        weights[sample.stack.index()] += sample.weight.0.max(1);
    }
    let heap = &profile.heap;
    for block in &heap.blocks {
        let weight = &mut weights[block.stack.index()];
        let bytes = heap.sampling.weight_of(block) * block.size as f64;
        *weight = weight.saturating_add(bytes as u64);
    }
}
