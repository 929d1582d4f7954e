//! A file that grows with its profile.
//!
//! Chunks are only ever appended, and each batch of samples stands behind the rows that it needs,
//! so the file is valid wherever it is cut. Rows that change later (a thread gets its name, a
//! process ends, an address is named) are written again under the same kind in small letters.

use std::io::Write;
use std::ops::Range;

use profundo_model::{
    Block, FrameId, Gauge, Many, Meta, Module, Process, Profile, Sample, Site, SyscallCount, Task,
    Thread, Traffic,
};

use super::chunk::{self, Kind};
use super::write::{BATCH, Encode, Encoder, ROWS};
use super::{owner, place};
use crate::Error;

/// The chunks of a growing file.
pub(crate) struct Stream<W> {
    encoder: Encoder<W>,
    meta: Meta,
    /// The rows in the file, to find changed ones.
    processes: Vec<Process>,
    threads: Vec<Thread>,
    tasks: Vec<Task>,
    modules: Vec<Module>,
    frames: Vec<Box<[FrameId]>>,
    sites: Vec<Site>,
}

impl<W: Write> Stream<W> {
    /// Starts a file whose header is `offset` bytes long.
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

    /// The number of bytes of the file.
    pub(crate) fn size(&self) -> u64 {
        self.encoder.out.offset() as u64
    }

    /// Its number of samples.
    pub(crate) fn samples(&self) -> usize {
        self.encoder.written.samples
    }

    /// The underlying writer.
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

    /// Appends the samples behind rows.
    pub(crate) fn summed(&mut self, rows: &[Many], first: usize) -> Result<(), Error> {
        self.encoder.summed(rows, first)
    }

    /// Appends the traffic of threads.
    pub(crate) fn traffic(&mut self, profile: &Profile, rows: &[Traffic]) -> Result<(), Error> {
        self.encoder.traffic(profile, rows)?;
        self.remember(profile);
        Ok(())
    }

    /// Appends counts of system calls.
    pub(crate) fn syscalls(
        &mut self,
        profile: &Profile,
        rows: &[SyscallCount],
    ) -> Result<(), Error> {
        self.encoder.syscalls(profile, rows)?;
        self.remember(profile);
        Ok(())
    }

    /// Appends allocations: `blocks`, and the new part of the rest of the profile's heap.
    pub(crate) fn heap(&mut self, profile: &Profile, blocks: &[Block]) -> Result<(), Error> {
        self.encoder.heap(profile, blocks)?;
        self.remember(profile);
        Ok(())
    }

    /// Appends the memory of processes.
    pub(crate) fn gauges(&mut self, profile: &Profile, rows: &[Gauge]) -> Result<(), Error> {
        self.encoder.gauges(profile, rows)?;
        self.remember(profile);
        Ok(())
    }

    /// Appends changed sums by stack.
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

    /// Appends the data for continuing the recording.
    pub(crate) fn growing(&mut self, profile: &Profile) -> Result<(), Error> {
        self.encoder.growing(profile)?;
        self.remember(profile);
        Ok(())
    }

    /// Appends changed rows.
    pub(crate) fn update(&mut self, profile: &Profile) -> Result<(), Error> {
        self.encoder.strings(profile, profile.strings.len())?;
        self.encoder.origins(profile, profile.origins.len())?;
        self.encoder.processes(profile, profile.processes.len())?;
        self.encoder.threads(profile, profile.threads.len())?;
        self.encoder.tasks(profile, profile.tasks.len())?;
        self.encoder
            .span_paths(profile, profile.spans.paths.len())?;
        self.owners(profile)?;
        self.sites(profile)?;
        if self.meta != profile.meta {
            self.encoder.meta(&profile.meta)?;
            self.meta.clone_from(&profile.meta);
        }
        self.remember(profile);
        self.names(profile)
    }

    /// Appends all missing rows, and the end mark. Returns the writer.
    pub(crate) fn finish(mut self, profile: &Profile) -> Result<W, Error> {
        self.encoder.the_rest(profile)?;
        self.sites(profile)?;
        self.owners(profile)?;
        self.names(profile)?;
        self.encoder.meta(&profile.meta)?;
        self.encoder.end()
    }

    /// Appends new names of written places.
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
        self.write_rows(profile, chunk::LOCATIONS_NAMED, changed, encode)
    }

    fn owners(&mut self, profile: &Profile) -> Result<(), Error> {
        let processes = changes(&self.processes, |row| {
            self.processes[row] == profile.processes[row]
        });
        let thread_rows: Vec<&Thread> = profile.threads.iter().map(|(_, row)| row).collect();
        let threads = changes(&self.threads, |row| self.threads[row] == *thread_rows[row]);
        let task_rows: Vec<&Task> = profile.tasks.iter().map(|(_, row)| row).collect();
        let tasks = changes(&self.tasks, |row| self.tasks[row] == *task_rows[row]);
        let module_rows: Vec<&Module> = profile.modules.iter().map(|(_, row)| row).collect();
        let modules = changes(&self.modules, |row| self.modules[row] == *module_rows[row]);
        for row in processes.iter().cloned().flatten() {
            self.processes[row].clone_from(&profile.processes[row]);
        }
        for row in threads.iter().cloned().flatten() {
            self.threads[row] = *thread_rows[row];
        }
        for row in tasks.iter().cloned().flatten() {
            self.tasks[row] = *task_rows[row];
        }
        for row in modules.iter().cloned().flatten() {
            self.modules[row].clone_from(module_rows[row]);
        }
        let encode = owner::processes::encode;
        self.write_rows(profile, chunk::PROCESSES_AGAIN, processes, encode)?;
        self.write_rows(
            profile,
            chunk::THREADS_AGAIN,
            threads,
            owner::threads::encode,
        )?;
        self.write_rows(profile, chunk::TASKS_AGAIN, tasks, owner::tasks::encode)?;
        self.write_rows(
            profile,
            chunk::MODULES_AGAIN,
            modules,
            place::modules::encode,
        )?;
        Ok(())
    }

    fn write_rows(
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

    /// Copies the rows that were written to the file.
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

/// The changed rows, in parts that each fit a chunk. A few unchanged rows between them take less
/// than another chunk.
fn changes<T>(rows: &[T], is_same: impl Fn(usize) -> bool) -> Vec<Range<usize>> {
    /// The number of rows that take about as much as the head of a chunk.
    const BETWEEN: usize = 16;
    let mut parts: Vec<Range<usize>> = Vec::new();
    for row in (0..rows.len()).filter(|&row| !is_same(row)) {
        match parts.last_mut() {
            Some(last) if row - last.end <= BETWEEN && row - last.start < ROWS => {
                last.end = row + 1;
            }
            _ => parts.push(row..row + 1),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changed_rows_are_written_twice() {
        let rows = vec![0; 100_000];
        let changed = |rows_: &[usize]| changes(&rows, |row| !rows_.contains(&row));
        assert!(changed(&[]).is_empty());
        assert_eq!(changed(&[0, 99_999]), [0..1, 99_999..100_000]);
        assert_eq!(changed(&[5, 9, 25, 99]), [5..26, 99..100]);
        assert_eq!(changed(&[5, 9, 27]), [5..10, 27..28]);
        let all = changes(&rows, |_| false);
        assert!(all.iter().all(|part| part.len() <= ROWS));
        assert_eq!(all.iter().map(Range::len).sum::<usize>(), rows.len());
    }
}
