//! The uses of a process's memory, at each of its readings: the bytes in blocks, the program's own
//! mappings, and the allocators' slack.
//!
//! The bytes in blocks are counted where every allocation is, and estimated from the sampled blocks
//! where some are. Allocators do not report slack. It is estimated: anonymous resident memory,
//! minus known other owners, minus live blocks.

use profundo_model::{Block, Domain, Gauge, Heap, ProcessId, Profile, Sampling};

use rustc_hash::FxHashMap;

use super::figure::{Figure, Sum};

/// The uses of a process's memory at one reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Use {
    /// Bytes in live blocks of allocators; `None` where they are not counted.
    pub in_use: Option<Figure>,
    /// Bytes that the program has mapped itself.
    pub mapped: Option<Figure>,
    /// Resident bytes of allocators in no block. `None` where the bytes in blocks are unknown, or
    /// where so many of them were never touched that they exceed the resident bytes.
    pub slack: Option<Figure>,
}

/// By process: the allocations and frees of blocks, with their times.
pub(super) type Changes<'a> = FxHashMap<ProcessId, Vec<(u64, bool, &'a Block)>>;

/// The changes of all blocks.
pub(super) fn changes(profile: &Profile) -> Changes<'_> {
    let mut changes = Changes::default();
    for block in &profile.heap.blocks {
        let process = profile.threads.get(block.thread).process;
        let of = changes.entry(process).or_default();
        of.push((block.time.0, true, block));
        if let Some(freed) = block.freed {
            of.push((freed.0, false, block));
        }
    }
    for of in changes.values_mut() {
        // At one instant, allocations come before frees: a block may live for no time at all.
        of.sort_by_key(|&(time, comes, _)| (time, !comes));
    }
    changes
}

/// The uses at each of these readings of a process, oldest first.
pub(super) fn uses(
    profile: &Profile,
    changes: &Changes<'_>,
    process: ProcessId,
    readings: &[&Gauge],
) -> Vec<Use> {
    let mut uses = match profile.heap.sampling {
        Sampling::All => readings.iter().map(|reading| counted(reading)).collect(),
        Sampling::Bytes(_) | Sampling::Events(_) => match changes.get(&process) {
            Some(changes) => estimated(&profile.heap, changes, readings),
            None => vec![Use::default(); readings.len()],
        },
        _ => vec![Use::default(); readings.len()],
    };
    for (used, reading) in uses.iter_mut().zip(readings) {
        // A part of another recording has what was estimated from all of its blocks.
        used.in_use = reading.in_use.map(exactly).or(used.in_use);
        used.mapped = reading.mapped.map(exactly).or(used.mapped);
    }
    if is_forked(profile, process) {
        // Memory from its parent is in no block of its own.
        return uses;
    }
    for (index, used) in uses.iter_mut().enumerate() {
        let (Some(in_use), Some(mapped)) = (used.in_use, used.mapped) else {
            continue;
        };
        let Some(elsewhere) = elsewhere(readings, index) else {
            continue;
        };
        let reading = readings[index];
        let kept = (reading.anonymous + reading.swapped).saturating_sub(elsewhere);
        let less = |blocks: u64, mapped: u64| kept.checked_sub(blocks.saturating_add(mapped));
        used.slack = less(in_use.low, mapped.low).map(|high| Figure {
            value: less(in_use.value, mapped.value).unwrap_or(0),
            low: less(in_use.high, mapped.high).unwrap_or(0),
            high,
        });
    }
    uses
}

/// Whether a process has begun as a copy of another one, whose blocks are in its memory.
pub(super) fn is_forked(profile: &Profile, process: ProcessId) -> bool {
    let of = |id: ProcessId| profile.processes.get(id.index());
    let Some(own) = of(process) else {
        return false;
    };
    let parent = own.parent.and_then(of);
    parent.is_some_and(|parent| parent.pid != own.pid && parent.command == own.command)
}

fn exactly(bytes: u64) -> Figure {
    Figure {
        value: bytes,
        low: bytes,
        high: bytes,
    }
}

fn counted(reading: &Gauge) -> Use {
    Use {
        in_use: reading.in_use.map(exactly),
        mapped: reading.mapped.map(exactly),
        slack: None,
    }
}

/// The estimated bytes of the live blocks at each reading.
fn estimated(heap: &Heap, changes: &[(u64, bool, &Block)], readings: &[&Gauge]) -> Vec<Use> {
    let mut changes = changes.iter().peekable();
    let (mut blocks, mut mapped) = (Sum::default(), Sum::default());
    let each = readings.iter().map(|reading| {
        while let Some((_, comes, block)) = changes.next_if(|(time, ..)| *time <= reading.time.0) {
            let sampling = heap.sampling.of(block);
            let sum = match block.domain {
                Domain::Mapped => &mut mapped,
                _ => &mut blocks,
            };
            match comes {
                true => sum.add_block(block.size, sampling),
                false => sum.remove_block(block.size, sampling),
            }
        }
        Use {
            in_use: Some(blocks.bytes()),
            mapped: Some(mapped.bytes()),
            slack: None,
        }
    });
    each.collect()
}

