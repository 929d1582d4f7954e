//! A file that grows with its profile.
//!
//! Chunks are only ever appended, and each batch of samples stands behind the rows that it needs,
//! so whatever the file is cut to, it is a file. Rows that are known better later (a thread that
//! got its name, a process that ended, an address whose code was told of or looked up) are written again under the
//! same kind in small letters.

use std::io::Write;
use std::ops::Range;

use profundo_model::{
    Block, FrameId, Gauge, Meta, Module, Process, Profile, Sample, Site, Task, Thread, Traffic,
};

use super::chunk::{self, Kind};
use super::write::{BATCH, Encode, Encoder, ROWS};
use super::{owner, place};
use crate::Error;

/// The chunks of a growing file.
pub(crate) struct Stream<W> {
    encoder: Encoder<W>,
    meta: Meta,
    /// The rows in the file, to tell which of them have changed.
    processes: Vec<Process>,
    threads: Vec<Thread>,
    tasks: Vec<Task>,
    modules: Vec<Module>,
    frames: Vec<Box<[FrameId]>>,
    sites: Vec<Site>,
}

impl<W: Write> Stream<W> {
    /// Begins a file whose header is `offset` bytes long.
    pub(crate) fn new(out: W, offset: usize, meta: &Meta) -> Result<Self, Error> {
        let mut encoder = Encoder::new(out, offset);
        encoder.meta(meta)?;
        Ok(Self {
            encoder,
            meta: meta.clone(),
            processes: Vec::new(),
            threads: Vec::new(),
            tasks: Vec::new(),
            modules: Vec::new(),
            frames: Vec::new(),
            sites: Vec::new(),
        })
    }

    /// How many bytes the file has.
    pub(crate) fn size(&self) -> u64 {
        self.encoder.out.offset() as u64
    }

    /// How many samples it has.
    pub(crate) fn samples(&self) -> usize {
        self.encoder.written.samples
    }

    /// What the file is written to.
    pub(crate) fn get_mut(&mut self) -> &mut W {
        self.encoder.out.get_mut()
    }

    /// Appends samples of `profile`, whatever its own list holds.
    pub(crate) fn batches(&mut self, profile: &Profile, samples: &[Sample]) -> Result<(), Error> {
        for batch in samples.chunks(BATCH) {
            self.encoder.samples(profile, batch)?;
        }
        self.remember(profile);
        Ok(())
    }

    /// Appends what threads have read and written.
    pub(crate) fn traffic(&mut self, profile: &Profile, rows: &[Traffic]) -> Result<(), Error> {
        self.encoder.traffic(profile, rows)?;
        self.remember(profile);
        Ok(())
    }

    /// Appends what was allocated: `blocks`, and what of the rest of the profile's heap is new.
    pub(crate) fn heap(&mut self, profile: &Profile, blocks: &[Block]) -> Result<(), Error> {
        self.encoder.heap(profile, blocks)?;
        self.remember(profile);
        Ok(())
    }

    /// Appends what processes had of the machine's memory.
    pub(crate) fn gauges(&mut self, profile: &Profile, rows: &[Gauge]) -> Result<(), Error> {
        self.encoder.gauges(profile, rows)?;
        self.remember(profile);
        Ok(())
    }

    /// Appends what has changed in the sums by stack.
    fn sites(&mut self, profile: &Profile) -> Result<(), Error> {
        let sites = &profile.heap.sites;
        let written = self.sites.len();
        let changed = changes(&self.sites, |row| self.sites[row] == sites[row]);
        for rows in changed {
            self.encoder.sites(profile, chunk::SITES_AGAIN, rows)?;
        }
        self.encoder
            .sites(profile, chunk::SITES, written..sites.len())?;
        self.sites.clone_from(sites);
        Ok(())
    }

    /// Appends what whoever goes on with the recording would need.
    pub(crate) fn growing(&mut self, profile: &Profile) -> Result<(), Error> {
        self.encoder.growing(profile)?;
        self.remember(profile);
        Ok(())
    }

    /// Appends what has changed in rows that are in the file.
    pub(crate) fn update(&mut self, profile: &Profile) -> Result<(), Error> {
        self.encoder.strings(profile, profile.strings.len())?;
        self.encoder.processes(profile, profile.processes.len())?;
        self.owners(profile)?;
        self.sites(profile)?;
        if self.meta != profile.meta {
            self.encoder.meta(&profile.meta)?;
            self.meta.clone_from(&profile.meta);
        }
        self.remember(profile);
        self.names(profile)
    }

