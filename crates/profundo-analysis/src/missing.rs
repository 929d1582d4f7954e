//! Gaps in a report of CPU time, of the threads' time, of allocated bytes, and of bytes read and
//! written: no sample was taken, it was lost, or its stack could not be read.

mod bytes;
mod threads;

use profundo_model::{LocationId, LocationKind, Meta, Profile, Reason, SampleKind, StackId};

use crate::quality::quality;
use crate::{Filter, Selection};

/// The cause of missing CPU time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// It is shown in a row of this name.
    Row(Reason),
    /// The buffer was full.
    BufferFull,
    /// There was no room for yet another thread.
    TooManyThreads,
    /// The thread was inside the profiler.
    Reentrant,
    /// No sample came although one was due. The existing ones stand for this time, too.
    Missed,
    /// Allocations were not recorded. Their sizes are estimated.
    NotRecorded,
    /// No sample was near when the bytes were read or written.
    NoSampleNear,
    /// The call has no line on its stack.
    NoLine,
}

impl Cause {
    /// The words in a warning.
    pub fn words(self) -> &'static str {
        match self {
            Self::Row(reason) => reason.name().trim_matches(['[', ']']),
            Self::BufferFull => "lost, because the buffer was full",
            Self::TooManyThreads => "lost, because there were too many threads",
            Self::Reentrant => "lost inside of the profiler",
            Self::Missed => "no sample came",
            Self::NotRecorded => "allocations not recorded",
            Self::NoSampleNear => "no sample was near",
            Self::NoLine => "line not known",
        }
    }
}

/// The whole that a part is missing from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Whole {
    /// The CPU time, in nanoseconds.
    #[default]
    Cpu,
    /// The time that the threads were alive, in nanoseconds.
    Threads,
    /// The bytes that were allocated.
    Allocated,
    /// The bytes that were read and written.
    Traffic,
}

impl Whole {
    /// All of them, in this order.
    pub const ALL: [Self; 4] = [Self::Cpu, Self::Threads, Self::Allocated, Self::Traffic];

    /// True for a time, false for bytes.
    pub fn is_time(self) -> bool {
        matches!(self, Self::Cpu | Self::Threads)
    }

    /// The least missing amount for a warning, whatever its share.
    fn least(self, period: u64) -> u64 {
        /// At its start and its end, any program has a moment without a sample.
        const PERIODS: u64 = 5;
        match self {
            Self::Cpu | Self::Threads => period.saturating_mul(PERIODS),
            Self::Allocated => 100_000,
            // A program reads its own code and libraries without waiting, so no sample is near
            // these bytes.
            Self::Traffic => 32_000_000,
        }
    }
}

/// The missing part of a whole.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Missing {
    /// The whole.
    pub of: Whole,
    /// The size of the whole: nanoseconds or bytes.
    pub used: u64,
    /// The missing parts by cause, the largest first.
    pub causes: Vec<(Cause, u64)>,
}

impl Missing {
    /// All that is missing: nanoseconds or bytes.
    pub fn sum(&self) -> u64 {
        let parts = self.causes.iter().map(|(_, weight)| *weight);
        parts.fold(0, u64::saturating_add)
    }

    /// A part as a share of the whole.
    pub fn share(&self, part: u64) -> f64 {
        part as f64 / self.used.max(1) as f64
    }

    /// Whether the missing part is so large that a reader must see it first.
    pub fn is_grave(&self, period: u64) -> bool {
        const GRAVE: f64 = 0.05;
        let sum = self.sum();
        self.share(sum) > GRAVE && sum >= self.of.least(period)
    }
}

/// The reason why a stack says little, if it does: its innermost function is unknown, or its
/// callers are.
fn why_unread(profile: &Profile, leaf: LocationId, root: LocationId) -> Option<Reason> {
    let reason = |location| match profile.locations.get(location).kind {
        LocationKind::Reason(reason) => Some(reason),
        _ => None,
    };
    let is_broken = |reason: &Reason| {
        use Reason::{Broken, FramePointerUnknown, PythonBroken, Unmerged};
        matches!(
            reason,
            Broken | FramePointerUnknown | PythonBroken | Unmerged
        )
    };
    let hidden = reason(leaf).filter(|reason| reason.hides_the_function() || is_broken(reason));
    hidden.or_else(|| reason(root).filter(is_broken))
}

/// The outermost location of each row of the stack table. A caller is stored before its callees.
fn roots(profile: &Profile) -> Vec<LocationId> {
    let mut roots: Vec<LocationId> = Vec::with_capacity(profile.stacks.len());
    for stack in profile.stacks.iter() {
        let below = stack.parent.and_then(|parent| roots.get(parent.index()));
        roots.push(below.copied().unwrap_or(stack.location));
    }
    roots
}

