//! The peak of a process's heap.

use profundo_model::{Nanos, ProcessId, Profile};
use rustc_hash::FxHashMap;

use super::entries::is_live_at;
use super::figure::Sum;

/// The peak of a process's heap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Peak {
    /// The process.
    pub process: ProcessId,
    /// Its time.
    pub time: Nanos,
    /// The live blocks.
    pub held: Sum,
}

/// The peaks of all processes that have allocated anything, in the order of their ids.
pub(super) fn peaks(profile: &Profile) -> Vec<Peak> {
    let mut changes = changes(profile);
    let mut peaks: Vec<Peak> = (changes.drain())
        .map(|(process, changes)| Peak {
            process,
            time: Nanos(highest(changes)),
            held: Sum::default(),
        })
        .collect();
    peaks.sort_by_key(|peak| peak.process);
    let heap = &profile.heap;
    for block in &heap.blocks {
        let process = profile.threads.get(block.thread).process;
        if let Ok(at) = peaks.binary_search_by_key(&process, |peak| peak.process)
            && is_live_at(block, peaks[at].time.0)
        {
            peaks[at]
                .held
                .add_block(block.size, heap.sampling.of(block));
        }
    }
    for site in &heap.sites {
        if let Ok(at) = peaks.binary_search_by_key(&site.process, |peak| peak.process) {
            peaks[at].held.add_all(site.at_peak, heap.sampling);
        }
    }
    peaks
}

/// By process, the changes with their times.
pub(super) fn changes(profile: &Profile) -> FxHashMap<ProcessId, Vec<(u64, f64)>> {
    let heap = &profile.heap;
    let mut changes: FxHashMap<ProcessId, Vec<(u64, f64)>> = FxHashMap::default();
    for block in &heap.blocks {
        let bytes = heap.sampling.weight_of(block) * block.size as f64;
        let of = (changes.entry(profile.threads.get(block.thread).process)).or_default();
        of.push((block.time.0, bytes));
        if let Some(freed) = block.freed {
            of.push((freed.0, -bytes));
        }
    }
    for site in &heap.sites {
        changes.entry(site.process).or_default();
    }
    let mut last = vec![0_u64; heap.sites.len()];
    for moment in &heap.moments {
        let index = moment.site as usize;
        let Some(site) = heap.sites.get(index) else {
            continue;
        };
        let change = moment.live.bytes as f64 - last[index] as f64;
        last[index] = moment.live.bytes;
        let of = changes.entry(site.process).or_default();
        of.push((moment.time.0, change));
    }
    changes
}

/// The time of the highest sum of changes.
fn highest(mut changes: Vec<(u64, f64)>) -> u64 {
    // At one instant, frees come before allocations: a resized block does not count twice.
    changes.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let (mut sum, mut most, mut at) = (0.0, 0.0, 0);
    let mut changes = changes.into_iter().peekable();
    while let Some((time, change)) = changes.next() {
        sum += change;
        let is_last = changes.peek().is_none_or(|next| next.0 > time);
        if is_last && sum > most {
            (most, at) = (sum, time);
        }
    }
    at
}
