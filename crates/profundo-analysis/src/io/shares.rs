//! The owners of bytes.
//!
//! Copying bytes takes CPU time in proportion: so the samples taken on a CPU within the interval
//! share its bytes by their time. Without any, too few bytes were moved to be sampled: those that a
//! wait can have brought (a pipe holds 64 KiB, and so does a socket, more or less) go to that wait,
//! and the rest to the nearest sample on a CPU. Short waits are reported up to a second late, all
//! at once; they are taken where no other is in time.

use profundo_model::{Profile, ThreadId};
use rustc_hash::FxHashMap;

use super::calls::Directions;

/// The most bytes that one wait can have brought.
const HELD: u64 = 64 << 10;
/// The largest distance of a sample on a CPU.
const NEAR: u64 = 100_000_000;
/// The largest delay of reports of short waits, with some margin.
const LATE: u64 = 1_200_000_000;
/// The number of non-overlapping waits after which a search ends.
const MISSES: usize = 16;

/// A sample in a call that reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Act {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) weight: u64,
    /// Its number.
    pub(super) number: usize,
}

/// All acts, by thread and direction.
#[derive(Debug, Default)]
pub(super) struct Acts {
    reads: FxHashMap<ThreadId, OfThread>,
    writes: FxHashMap<ThreadId, OfThread>,
}

#[derive(Debug, Default)]
struct OfThread {
    on_cpu: Vec<Act>,
    waits: Vec<Act>,
}

impl Acts {
    pub(super) fn add(
        &mut self,
        thread: ThreadId,
        act: Act,
        is_wait: bool,
        directions: Directions,
    ) {
        let add = |acts: &mut FxHashMap<ThreadId, OfThread>| {
            let of_thread = acts.entry(thread).or_default();
            match is_wait {
                true => of_thread.waits.push(act),
                false => of_thread.on_cpu.push(act),
            }
        };
        if directions.reads {
            add(&mut self.reads);
        }
        if directions.writes {
            add(&mut self.writes);
        }
    }

    fn sort(&mut self) {
        for acts in self.reads.values_mut().chain(self.writes.values_mut()) {
            acts.on_cpu.sort_by_key(|act| act.end);
            acts.waits.sort_by_key(|act| act.end);
        }
    }
}

/// Shares out all bytes: `give` gets the number of an act, and its bytes read and written. Returns
/// the unattributed rest of each row.
pub(super) fn share_out(
    profile: &Profile,
    acts: &mut Acts,
    mut give: impl FnMut(usize, u64, u64),
) -> Vec<(u64, u64)> {
    acts.sort();
    let rows = profile.traffic.iter().map(|row| {
        let span = Span {
            from: row.from.0,
            to: row.to.0.max(row.from.0),
            waits: row.waits,
        };
        let of = |acts: &FxHashMap<ThreadId, OfThread>, bytes: u64| match acts.get(&row.thread) {
            Some(acts) => acts.share(span, bytes),
            None => Vec::new(),
        };
        let (read, written) = (row.bytes.read, row.bytes.written);
        // Its time is unknown.
        if span.from == span.to {
            return (read, written);
        }
        let (reads, writes) = (of(&acts.reads, read), of(&acts.writes, written));
        let mut left = (read, written);
        for (number, bytes) in reads {
            left.0 -= bytes;
            give(number, bytes, 0);
        }
        for (number, bytes) in writes {
            left.1 -= bytes;
            give(number, 0, bytes);
        }
        left
    });
    rows.collect()
}

/// An interval of time.
#[derive(Debug, Clone, Copy)]
struct Span {
    from: u64,
    to: u64,
    waits: u32,
}

impl OfThread {
    /// By act, its share of the bytes of an interval. All bytes or none are shared out.
    fn share(&self, span: Span, bytes: u64) -> Vec<(usize, u64)> {
        if bytes == 0 {
            return Vec::new();
        }
        let within = self.on_cpu_within(span);
        if !within.is_empty() {
            return split(bytes, within.iter().map(|act| (act.number, act.weight)));
        }
        let mut waits = self.waits_within(span);
        if waits.is_empty() && span.waits > 0 {
            waits = self.waits_recorded_late(span);
        }
        let nearest = self.nearest(span);
        let brought = match (waits.is_empty(), nearest) {
            (true, None) => return Vec::new(),
            (true, Some(_)) => 0,
            (false, None) => bytes,
            (false, Some(_)) => bytes.min(HELD * u64::from(span.waits.max(1))),
        };
        let mut shares = split(brought, waits.into_iter());
        if let Some(nearest) = nearest
            && bytes > brought
        {
            shares.push((nearest.number, bytes - brought));
        }
        shares
    }

    fn on_cpu_within(&self, span: Span) -> &[Act] {
        let start = self.on_cpu.partition_point(|act| act.end < span.from);
        let end = self.on_cpu.partition_point(|act| act.end <= span.to);
        self.on_cpu.get(start..end).unwrap_or_default()
    }

    /// Waits that overlap it, and for how long.
    fn waits_within(&self, span: Span) -> Vec<(usize, u64)> {
        let start = self.waits.partition_point(|act| act.end < span.from);
        let mut found = Vec::new();
        let mut misses = 0;
        for act in self.waits.iter().skip(start) {
            if act.start > span.to {
                misses += 1;
                if misses == MISSES {
                    break;
                }
                continue;
            }
            let overlap = act.end.min(span.to) - act.start.max(span.from);
            found.push((act.number, overlap.max(1)));
        }
        found
    }

    /// Short waits, which are reported together some time later.
    fn waits_recorded_late(&self, span: Span) -> Vec<(usize, u64)> {
        let start = self.waits.partition_point(|act| act.end < span.to);
        let later = self.waits.get(start..).unwrap_or_default();
        let Some(first) = later.first().filter(|act| act.end - span.to <= LATE) else {
            return Vec::new();
        };
        let together = later.iter().take_while(|act| act.end == first.end);
        together.map(|act| (act.number, act.weight)).collect()
    }

    fn nearest(&self, span: Span) -> Option<&Act> {
        let next = self.on_cpu.partition_point(|act| act.end < span.from);
        let before = next.checked_sub(1).and_then(|last| self.on_cpu.get(last));
        let behind = self.on_cpu.get(next);
        let distance = |act: &&Act| match act.end {
            end if end < span.from => span.from - end,
            end => end.saturating_sub(span.to),
        };
        let near = [before, behind].into_iter().flatten();
        near.filter(|act| distance(act) <= NEAR)
            .min_by_key(distance)
    }
}

/// Shares a number out by weights, without a remainder.
fn split(number: u64, parts: impl Iterator<Item = (usize, u64)> + Clone) -> Vec<(usize, u64)> {
    let all: u128 = parts.clone().map(|(_, weight)| u128::from(weight)).sum();
    if all == 0 || number == 0 {
        return Vec::new();
    }
    let mut upto = 0_u128;
    let mut given = 0_u64;
    let shares = parts.map(|(of, weight)| {
        upto += u128::from(weight);
        // No more than the number itself.
        let reached = (u128::from(number) * upto / all) as u64;
        let share = reached - given;
        given = reached;
        (of, share)
    });
    shares.collect()
}
