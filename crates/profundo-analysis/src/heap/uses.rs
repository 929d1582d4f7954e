//! What a process's memory was used for, at each look at it: how much of it was in blocks, how much the program
//! had mapped itself, and what its allocators had without anybody using it.
//!
//! What is in blocks is counted where every allocation is, and estimated from those that were followed where some
//! are. What allocators keep nobody tells: it is what is in memory, is no file's, belongs to nobody else that
//! is known of, and is in no block.

use profundo_model::{Block, Domain, Gauge, Heap, ProcessId, Profile, Sampling};

use rustc_hash::FxHashMap;

use super::figure::{Figure, Sum};

/// What the memory of a process was used for at one look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Use {
    /// Bytes in blocks that allocators had handed out; `None` where nobody counts.
    pub in_use: Option<Figure>,
    /// Bytes that the program had asked the kernel for itself.
    pub mapped: Option<Figure>,
    /// Bytes that were in memory for allocators, and in no block. `None` where what is in blocks is not known, or
    /// where there is so much of it that was never touched that more is in blocks than in memory.
    pub slack: Option<Figure>,
}

/// By process: when which block came, or went.
pub(super) type Changes<'a> = FxHashMap<ProcessId, Vec<(u64, bool, &'a Block)>>;

/// Of all blocks.
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
        // What comes at an instant comes before what goes: a block may live for no time at all.
        of.sort_by_key(|&(time, comes, _)| (time, !comes));
    }
    changes
}

/// Of each of these looks at a process, oldest first.
pub(super) fn uses(
    profile: &Profile,
    changes: &Changes<'_>,
    process: ProcessId,
    looks: &[&Gauge],
) -> Vec<Use> {
    let mut uses = match profile.heap.sampling {
        Sampling::All => looks.iter().map(|look| counted(look)).collect(),
        Sampling::Bytes(_) | Sampling::Events(_) => match changes.get(&process) {
            Some(changes) => estimated(&profile.heap, changes, looks),
            None => vec![Use::default(); looks.len()],
        },
        _ => vec![Use::default(); looks.len()],
    };
    if is_forked(profile, process) {
        // What it has from its parent is in no block of its own.
        return uses;
    }
    for (index, used) in uses.iter_mut().enumerate() {
        let (Some(in_use), Some(mapped)) = (used.in_use, used.mapped) else {
            continue;
        };
        let Some(elsewhere) = elsewhere(looks, index) else {
            continue;
        };
        let look = looks[index];
        let kept = (look.anonymous + look.swapped).saturating_sub(elsewhere);
        let less = |blocks: u64, mapped: u64| kept.checked_sub(blocks.saturating_add(mapped));
        used.slack = less(in_use.low, mapped.low).map(|high| Figure {
            value: less(in_use.value, mapped.value).unwrap_or(0),
            low: less(in_use.high, mapped.high).unwrap_or(0),
            high,
        });
    }
    uses
}

/// Whether a process has begun as a copy of another one: what that one had in blocks is in its memory.
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

fn counted(look: &Gauge) -> Use {
    Use {
        in_use: look.in_use.map(exactly),
        mapped: look.mapped.map(exactly),
        slack: None,
    }
}

/// What the blocks that were there at each look stand for.
fn estimated(heap: &Heap, changes: &[(u64, bool, &Block)], looks: &[&Gauge]) -> Vec<Use> {
    let mut changes = changes.iter().peekable();
    let (mut blocks, mut mapped) = (Sum::default(), Sum::default());
    let each = looks.iter().map(|look| {
        while let Some((_, comes, block)) = changes.next_if(|(time, ..)| *time <= look.time.0) {
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

/// What is certainly no allocator's at a look: that is looked at more seldom, and taken to change evenly.
fn elsewhere(looks: &[&Gauge], index: usize) -> Option<u64> {
    let known = |at: usize| looks[at].elsewhere.map(|bytes| (looks[at].time.0, bytes));
    let before = (0..=index).rev().find_map(known);
    let after = (index..looks.len()).find_map(known);
    Some(match (before, after) {
        (Some((from, first)), Some((to, last))) if to > from => {
            let part = (looks[index].time.0 - from) as f64 / (to - from) as f64;
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

    fn look(time: u64, anonymous: u64, elsewhere: Option<u64>) -> Gauge {
        Gauge {
            time: Nanos(time),
            anonymous,
            elsewhere,
            ..Gauge::default()
        }
    }

    fn uses_of(profile: &Profile, looks: &[Gauge]) -> Vec<Use> {
        let looks: Vec<&Gauge> = looks.iter().collect();
        uses(profile, &changes(profile), ProcessId(0), &looks)
    }

    #[test]
    fn what_is_counted_is_exact_and_the_rest_is_kept() {
        let look = |time, elsewhere, in_use| Gauge {
            in_use,
            mapped: in_use.map(|_| 50),
            ..look(time, 1000, elsewhere)
        };
        let looks = [
            look(0, Some(100), None),
            look(10, Some(100), Some(600)),
            look(15, None, Some(600)),
            look(20, Some(300), Some(600)),
            look(30, None, Some(2000)),
        ];
        let found = uses_of(&profile(Sampling::All), &looks);
        assert_eq!(found[0], Use::default(), "nobody counted yet");
        assert_eq!(found[1].in_use, Some(exactly(600)));
        assert_eq!(found[1].mapped, Some(exactly(50)));
        let slack: Vec<Option<u64>> = (found.iter())
            .map(|used| used.slack.map(|slack| slack.value))
            .collect();
        // Half way from 100 to 300 it is 200; in the end more is in blocks than in memory.
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
        let looks = [
            look(1, 5000, Some(1000)),
            look(10, 5000, None),
            look(12, 5000, None),
        ];
        let found = uses_of(&profile, &looks);
        let in_use: Vec<u64> = found.iter().map(|it| it.in_use.unwrap().value).collect();
        assert_eq!(in_use, [0, 2001, 1001]);
        let mapped: Vec<u64> = found.iter().map(|it| it.mapped.unwrap().value).collect();
        assert_eq!(mapped, [0, 1001, 1001]);
        let slack = found[1].slack.unwrap();
        assert_eq!(slack.value, 4000 - 2001 - 1001);
        assert!(slack.low < slack.value && slack.high > slack.value);
        // A process of which nobody has told a block.
        profile.heap.blocks.clear();
        assert_eq!(uses_of(&profile, &looks)[1], Use::default());
    }

    #[test]
    fn what_a_fork_has_from_its_parent_is_not_kept_by_anybody() {
        let mut profile = profile(Sampling::All);
        profile.processes.push(Process {
            pid: 71,
            parent: Some(ProcessId(0)),
            ..Process::default()
        });
        let look = Gauge {
            in_use: Some(1),
            mapped: Some(0),
            ..look(0, 1000, Some(0))
        };
        let none = Changes::default();
        let of = |process| uses(&profile, &none, ProcessId(process), &[&look])[0].slack;
        assert_eq!(of(0), Some(exactly(999)));
        assert_eq!(of(1), None);
    }
}
