//! Allocations: by block, or as sums.

use profundo_model::{Heap, LocationKind, ProcessId, Reason};
use profundo_wire::recording::{SiteSum, Unreachable};
use rustc_hash::FxHashMap;

use super::Ingest;
use crate::heap::{AllocationRecord, Blocks, Moments, Sites};

/// The allocations of all processes.
#[derive(Debug)]
pub(super) struct Allocations {
    pub(super) blocks: Blocks,
    pub(super) sites: Sites,
}

impl Allocations {
    /// Continues after the rows of a profile.
    pub(super) fn after(heap: &Heap) -> Self {
        Self {
            blocks: Blocks::after(heap),
            sites: Sites::of(heap),
        }
    }
}

impl Ingest {
    /// Takes in the sums of allocations.
    pub(super) fn sums(&mut self, process: u32, now: u64, sums: &[SiteSum], peak: u64) {
        let has_others = sums
            .iter()
            .any(|sum| sum.number == 0 && sum.allocated[0] > 0);
        if has_others {
            self.provide_others(process);
        }
        let when = Moments {
            clock: self.clock,
            now,
        };
        let heap = &mut self.profile.heap;
        self.allocations.sites.retry(when, heap);
        for sum in sums
            .iter()
            .filter(|sum| sum.number > 0 || sum.allocated[0] > 0)
        {
            self.allocations.sites.sum(process, sum, when, heap);
        }
        self.allocations.sites.keep_highest(process, peak, heap);
    }

    /// Replaces peaks where a look saw more than the process itself.
    pub(super) fn mend_peaks(&mut self) {
        let profile = &mut self.profile;
        let mut threads: FxHashMap<ProcessId, u32> = FxHashMap::default();
        for (_, thread) in profile.threads.iter() {
            *threads.entry(thread.process).or_default() += 1;
        }
        let has_threads = |process| threads.get(&process).is_some_and(|&count| count > 1);
        self.allocations
            .sites
            .mend_peaks(has_threads, &mut profile.heap);
    }

    /// Takes in the unreachable blocks of a process.
    pub(super) fn unreachable(&mut self, process: u32, found: &Unreachable) {
        let (program, _) = self.programs.get(process, &mut self.profile);
        let heap = &mut self.profile.heap;
        heap.searched.push(program.id());
        match found {
            Unreachable::Blocks(numbers) => self.allocations.blocks.unreachable(process, numbers),
            Unreachable::Sites(found) => self.allocations.sites.unreachable(process, found, heap),
        }
    }

    /// Adds a row for the stacks without a number.
    fn provide_others(&mut self, process: u32) {
        if self.allocations.sites.knows_others(process) {
            return;
        }
        let (program, _) = self.programs.get(process, &mut self.profile);
        let (id, profile) = (program.id(), &mut self.profile);
        let not_kept = LocationKind::Reason(Reason::NotKept);
        let location = profile.locations.intern(not_kept, None);
        let stack = profile.stacks.intern(None, location);
        let heap = &mut self.profile.heap;
        self.allocations.sites.others(process, id, stack, heap);
    }

    /// Takes in the sums of unknown stacks: the writer of the file was killed before their records
    /// came.
    pub(super) fn take_in_unknown_sites(&mut self) {
        for (process, sum) in self.allocations.sites.take_unknown() {
            if sum.allocated[0] > 0 {
                self.provide_others(process);
                let heap = &mut self.profile.heap;
                self.allocations
                    .sites
                    .add_to_others(process, &sum, self.clock, heap);
            }
        }
    }

    /// Takes in the allocation of the last sample.
    pub(super) fn allocated(&mut self, process: u32, record: AllocationRecord) {
        let clock = record.clock();
        if let Some(waiting) = self.samples.last_waiting(process, clock) {
            waiting.allocated = Some(record);
            return;
        }
        let Some(sample) = self.samples.take_allocating(clock) else {
            return;
        };
        let Allocations { blocks, sites } = &mut self.allocations;
        match record {
            AllocationRecord::Block(block) if self.clock.is_before(clock) => {
                blocks.forget_one(process, &block);
            }
            AllocationRecord::Block(block) => blocks.block(process, &sample, &block),
            AllocationRecord::Site(site) => {
                let (program, _) = self.programs.get(process, &mut self.profile);
                let id = program.id();
                sites.site(process, id, &sample, &site, &mut self.profile.heap);
            }
        }
    }
}
