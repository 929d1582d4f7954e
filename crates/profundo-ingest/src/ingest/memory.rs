//! What is told of allocations: by the block, or in sums.

use profundo_model::{LocationKind, ProcessId, Reason};
use profundo_wire::recording::{SiteSum, Unreachable};
use rustc_hash::FxHashMap;

use super::Ingest;
use crate::heap::{AllocationRecord, Moments};

impl Ingest {
    /// Takes in what was allocated.
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
        self.sites.retry(when, heap);
        for sum in sums
            .iter()
            .filter(|sum| sum.number > 0 || sum.allocated[0] > 0)
        {
            self.sites.sum(process, sum, when, heap);
        }
        self.sites.looked(process, peak, heap);
    }

    /// Peaks that a look saw better than the process itself.
    pub(super) fn mend_peaks(&mut self) {
        let profile = &mut self.profile;
        let mut threads: FxHashMap<ProcessId, u32> = FxHashMap::default();
        for (_, thread) in profile.threads.iter() {
            *threads.entry(thread.process).or_default() += 1;
        }
        let has_threads = |process| threads.get(&process).is_some_and(|&count| count > 1);
        self.sites.mend_peaks(has_threads, &mut profile.heap);
    }

    /// It was looked which blocks of a process nobody points to.
    pub(super) fn unreachable(&mut self, process: u32, found: &Unreachable) {
        let ((program, ..), profile) = self.program(process);
        profile.heap.searched.push(program.id);
        let heap = &mut self.profile.heap;
        match found {
            Unreachable::Blocks(numbers) => self.blocks.unreachable(process, numbers),
            Unreachable::Sites(found) => self.sites.unreachable(process, found, heap),
        }
    }

    /// Sees to it that the stacks without a number have a row.
    fn provide_others(&mut self, process: u32) {
        if self.sites.knows_others(process) {
            return;
        }
        let ((program, ..), profile) = self.program(process);
        let id = program.id;
        let not_kept = LocationKind::Reason(Reason::NotKept);
        let location = profile.locations.intern(not_kept, None);
        let stack = profile.stacks.intern(None, location);
        let heap = &mut self.profile.heap;
        self.sites.others(process, id, stack, heap);
    }

    /// What was counted on stacks that were never told of (who wrote the file was killed before) was allocated all
    /// the same.
    pub(super) fn take_in_unknown_sites(&mut self) {
        for (process, sum) in self.sites.take_unknown() {
            if sum.allocated[0] > 0 {
                self.provide_others(process);
                let heap = &mut self.profile.heap;
                self.sites.add_to_others(process, &sum, self.clock, heap);
            }
        }
    }

    /// The sample that was just taken in has allocated something.
    pub(super) fn allocated(&mut self, process: u32, told: AllocationRecord) {
        let clock = told.clock();
        let waiting = self.waiting.last_mut();
        let waiting = waiting.filter(|it| it.process == process && it.head.clock == clock);
        if let Some(waiting) = waiting {
            waiting.allocated = Some(told);
            return;
        }
        let Some(sample) = self.allocating.take().filter(|it| it.clock == clock) else {
            return;
        };
        match told {
            AllocationRecord::Block(block) if self.clock.is_before(clock) => {
                self.blocks.forget_one(process, &block);
            }
            AllocationRecord::Block(block) => self.blocks.block(process, &sample, &block),
            AllocationRecord::Site(site) => {
                let ((program, ..), _) = self.program(process);
                let id = program.id;
                let heap = &mut self.profile.heap;
                self.sites.site(process, id, &sample, &site, heap);
            }
        }
    }
}
