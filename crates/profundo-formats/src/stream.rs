//! The saved file, written while the recording goes on.

use std::io::Write;

use profundo_model::{Gauge, Growing, Many, Meta, Profile, Sample, SyscallCount, Traffic};

use crate::coarse::Coarse;
use crate::current::{self, Stream};
use crate::{Error, header};

/// The part of the file's limit that is kept for the end: names.
const RESERVE: u64 = 16;

/// The rows of traffic or memory that are worth a chunk while the file grows.
const ROWS: usize = 256;

/// Writes a profile while it grows.
///
/// Wherever the file is cut, [`crate::read`] returns the part before the cut; only the last
/// samples, without a [`StreamWriter::flush`] after them, are not in it. Samples, and data needed
/// only while the profile grows, are taken out of the profile as they are written.
///
/// ```
/// use profundo_model::Profile;
/// use profundo_formats::StreamWriter;
///
/// let mut profile = Profile::default();
/// let mut file = StreamWriter::new(Vec::new(), &profile.meta)?;
/// let more = Profile::from_folded("main;work 3").unwrap();
/// profile = more.clone();
/// file.flush(&mut profile)?;
/// assert!(profile.samples.is_empty());
/// let bytes = file.finish(&mut profile)?;
/// assert_eq!(profundo_formats::read(&bytes)?.0.samples, more.samples);
/// # Ok::<(), profundo_formats::Error>(())
/// ```
pub struct StreamWriter<W: Write> {
    stream: Stream<W>,
    coarse: Coarse,
    /// Samples to be written, merged where the file is too large.
    ready: Vec<Sample>,
    /// Traffic to be written, merged like samples.
    traffic: Vec<Traffic>,
    /// Counts of system calls to be written, merged like samples.
    syscalls: Vec<SyscallCount>,
    /// Gauges to be written.
    gauges: Vec<Gauge>,
    /// The samples behind rows, to be written at the end, with the number of the first row of each
    /// list.
    summed: Vec<(usize, Vec<Many>)>,
}

impl<W: Write> StreamWriter<W> {
    /// Starts a file. Give it a buffer where many small writes are expensive.
    pub fn new(mut out: W, meta: &Meta) -> Result<Self, Error> {
        header::write(&mut out, current::VERSION)?;
        Ok(Self {
            stream: Stream::new(out, header::LEN, meta)?,
            coarse: Coarse::new(u64::MAX),
            ready: Vec::new(),
            traffic: Vec::new(),
            syscalls: Vec::new(),
            gauges: Vec::new(),
            summed: Vec::new(),
        })
    }

    /// Limits the bytes of the file. From half of that on, samples of one thread, task, stack and
    /// state within a stretch of time are merged, with the sum of their weights; the stretches grow
    /// with the file.
    pub fn max_size(mut self, bytes: u64) -> Self {
        self.coarse = Coarse::new(bytes - bytes / RESERVE);
        self
    }

    /// The number of bytes of the file.
    pub fn size(&self) -> u64 {
        self.stream.size()
    }

    /// The number of samples of the file.
    pub fn samples(&self) -> usize {
        self.stream.samples()
    }

    /// Takes the profile's samples, and writes them where there are enough for a good chunk.
    pub fn append(&mut self, profile: &mut Profile) -> Result<(), Error> {
        self.take(profile);
        self.write_rows(profile, ROWS)?;
        if self.ready.len() >= current::BATCH {
            self.write_ready(profile)?;
        }
        Ok(())
    }

    /// Takes the profile's samples and its growing parts, and writes all that is ready. Samples
    /// that are being merged are not, until their stretch of time is over.
    pub fn flush(&mut self, profile: &mut Profile) -> Result<(), Error> {
        self.take(profile);
        self.stream.growing(profile)?;
        profile.growing = Growing::default();
        self.write_ready(profile)?;
        self.write_heap(profile)?;
        self.write_rows(profile, ROWS)?;
        self.stream.get_mut().flush().map_err(Error::Write)
    }

    /// Writes changed rows again: threads, processes, tasks, modules and the recording as a whole.
    /// Every few seconds is often enough: it is for a file that is cut.
    pub fn update(&mut self, profile: &Profile) -> Result<(), Error> {
        self.write_rows(profile, 1)?;
        self.stream.update(profile)?;
        self.stream.get_mut().flush().map_err(Error::Write)
    }

    /// Writes all missing rows (names, source lines, changes) and the end mark. The profile's notes
    /// mention merged samples. Returns the writer.
    pub fn finish(mut self, profile: &mut Profile) -> Result<W, Error> {
        self.take(profile);
        profile.growing = Growing::default();
        self.ready.extend(self.coarse.end());
        self.write_ready(profile)?;
        for (first, many) in std::mem::take(&mut self.summed) {
            self.stream.summed(&many, first)?;
        }
        self.traffic.extend(self.coarse.end_traffic());
        self.syscalls.extend(self.coarse.end_syscalls());
        self.gauges.extend(self.coarse.end_gauges());
        self.write_rows(profile, 1)?;
        self.write_heap(profile)?;
        profile.meta.notes.extend(self.coarse.notes());
        let mut out = self.stream.finish(profile)?;
        out.flush().map_err(Error::Write)?;
        Ok(out)
    }

    fn take(&mut self, profile: &mut Profile) {
        let many = std::mem::take(&mut profile.gathered).rows;
        if !many.is_empty() {
            let first = self.stream.samples() + self.ready.len();
            self.summed.push((first, many));
        }
        let samples = profile.samples.drain(..);
        self.coarse
            .pass(self.stream.size(), samples, &mut self.ready);
        let traffic = profile.traffic.drain(..);
        self.coarse.pass_traffic(traffic, &mut self.traffic);
        let syscalls = profile.syscalls.drain(..);
        self.coarse.pass_syscalls(syscalls, &mut self.syscalls);
        let gauges = profile.heap.gauges.drain(..);
        self.coarse.pass_gauges(gauges, &mut self.gauges);
    }

    /// Takes the profile's blocks, and the rest of its heap but the sums, and writes them.
    fn write_heap(&mut self, profile: &mut Profile) -> Result<(), Error> {
        let blocks = self.coarse.pass_heap(self.stream.size(), &mut profile.heap);
        self.stream.heap(profile, &blocks)?;
        let heap = &mut profile.heap;
        heap.ends.clear();
        heap.unreachable.clear();
        heap.copies.clear();
        heap.moments.clear();
        Ok(())
    }

    /// Writes other rows than samples, of each kind with at least `worth` of them.
    fn write_rows(&mut self, profile: &Profile, worth: usize) -> Result<(), Error> {
        if self.traffic.len() >= worth {
            let rows = std::mem::take(&mut self.traffic);
            self.stream.traffic(profile, &rows)?;
        }
        if self.syscalls.len() >= worth {
            let rows = std::mem::take(&mut self.syscalls);
            self.stream.syscalls(profile, &rows)?;
        }
        if self.gauges.len() >= worth {
            let rows = std::mem::take(&mut self.gauges);
            self.stream.gauges(profile, &rows)?;
        }
        Ok(())
    }

    fn write_ready(&mut self, profile: &Profile) -> Result<(), Error> {
        let ready = std::mem::take(&mut self.ready);
        let written = self.stream.batches(profile, &ready);
        self.ready = ready;
        self.ready.clear();
        written
    }
}

impl<W: Write> std::fmt::Debug for StreamWriter<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StreamWriter")
            .field("size", &self.size())
            .field("samples", &self.samples())
            .field("coarse", &self.coarse)
            .finish_non_exhaustive()
    }
}