    /// Appends all that is missing, and the end mark. Gives back what was written to.
    pub(crate) fn finish(mut self, profile: &Profile) -> Result<W, Error> {
        self.encoder.the_rest(profile)?;
        self.sites(profile)?;
        self.owners(profile)?;
        self.names(profile)?;
        self.encoder.meta(&profile.meta)?;
        self.encoder.end()
    }

    /// Appends the names that places have got since they were written.
    fn names(&mut self, profile: &Profile) -> Result<(), Error> {
        let locations: Vec<_> = profile
            .locations
            .iter()
            .map(|(_, row)| &row.frames)
            .collect();
        let changed = changes(&self.frames, |row| &self.frames[row] == locations[row]);
        if changed.is_empty() {
            return Ok(());
        }
        self.encoder.frames(profile, profile.frames.len())?;
        for row in changed.iter().cloned().flatten() {
            self.frames[row].clone_from(locations[row]);
        }
        let encode = place::locations::encode_frames;
        self.again(profile, chunk::LOCATIONS_NAMED, changed, encode)
    }

    fn owners(&mut self, profile: &Profile) -> Result<(), Error> {
        let processes = changes(&self.processes, |row| {
            self.processes[row] == profile.processes[row]
        });
        let threads: Vec<&Thread> = profile.threads.iter().map(|(_, row)| row).collect();
        let threads = changes(&self.threads, |row| self.threads[row] == *threads[row]);
        let tasks: Vec<&Task> = profile.tasks.iter().map(|(_, row)| row).collect();
        let tasks = changes(&self.tasks, |row| self.tasks[row] == *tasks[row]);
        let modules: Vec<&Module> = profile.modules.iter().map(|(_, row)| row).collect();
        let modules = changes(&self.modules, |row| self.modules[row] == *modules[row]);
        let encode = owner::processes::encode;
        self.again(profile, chunk::PROCESSES_AGAIN, processes, encode)?;
        self.again(
            profile,
            chunk::THREADS_AGAIN,
            threads,
            owner::threads::encode,
        )?;
        self.again(profile, chunk::TASKS_AGAIN, tasks, owner::tasks::encode)?;
        self.again(
            profile,
            chunk::MODULES_AGAIN,
            modules,
            place::modules::encode,
        )?;
        self.processes.clear();
        self.threads.clear();
        self.tasks.clear();
        self.modules.clear();
        self.remember(profile);
        Ok(())
    }

    fn again(
        &mut self,
        profile: &Profile,
        kind: Kind,
        parts: Vec<Range<usize>>,
        encode: Encode,
    ) -> Result<(), Error> {
        for rows in parts {
            self.encoder.emit(profile, kind, rows, encode)?;
        }
        Ok(())
    }

    /// Copies the rows that came into the file.
    fn remember(&mut self, profile: &Profile) {
        let written = &self.encoder.written;
        let new = self.processes.len()..written.processes;
        self.processes.extend_from_slice(&profile.processes[new]);
        let threads = profile.threads.iter().map(|(_, row)| *row);
        extend(&mut self.threads, threads, written.threads);
        let tasks = profile.tasks.iter().map(|(_, row)| *row);
        extend(&mut self.tasks, tasks, written.tasks);
        let modules = profile.modules.iter().map(|(_, row)| row);
        extend(&mut self.modules, modules, written.modules);
        let locations = profile.locations.iter().map(|(_, row)| &row.frames);
        extend(&mut self.frames, locations, written.locations);
        let sites = profile.heap.sites.iter().copied();
        extend(&mut self.sites, sites, written.sites);
    }
}

/// Extends `rows` to `len` by those of `all`, owned or not.
fn extend<T: Clone, R: std::borrow::Borrow<T>>(
    rows: &mut Vec<T>,
    all: impl Iterator<Item = R>,
    len: usize,
) {
    let known = rows.len();
    let new = all.skip(known).take(len - known);
    rows.extend(new.map(|row| row.borrow().clone()));
}

/// The rows that have changed, in parts that each fit a chunk.
fn changes<T>(rows: &[T], is_same: impl Fn(usize) -> bool) -> Vec<Range<usize>> {
    let parts = (0..rows.len()).step_by(ROWS);
    parts
        .filter_map(|start| {
            let mut part = start..rows.len().min(start + ROWS);
            let first = part.clone().find(|&row| !is_same(row))?;
            let last = part.rfind(|&row| !is_same(row))?;
            Some(first..last + 1)
        })
        .collect()
}
