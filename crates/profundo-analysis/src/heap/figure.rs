//! Sums over the sampled blocks of a heap, with their uncertainty.
//!
//! Each sampled block stands for `1 / p` blocks, `p` being its probability to be sampled. That
//! gives sums without bias, and a variance of `Σ (1 − p) x² / p²`. Sums of few blocks are not
//! normal: their ranges come from the gamma distribution, which belongs to counts of rare events,
//! with one more block of the largest weight on the upper side, after Fay and Feuer. That covers
//! both few and many blocks. Blocks that are certain to be sampled add nothing to it; but small
//! blocks beside them may have been missed.

use profundo_model::{Amount, Domain, Sampling};

use crate::interval::Z;

/// A number of bytes or blocks, with its 95 % range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Figure {
    /// The estimate; the truth where the range is empty.
    pub value: u64,
    /// The lower end of the range.
    pub low: u64,
    /// The upper end.
    pub high: u64,
}

impl Figure {
    /// True for an exact figure.
    pub fn is_exact(&self) -> bool {
        self.low == self.high
    }

    /// The distance to the farther end of the range.
    pub fn margin(&self) -> u64 {
        (self.high.saturating_sub(self.value)).max(self.value.saturating_sub(self.low))
    }
}

/// A sum in the making.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Part {
    value: f64,
    /// The sum of the sampled blocks themselves, the least possible truth.
    seen: f64,
    variance: f64,
    /// The weight of an unsampled block: the largest weight of the sampled ones.
    unit: f64,
}

impl Part {
    fn add(&mut self, number: f64, probability: f64) {
        self.add_many(number, probability, 1.0);
    }

    fn add_many(&mut self, number: f64, probability: f64, times: f64) {
        let each = number / probability;
        let spread = (1.0 - probability).max(0.0) * each * each;
        self.value += each * times;
        self.seen += number * times;
        self.variance += spread * times;
        self.unit = self.unit.max(spread.sqrt());
    }

    fn take_back(&mut self, other: &Self) {
        self.value = (self.value - other.value).max(0.0);
        self.seen = (self.seen - other.seen).max(0.0);
        self.variance = (self.variance - other.variance).max(0.0);
    }

    /// Empties the sum; earlier blocks may come again.
    fn empty(&mut self) {
        *self = Self {
            unit: self.unit,
            ..Self::default()
        };
    }

    fn figure(&self) -> Figure {
        let value = self.value.round() as u64;
        // A remainder of rounding counts as certain.
        if self.variance + self.unit * self.unit <= self.value * self.value * 1e-12 {
            return Figure {
                value,
                low: value,
                high: value,
            };
        }
        let low = match self.variance {
            none if none <= 0.0 => self.value,
            some => some / self.value * gamma(self.value * self.value / some, -Z),
        };
        let (most, variance) = (
            self.value + self.unit,
            self.variance + self.unit * self.unit,
        );
        let high = variance / most * gamma(most * most / variance, Z);
        Figure {
            value,
            low: (low.max(self.seen).round() as u64).min(value),
            high: (high.round() as u64).max(value),
        }
    }
}

impl std::ops::AddAssign for Part {
    fn add_assign(&mut self, other: Self) {
        self.value += other.value;
        self.seen += other.seen;
        self.variance += other.variance;
        self.unit = self.unit.max(other.unit);
    }
}

/// The value that a gamma distribution of this shape and of scale 1 stays below with the
/// probability that a normal one stays below `z` standard deviations, after Wilson and Hilferty. It
/// errs to the wide side for small shapes.
fn gamma(shape: f64, z: f64) -> f64 {
    let root = 1.0 - 1.0 / (9.0 * shape) + z / (3.0 * shape.sqrt());
    shape * root.max(0.0).powi(3)
}

/// A sum of blocks: their number and their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sum {
    bytes: Part,
    count: Part,
    seen: u64,
}

impl Sum {
    /// Their bytes.
    pub fn bytes(&self) -> Figure {
        self.bytes.figure()
    }

    /// Their number.
    pub fn count(&self) -> Figure {
        self.count.figure()
    }

    /// The number of sampled blocks, where sampled; the number of all, where exact.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// Their size for comparisons.
    pub(crate) fn weight(&self) -> f64 {
        self.bytes.value
    }

    pub(crate) fn blocks(&self) -> f64 {
        self.count.value
    }