/// The bytes at a reading that are certainly no allocator's: they are read more seldom, and
/// interpolated.
fn elsewhere(readings: &[&Gauge], index: usize) -> Option<u64> {
    let known = |at: usize| {
        readings[at]
            .elsewhere
            .map(|bytes| (readings[at].time.0, bytes))
    };
    let before = (0..=index).rev().find_map(known);
    let after = (index..readings.len()).find_map(known);
    Some(match (before, after) {
        (Some((from, first)), Some((to, last))) if to > from => {
            let part = (readings[index].time.0 - from) as f64 / (to - from) as f64;
            (first as f64 + (last as f64 - first as f64) * part) as u64
        }
        (Some((_, bytes)), _) | (None, Some((_, bytes))) => bytes,
        (None, None) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use profundo_model::{Nanos, Process, Thread};

    fn profile(sampling: Sampling) -> Profile {
        let mut profile = Profile::default();
        profile.processes.push(Process {
            pid: 70,
            ..Process::default()
        });
        profile.threads.push(Thread {
            process: ProcessId(0),
            ..Thread::default()
        });
        profile.heap.sampling = sampling;
        profile
    }

    fn reading(time: u64, anonymous: u64, elsewhere: Option<u64>) -> Gauge {
        Gauge {
            time: Nanos(time),
            anonymous,
            elsewhere,
            ..Gauge::default()
        }
    }

    fn uses_of(profile: &Profile, readings: &[Gauge]) -> Vec<Use> {
        let readings: Vec<&Gauge> = readings.iter().collect();
        uses(profile, &changes(profile), ProcessId(0), &readings)
    }

    #[test]
    fn what_is_counted_is_exact_and_the_rest_is_kept() {
        let reading = |time, elsewhere, in_use| Gauge {
            in_use,
            mapped: in_use.map(|_| 50),
            ..reading(time, 1000, elsewhere)
        };
        let readings = [
            reading(0, Some(100), None),
            reading(10, Some(100), Some(600)),
            reading(15, None, Some(600)),
            reading(20, Some(300), Some(600)),
            reading(30, None, Some(2000)),
        ];
        let found = uses_of(&profile(Sampling::All), &readings);
        assert_eq!(found[0], Use::default(), "nobody counted yet");
        assert_eq!(found[1].in_use, Some(exactly(600)));
        assert_eq!(found[1].mapped, Some(exactly(50)));
        let slack: Vec<Option<u64>> = (found.iter())
            .map(|used| used.slack.map(|slack| slack.value))
            .collect();
        // Half way from 100 to 300 it is 200; in the end the blocks exceed the resident memory.
        assert_eq!(slack, [None, Some(250), Some(150), Some(50), None]);
    }

    #[test]
    fn blocks_stand_for_many_as_long_as_they_live() {
        let mut profile = profile(Sampling::Bytes(1000));
        let block = |time, freed, domain| Block {
            time: Nanos(time),
            freed,
            size: 1,
            domain,
            ..Block::default()
        };
        profile.heap.blocks = vec![
            block(5, None, Domain::Native),
            block(6, Some(Nanos(12)), Domain::Python),
            block(7, None, Domain::Mapped),
        ];
        let readings = [
            reading(1, 5000, Some(1000)),
            reading(10, 5000, None),
            reading(12, 5000, None),
        ];
        let found = uses_of(&profile, &readings);
        let in_use: Vec<u64> = found.iter().map(|row| row.in_use.unwrap().value).collect();
        assert_eq!(in_use, [0, 2001, 1001]);
        let mapped: Vec<u64> = found.iter().map(|row| row.mapped.unwrap().value).collect();
        assert_eq!(mapped, [0, 1001, 1001]);
        let slack = found[1].slack.unwrap();
        assert_eq!(slack.value, 4000 - 2001 - 1001);
        assert!(slack.low < slack.value && slack.high > slack.value);
        // A process without recorded blocks.
        profile.heap.blocks.clear();
        assert_eq!(uses_of(&profile, &readings)[1], Use::default());
    }

    #[test]
    fn what_a_fork_has_from_its_parent_is_not_kept_by_anybody() {
        let mut profile = profile(Sampling::All);
        profile.processes.push(Process {
            pid: 71,
            parent: Some(ProcessId(0)),
            ..Process::default()
        });
        let reading = Gauge {
            in_use: Some(1),
            mapped: Some(0),
            ..reading(0, 1000, Some(0))
        };
        let none = Changes::default();
        let of = |process| uses(&profile, &none, ProcessId(process), &[&reading])[0].slack;
        assert_eq!(of(0), Some(exactly(999)));
        assert_eq!(of(1), None);
    }
}
