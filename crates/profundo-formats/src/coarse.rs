//! A file has an end, a recording need not: time is made coarser as the file fills.
//!
//! Half of the file is for samples as they are. Then samples of one thread, task, stack and state
//! within a stretch of time become one, with the sum of their weights. Half of what is left is for
//! stretches of one length, half of the rest for stretches twice as long, and so on: the file never
//! fills, and no weight is lost. The threads' traffic is added up in the same stretches, and the
//! extremes of the processes' memory are kept. Fewer blocks are kept, each of which stands for
//! more.

mod blocks;
mod gauges;
mod syscalls;

use profundo_model::{
    Block, Gauge, Gil, Heap, Nanos, Sample, Sampling, SpanId, StackId, State, StringId,
    SyscallCount, TaskId, ThreadId, Traffic,
};
use rustc_hash::FxHashMap;

use blocks::{Thinned, stays};
use gauges::Extremes;

/// The length of the first stretches.
const SECOND: u64 = 1_000_000_000;

/// The common properties of samples that become one.
type Key = (ThreadId, TaskId, SpanId, StackId, State, Gil, StringId);

/// Merges samples once the file has a size.
#[derive(Debug)]
pub(crate) struct Coarse {
    limit: u64,
    /// The size of the file, with the waiting samples.
    size: u64,
    /// The size at which the length of stretches doubles.
    next: u64,
    /// The length of stretches; 0 while samples stay as they are.
    stretch: u64,
    /// The present stretch, by number.
    now: u64,
    merged: FxHashMap<Key, usize>,
    samples: Vec<Sample>,
    /// The start of merging.
    since: Option<Nanos>,
    /// The traffic of each thread in its present stretch.
    traffic: FxHashMap<ThreadId, Traffic>,
    syscalls: syscalls::Sums,
    gauges: Extremes,
    blocks: Thinned,
    /// The sampling of blocks.
    sampling: Sampling,
    /// The number of copies.
    copies: u64,
}

impl Coarse {
    pub(crate) fn new(limit: u64) -> Self {
        Self {
            limit,
            size: 0,
            next: limit / 2,
            stretch: 0,
            now: 0,
            merged: FxHashMap::default(),
            samples: Vec::new(),
            since: None,
            traffic: FxHashMap::default(),
            syscalls: syscalls::Sums::default(),
            gauges: Extremes::default(),
            blocks: Thinned::default(),
            sampling: Sampling::None,
            copies: 0,
        }
    }

    /// Passes samples on to `ready`, which will follow the file's `written` bytes.
    pub(crate) fn pass(
        &mut self,
        written: u64,
        samples: impl Iterator<Item = Sample>,
        ready: &mut Vec<Sample>,
    ) {
        // Waiting samples will take some bytes, too.
        let size = written + 9 * (ready.len() + self.samples.len()) as u64;
        self.reach(size);
        if self.stretch == 0 {
            ready.extend(samples);
            return;
        }
        for sample in samples {
            self.since.get_or_insert(sample.time);
            let number = sample.time.0 / self.stretch;
            if number > self.now {
                ready.extend(self.end());
                self.now = number;
            }
            self.merge(sample);
        }
    }

    /// The file will have this size.
    fn reach(&mut self, size: u64) {
        self.size = self.size.max(size);
        while size >= self.next && self.next < self.limit {
            self.stretch = (self.stretch * 2).max(SECOND);
            self.next += (self.limit - self.next).div_ceil(2);
        }
    }

    /// The present number of halvings of a block's probability.
    fn halvings(&self) -> u8 {
        blocks::halvings(self.size, self.limit)
    }

    /// Takes the blocks of a heap that are to follow the file's `written` bytes, and keeps the
    /// remaining ends and copies.
    pub(crate) fn pass_heap(&mut self, written: u64, heap: &mut Heap) -> Vec<Block> {
        /// The approximate bytes of a block in the file, with its end.
        const BYTES: u64 = 20;
        self.sampling = heap.sampling;
        let mut ready: Vec<Block> = Vec::new();
        for (row, block) in (heap.taken..).zip(heap.blocks.drain(..)) {
            self.reach(written + BYTES * ready.len() as u64);
            let halvings = self.halvings();
            ready.extend(self.blocks.block(row, block, heap.sampling, halvings));
            heap.taken = row + 1;
        }
        self.blocks.ends(heap);
        let (copying, halvings) = (heap.copying, self.halvings());
        heap.copies.retain_mut(|copied| {
            self.copies += 1;
            copied.doublings = halvings;
            stays(self.copies, copied.size, copying, halvings)
        });
        ready
    }