/// The time of a selection whose stacks could not be read, out of all its time.
pub fn unread(profile: &Profile, selection: &Selection) -> Missing {
    Missing {
        of: Whole::Cpu,
        used: selection.weight(profile),
        causes: unread_causes(profile, selection, |_, weight| weight),
    }
}

/// The causes of unreadable stacks, with their time. `of` gives the counted weight of a stack.
fn unread_causes(
    profile: &Profile,
    selection: &Selection,
    of: impl Fn(StackId, u64) -> u64,
) -> Vec<(Cause, u64)> {
    let mut causes: Vec<(Cause, u64)> = Vec::new();
    let roots = roots(profile);
    for stack in selection.stacks(profile) {
        let leaf = profile.stacks.get(stack.stack).location;
        let root = roots.get(stack.stack.index()).copied().unwrap_or(leaf);
        if let Some(reason) = why_unread(profile, leaf, root) {
            add(
                &mut causes,
                Cause::Row(reason),
                of(stack.stack, stack.weight),
            );
        }
    }
    sort(&mut causes);
    causes
}

/// `part` of a `whole`, of this weight.
fn part_of(weight: u64, part: u64, whole: u64) -> u64 {
    let product = u128::from(weight) * u128::from(part);
    (product / u128::from(whole.max(1))) as u64
}

fn add(causes: &mut Vec<(Cause, u64)>, cause: Cause, weight: u64) {
    if weight == 0 {
        return;
    }
    match causes.iter_mut().find(|(known, _)| *known == cause) {
        Some((_, sum)) => *sum = sum.saturating_add(weight),
        None => causes.push((cause, weight)),
    }
}

/// Adds time without samples by its causes, as far as losses were counted, and sorts all.
fn add_unsampled(causes: &mut Vec<(Cause, u64)>, meta: &Meta, unsampled: u64) {
    let mut rest = unsampled;
    for (cause, samples) in [
        (Cause::BufferFull, meta.loss.buffer_full),
        (Cause::TooManyThreads, meta.loss.thread_table_full),
        (Cause::Reentrant, meta.loss.reentrant),
    ] {
        let part = samples.saturating_mul(meta.period.0).min(rest);
        add(causes, cause, part);
        rest -= part;
    }
    add(causes, Cause::Missed, rest);
    sort(causes);
}

fn sort(causes: &mut [(Cause, u64)]) {
    causes.sort_by_key(|&(cause, weight)| (std::cmp::Reverse(weight), cause));
}

/// The missing CPU time of a whole profile. `None` for a profile of something else.
pub fn missing(profile: &Profile) -> Option<Missing> {
    missing_cpu(profile, &Selection::new(profile, &Filter::default()))
}

/// The missing CPU time of the whole that a selection is a part of.
fn missing_cpu(profile: &Profile, selection: &Selection) -> Option<Missing> {
    if profile.meta.kind != SampleKind::Cpu {
        return None;
    }
    let all = selection.whole(profile);
    let find = || find_missing_cpu(profile, all);
    Some(all.missing().get_or_init(find).clone())
}

fn find_missing_cpu(profile: &Profile, all: &Selection) -> Missing {
    let meta = &profile.meta;
    let quality = quality(profile, all);
    let weight = all.weight(profile);
    let used = quality.used.unwrap_or(0).max(weight);
    let counted: u64 = (all.stacks(profile).iter())
        .filter(|stack| profile.is_counted(stack.stack))
        .map(|stack| stack.weight)
        .sum();
    // Samples of short processes are scaled up, and the added time was not sampled.
    let scaled = weight.saturating_sub(counted);
    let sampled = quality.sampled.min(scaled);
    let mut causes = unread_causes(profile, all, |stack, weight| {
        match profile.is_counted(stack) {
            true => weight,
            false => part_of(weight, sampled, scaled),
        }
    });
    let unread = causes.iter().map(|(_, weight)| *weight).sum();
    let unsampled = (quality.used.unwrap_or(0))
        .saturating_sub(quality.sampled)
        .saturating_sub(counted)
        .min(used.saturating_sub(unread));
    add_unsampled(&mut causes, meta, unsampled);
    Missing {
        of: Whole::Cpu,
        used,
        causes,
    }
}

/// The missing part of a whole. `None` where the profile has no data about that whole.
pub fn missing_of(profile: &Profile, whole: Whole) -> Option<Missing> {
    missing_beside(profile, whole, &Selection::new(profile, &Filter::default()))
}

/// The same, with a selection at hand that keeps what it was asked before.
pub fn missing_beside(profile: &Profile, whole: Whole, selection: &Selection) -> Option<Missing> {
    match whole {
        Whole::Cpu => missing_cpu(profile, selection),
        Whole::Threads => threads::missing(profile, selection.whole(profile)),
        Whole::Allocated => bytes::allocated(profile),
        Whole::Traffic => bytes::traffic(profile),
    }
}
