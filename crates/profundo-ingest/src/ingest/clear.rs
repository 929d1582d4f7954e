//! Clearing: everything recorded so far is forgotten. Names and numbers stay, since later events
//! use them.

use profundo_model::{Heap, Loss, Nanos, ProcessId, Site};
use profundo_wire::recording::Instant;
use rustc_hash::FxHashSet;

use super::Ingest;

/// The start of the sentence about it.
const CLEARED: &str = "what was recorded before ";

impl Ingest {
    /// Restarts the recording here.
    pub(super) fn clear(&mut self, at: Instant) {
        self.clock.learn(at);
        self.clock.count_from(at.cycles);
        self.samples.clear();
        self.readings.clear();
        self.spans.clear(&mut self.profile);
        self.allocations.blocks.clear();
        self.allocations.sites.forget_highest();
        for program in self.programs.present_mut() {
            program.summary.losses.clear();
            program.threads.clear(&mut self.profile);
        }
        let mut past: FxHashSet<ProcessId> = FxHashSet::default();
        for summary in self.programs.past_mut() {
            summary.losses.clear();
            past.insert(summary.id);
        }
        // No more events of these will come.
        let threads = self.profile.threads.iter();
        let theirs = threads.filter(|(_, thread)| past.contains(&thread.process));
        let theirs: Vec<_> = theirs.map(|(id, _)| id).collect();
        for id in theirs {
            let thread = self.profile.threads.get_mut(id);
            for so_far in [&mut thread.alive, &mut thread.cpu, &mut thread.gil_wait] {
                *so_far = so_far.map(|_| Nanos(0));
            }
        }
        let profile = &mut self.profile;
        profile.samples.clear();
        profile.traffic.clear();
        profile.syscalls.clear();
        // Their numbers stay in use.
        let sites = std::mem::take(&mut profile.heap.sites);
        let empty = |site: Site| Site {
            process: site.process,
            stack: site.stack,
            domain: site.domain,
            number: site.number,
            ..Site::default()
        };
        profile.heap = Heap {
            sampling: profile.heap.sampling,
            copying: profile.heap.copying,
            copies_from: profile.heap.copies_from,
            sites: sites.into_iter().map(empty).collect(),
            ..Heap::default()
        };
        for process in &mut profile.processes {
            process.user = process.user.map(|_| Nanos(0));
            process.system = process.system.map(|_| Nanos(0));
        }
        let meta = &mut profile.meta;
        let elapsed = at.unix.saturating_sub(meta.started_at_unix);
        meta.started_at_unix = at.unix;
        meta.duration = Nanos(0);
        meta.loss = Loss::default();
        meta.energy = None;
        meta.notes.retain(|note| !note.starts_with(CLEARED));
        self.cleared += elapsed;
        meta.notes.push(format!(
            "{CLEARED}a moment {:.2} s after its beginning was cleared on request; all times count from there",
            self.cleared as f64 / 1e9
        ));
        (self.programs).settle_times(&self.clock, &mut self.profile);
    }
}