    pub(super) fn add_block(&mut self, size: u64, sampling: Sampling) {
        if let Sampling::Bytes(mean) = sampling {
            // Beside certain blocks there may be small unsampled ones.
            self.bytes.unit = self.bytes.unit.max(mean as f64);
        }
        let probability = match sampling.probability(size) {
            none if none <= 0.0 => 1.0,
            probability => probability,
        };
        self.bytes.add(size as f64, probability);
        self.count.add(1.0, probability);
        self.seen += 1;
    }

    /// Subtracts a block that was added.
    pub(super) fn remove_block(&mut self, size: u64, sampling: Sampling) {
        let mut one = Self::default();
        one.add_block(size, sampling);
        self.bytes.take_back(&one.bytes);
        self.count.take_back(&one.count);
        self.seen = self.seen.saturating_sub(1);
        if self.seen == 0 {
            // A remainder of rounding counts as nothing.
            self.bytes.empty();
            self.count.empty();
        }
    }

    /// Adds the sum of the blocks of a site: exact, or another tool's estimate from sampled ones.
    pub(super) fn add_all(&mut self, amount: Amount, sampling: Sampling) {
        let (bytes, count) = (amount.bytes as f64, amount.count as f64);
        let size = bytes / count.max(1.0);
        let probability = sampling.probability(size.round() as u64);
        let is_estimate = matches!(sampling, Sampling::Bytes(_) | Sampling::Events(_));
        if !is_estimate || probability <= 0.0 || amount.count == 0 {
            self.bytes.add(bytes, 1.0);
            self.count.add(count, 1.0);
            self.seen = self.seen.saturating_add(amount.count);
            return;
        }
        if let Sampling::Bytes(mean) = sampling {
            self.bytes.unit = self.bytes.unit.max(mean as f64);
        }
        // It was made from so many blocks, as if all had the same size.
        let sampled = count * probability;
        self.bytes.add_many(size, probability, sampled);
        self.count.add_many(1.0, probability, sampled);
        let seen = sampled.round().max(1.0) as u64;
        self.seen = self.seen.saturating_add(seen);
    }
}

impl std::ops::AddAssign for Sum {
    fn add_assign(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.count += other.count;
        self.seen = self.seen.saturating_add(other.seen);
    }
}

/// Allocations and their fate.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Holding {
    /// All allocated blocks.
    pub allocated: Sum,
    /// The live blocks at the end, before the program's final frees.
    pub live: Sum,
    /// The live blocks at the process's peak.
    pub at_peak: Sum,
    /// Blocks freed before their thread allocated anything else.
    pub temporary: Sum,
    /// Blocks that were unreachable when their process ended, where that was searched.
    pub unreachable: Sum,
    /// The bytes by allocator.
    domains: [f64; 3],
    /// The lifetimes of all blocks, added up, in nanoseconds.
    pub(super) lifetimes: f64,
}

impl Holding {
    /// The mean lifetime of a block, in nanoseconds: until the end of the recording, if it was
    /// never freed.
    pub fn lifetime(&self) -> Option<u64> {
        let blocks = self.allocated.blocks();
        (blocks > 0.0).then(|| (self.lifetimes / blocks).round() as u64)
    }

    /// The share of the bytes that came from an allocator.
    pub fn share_of(&self, domain: Domain) -> f64 {
        let all: f64 = self.domains.iter().sum();
        match all {
            none if none <= 0.0 => 0.0,
            all => self.domains[slot(domain)] / all,
        }
    }

    /// The share of the bytes freed before anything else was allocated.
    pub fn temporary_share(&self) -> f64 {
        match self.allocated.weight() {
            none if none <= 0.0 => 0.0,
            all => self.temporary.weight() / all,
        }
    }

    pub(super) fn add_domain(&mut self, domain: Domain, bytes: f64) {
        self.domains[slot(domain)] += bytes;
    }
}

impl std::ops::AddAssign for Holding {
    fn add_assign(&mut self, other: Self) {
        self.allocated += other.allocated;
        self.live += other.live;
        self.at_peak += other.at_peak;
        self.temporary += other.temporary;
        self.unreachable += other.unreachable;
        self.lifetimes += other.lifetimes;
        for (sum, more) in self.domains.iter_mut().zip(other.domains) {
            *sum += more;
        }
    }
}

fn slot(domain: Domain) -> usize {
    match domain {
        Domain::Python => 1,
        Domain::Mapped => 2,
        _ => 0,
    }
}