    fn merge(&mut self, sample: Sample) {
        let Sample {
            thread,
            task,
            span,
            stack,
            state,
            gil,
            file,
            ..
        } = sample;
        let next = self.samples.len();
        let place = *self
            .merged
            .entry((thread, task, span, stack, state, gil, file))
            .or_insert(next);
        match self.samples.get_mut(place) {
            Some(first) => first.weight.0 = first.weight.0.saturating_add(sample.weight.0),
            None => self.samples.push(sample),
        }
    }

    /// The samples of the present stretch, which is over.
    pub(crate) fn end(&mut self) -> impl Iterator<Item = Sample> {
        self.merged.clear();
        std::mem::take(&mut self.samples).into_iter()
    }

    /// Passes on the threads' traffic. To be called after [`Self::pass`].
    pub(crate) fn pass_traffic(
        &mut self,
        rows: impl Iterator<Item = Traffic>,
        ready: &mut Vec<Traffic>,
    ) {
        if self.stretch == 0 {
            ready.extend(rows);
            return;
        }
        for row in rows {
            let stretch = |row: &Traffic| row.to.0 / self.stretch;
            match self.traffic.get_mut(&row.thread) {
                Some(sum) if stretch(sum) == stretch(&row) => {
                    sum.from = sum.from.min(row.from);
                    sum.to = sum.to.max(row.to);
                    sum.waits = sum.waits.saturating_add(row.waits);
                    sum.bytes += row.bytes;
                }
                Some(sum) => ready.push(std::mem::replace(sum, row)),
                None => drop(self.traffic.insert(row.thread, row)),
            }
        }
    }

    /// The traffic of unfinished stretches, at the end.
    pub(crate) fn end_traffic(&mut self) -> impl Iterator<Item = Traffic> {
        let mut rows: Vec<Traffic> = self.traffic.drain().map(|(_, row)| row).collect();
        rows.sort_by_key(|row| (row.from, row.thread));
        rows.into_iter()
    }

    /// Passes on counts of system calls. To be called after [`Self::pass`].
    pub(crate) fn pass_syscalls(
        &mut self,
        rows: impl Iterator<Item = SyscallCount>,
        ready: &mut Vec<SyscallCount>,
    ) {
        match self.stretch {
            0 => ready.extend(rows),
            stretch => rows.for_each(|row| self.syscalls.pass(row, stretch, ready)),
        }
    }

    /// The counts of unfinished stretches, at the end.
    pub(crate) fn end_syscalls(&mut self) -> Vec<SyscallCount> {
        self.syscalls.end()
    }

    /// Passes on the processes' gauges. To be called after [`Self::pass`].
    pub(crate) fn pass_gauges(
        &mut self,
        rows: impl Iterator<Item = Gauge>,
        ready: &mut Vec<Gauge>,
    ) {
        for row in rows {
            match self.stretch {
                0 => ready.push(row),
                stretch => self.gauges.pass(row, stretch, ready),
            }
        }
    }

    /// The gauges of unfinished stretches, at the end.
    pub(crate) fn end_gauges(&mut self) -> Vec<Gauge> {
        self.gauges.end()
    }

    /// Sentences for the reader, if samples were merged or blocks left out.
    pub(crate) fn notes(&self) -> impl Iterator<Item = String> {
        let samples = self.note_of_samples();
        samples.into_iter().chain(self.note_of_blocks())
    }

    fn note_of_blocks(&self) -> Option<String> {
        let since = self.blocks.since()?;
        let last = match self.sampling.rarer(self.halvings()) {
            Sampling::Bytes(mean) => format!("one about each {:.1} MB", mean as f64 / 1e6),
            Sampling::Events(rate) => format!("one in {:.0}", 1.0 / rate),
            _ => return None,
        };
        Some(format!(
            "the file came near its largest size: from {:.1} s on, fewer allocations are kept (at the end {last}), \
             each of which stands for more; their ranges are as much wider",
            since.0 as f64 / 1e9
        ))
    }

    fn note_of_samples(&self) -> Option<String> {
        let since = self.since?;
        Some(format!(
            "the file came near its largest size: from {:.1} s on, equal samples within a stretch \
             of time (at the end {} s) are one, with the sum of their weights",
            since.0 as f64 / 1e9,
            self.stretch / SECOND
        ))
    }
}
