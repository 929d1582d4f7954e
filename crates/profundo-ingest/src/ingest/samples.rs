//! Samples on their way into the profile.
//!
//! They come chunk by chunk, each chunk in the order of one thread's time, and are held back until
//! two more clock events have come. By then every thread's earlier samples are there. A sample
//! whose code objects are unknown waits for them.

use profundo_model::{LocationId, Profile, Sample, StringId};
use profundo_wire::SampleHead;

use crate::clock::Clock;
use crate::heap::AllocationRecord;
use crate::spans::Spans;

/// The number of clock events before a sample with missing code objects is taken as it is: the
/// records of another thread may come later.
pub(super) const PATIENCE: u8 = 3;

/// The limit of held back samples. Without clock events, samples are appended in the order of
/// arrival.
const HELD_BACK: usize = 1 << 18;

/// Samples that are not in the profile yet.
#[derive(Debug, Default)]
pub(super) struct Samples {
    /// Samples held back, with the cycle counter in place of the time, and the ticket of the span's
    /// path in place of its row.
    held_back: Vec<Sample>,
    /// Samples that wait for a code object.
    pub(super) waiting: Vec<Waiting>,
    /// The last sample of an allocation, until its allocation record comes.
    pub(super) allocating: Option<Sample>,
    /// The time up to which samples are flushed at the next clock event.
    pub(super) flush_until: u64,
}

/// A sample that waits for a code object.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) process: u32,
    pub(super) head: SampleHead,
    pub(super) words: Box<[u64]>,
    /// The wait of its thread.
    pub(super) wait: Option<LocationId>,
    /// The file of its system call.
    pub(super) file: StringId,
    /// Its allocation.
    pub(super) allocated: Option<AllocationRecord>,
    /// The number of times that it was tried again.
    pub(super) retries: u8,
}

impl Samples {
    /// The number of samples held back, or waiting.
    pub(super) fn len(&self) -> usize {
        self.held_back.len() + self.waiting.len()
    }

    /// Whether as many samples as possible are held back.
    pub(super) fn is_full(&self) -> bool {
        self.held_back.len() >= HELD_BACK
    }

    /// Holds a sample back.
    pub(super) fn push(&mut self, sample: Sample) {
        self.held_back.push(sample);
    }

    /// The last sample, if it waits and is that of a process at a time.
    pub(super) fn last_waiting(&mut self, process: u32, clock: u64) -> Option<&mut Waiting> {
        let last = self.waiting.last_mut();
        last.filter(|sample| sample.process == process && sample.head.clock == clock)
    }

    /// Sets the file of the last sample's system call, if that sample is of this process and time.
    pub(super) fn set_file(&mut self, process: u32, clock: u64, file: StringId) {
        if let Some(waiting) = self.last_waiting(process, clock) {
            waiting.file = file;
        } else if let Some(sample) = self.held_back.last_mut()
            && sample.clock == clock
        {
            sample.file = file;
        }
    }

    /// Sets the file of the sample that was held back last.
    pub(super) fn set_last_file(&mut self, file: StringId) {
        if let Some(sample) = self.held_back.last_mut() {
            sample.file = file;
        }
    }

    /// Takes the sample of an allocation, if it was at this time.
    pub(super) fn take_allocating(&mut self, clock: u64) -> Option<Sample> {
        (self.allocating.take()).filter(|sample| sample.clock == clock)
    }

    /// Drops the samples held back.
    pub(super) fn clear(&mut self) {
        self.held_back.clear();
    }

    /// Appends the samples up to a time to the profile, in order.
    pub(super) fn flush(
        &mut self,
        until: u64,
        clock: Clock,
        spans: &mut Spans,
        profile: &mut Profile,
    ) {
        if self.held_back.is_empty() {
            return;
        }
        // Each chunk is one thread's, in order; together they are merged by the clock they share.
        self.held_back.sort_by_key(|sample| sample.clock);
        let ripe = self
            .held_back
            .partition_point(|sample| sample.clock <= until);
        for sample in self.held_back.drain(..ripe) {
            let span = spans.row(sample.span.0, profile);
            profile.samples.push(Sample {
                time: clock.since_start(sample.clock),
                span,
                ..sample
            });
        }
    }
}
