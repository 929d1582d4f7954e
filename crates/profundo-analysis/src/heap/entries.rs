//! One view of both kinds of heap: a list of allocations, each with its stack.

use profundo_model::{Amount, Block, Heap, ProcessId, Profile, Sampling, Site, StackId, ThreadId};

use super::figure::{Holding, Sum};
use super::peak::Peak;
use super::runs::Runs;
use crate::admit::Admitted;

/// A block, or all blocks of one stack.
#[derive(Debug, Clone, Copy)]
pub(super) enum What<'a> {
    Block(&'a Block),
    /// With its number.
    Site(&'a Site, usize),
}

/// An entry of the list.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry<'a> {
    pub process: ProcessId,
    /// The thread, where known.
    pub thread: Option<ThreadId>,
    pub stack: StackId,
    pub what: What<'a>,
}

/// Whether allocations were recorded.
pub fn has_allocations(profile: &Profile) -> bool {
    !profile.heap.blocks.is_empty() || !profile.heap.sites.is_empty()
}

/// Whether allocations were to be recorded, even if the program made none.
pub fn records_allocations(profile: &Profile) -> bool {
    profile.heap.sampling != Sampling::None || has_allocations(profile)
}

/// All allocations, in the order of their recording.
pub(super) fn entries(profile: &Profile) -> impl Iterator<Item = Entry<'_>> {
    let blocks = profile.heap.blocks.iter().map(|block| Entry {
        process: profile.threads.get(block.thread).process,
        thread: Some(block.thread),
        stack: block.stack,
        what: What::Block(block),
    });
    let sites = profile
        .heap
        .sites
        .iter()
        .enumerate()
        .map(|(number, site)| Entry {
            process: site.process,
            thread: None,
            stack: site.stack,
            what: What::Site(site, number),
        });
    blocks.chain(sites)
}

/// The allocations of each stack; a stack may come several times. Where allocations were sampled,
/// each block stands for the unsampled ones.
pub(crate) fn allocated_at(profile: &Profile) -> impl Iterator<Item = (StackId, Amount)> + '_ {
    entries(profile).map(|entry| {
        let amount = match entry.what {
            What::Block(block) => {
                let weight = profile.heap.sampling.weight_of(block);
                Amount {
                    bytes: (weight * block.size as f64).round() as u64,
                    count: weight.round() as u64,
                }
            }
            What::Site(site, _) => site.allocated,
        };
        (entry.stack, amount)
    })
}

/// The last known instant of a heap.
pub(super) fn end(profile: &Profile) -> u64 {
    let heap = &profile.heap;
    let blocks = heap
        .blocks
        .iter()
        .map(|block| block.freed.unwrap_or(block.time).0);
    let moments = heap.moments.iter().map(|moment| moment.time.0);
    let last = blocks.chain(moments).max().unwrap_or(0);
    last.max(profile.meta.duration.0)
}

/// The end of a process, as far as its memory is concerned.
pub(super) fn end_of(profile: &Profile, process: ProcessId, end: u64) -> u64 {
    let ended = (profile.processes.get(process.index())).and_then(|process| process.ended);
    ended.map_or(end, |ended| ended.0.min(end))
}

impl Entry<'_> {
    pub fn passes(&self, admitted: &Admitted) -> bool {
        match self.what {
            What::Block(block) => admitted.event(
                block.thread,
                block.task,
                block.time,
                block.stack,
                block.span,
            ),
            What::Site(site, _) => admitted.sum(site.process, site.stack),
        }
    }

    /// An entry's allocations and their fate. `peak` is that of its process.
    pub fn held(&self, heap: &Heap, runs: &Runs, peak: Option<&Peak>, end: u64) -> Holding {
        let mut held = Holding::default();
        match self.what {
            What::Block(block) => {
                let sampling = heap.sampling.of(block);
                let add = |sum: &mut Sum| sum.add_block(block.size, sampling);
                add(&mut held.allocated);
                if runs.is_live(self.process, block) {
                    add(&mut held.live);
                }
                if peak.is_some_and(|peak| is_live_at(block, peak.time.0)) {
                    add(&mut held.at_peak);
                }
                if block.is_temporary {
                    add(&mut held.temporary);
                }
                if block.is_unreachable {
                    add(&mut held.unreachable);
                }
                let weight = sampling.weight(block.size);
                let until = block.freed.map_or(end, |freed| freed.0);
                held.lifetimes = weight * until.saturating_sub(block.time.0) as f64;
                held.add_domain(block.domain, weight * block.size as f64);
            }
            What::Site(site, number) => {
                let add = |sum: &mut Sum, amount| sum.add_all(amount, heap.sampling);
                add(&mut held.allocated, site.allocated);
                add(&mut held.live, runs.live_sites()[number]);
                add(&mut held.at_peak, site.at_peak);
                add(&mut held.temporary, site.temporary);
                // Blocks from before the last clearing are not counted.
                let (lost, live) = (site.unreachable, site.live());
                let lost = Amount {
                    count: lost.count.min(live.count),
                    bytes: lost.bytes.min(live.bytes),
                };
                add(&mut held.unreachable, lost);
                held.lifetimes = site.lifetimes.0 as f64;
                held.add_domain(site.domain, site.allocated.bytes as f64);
            }
        }
        held
    }
}

pub(super) fn is_live_at(block: &Block, time: u64) -> bool {
    block.time.0 <= time && block.freed.is_none_or(|freed| freed.0 > time)
}
