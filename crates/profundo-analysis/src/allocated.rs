//! Blocks as samples: with the weight of each, so that a tree of allocations is built as one of
//! time is.
//!
//! A block that was recorded with a probability `p` stands for `1/p` that are alike. The sum of
//! `size/p` is unbiased, and its variance is `Σ (1 − p)·(size/p)²`: a block that was certain to be
//! recorded adds nothing to it.

use profundo_model::{Block, Nanos, Profile, Sample, StackId, State};
use rustc_hash::FxHashMap;

use crate::Interval;

/// The measured quantity of allocations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Measure {
    /// Their bytes.
    #[default]
    Bytes,
    /// Their number.
    Count,
}

/// The total of all allocations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AllocatedTotal {
    /// The estimate; exact where all were recorded.
    pub value: f64,
    /// The 95 % confidence interval.
    pub interval: Interval,
}

/// The number of allocations that each block of the profile stands for, by the rule that all were
/// recorded by.
pub fn block_weights(profile: &Profile) -> Vec<f64> {
    let heap = &profile.heap;
    let weight = |block: &Block| heap.sampling.weight_of(block);
    heap.blocks.iter().map(weight).collect()
}

/// A sample for each block, in their order, weighted by the block's weight; `weights` are those of
/// the blocks, in the same order. To be read with a period of 1.
pub fn block_samples(profile: &Profile, weights: &[f64], measure: Measure) -> Vec<Sample> {
    // Weights are whole numbers. The fraction is carried over to the next block of the same stack,
    // so that the sums are right.
    let mut rest: FxHashMap<StackId, f64> = FxHashMap::default();
    let blocks = profile.heap.blocks.iter().zip(weights);
    let samples = blocks.map(|(block, &weight)| {
        let rest = rest.entry(block.stack).or_default();
        let value = weight * unit(block, measure) + *rest;
        let whole = value.round().max(0.0);
        *rest = value - whole;
        Sample {
            time: block.time,
            weight: Nanos(whole as u64),
            clock: block.clock,
            thread: block.thread,
            task: block.task,
            stack: block.stack,
            state: State::Running,
            ..Sample::default()
        }
    });
    samples.collect()
}

/// The total of all blocks.
pub fn block_total(profile: &Profile, weights: &[f64], measure: Measure) -> AllocatedTotal {
    /// Standard deviations to either side that hold 95 % of a normal distribution.
    const Z: f64 = 1.959_963_984_540_054;
    let (mut value, mut variance) = (0.0_f64, 0.0_f64);
    for (block, &weight) in profile.heap.blocks.iter().zip(weights) {
        let one = unit(block, measure);
        value += weight * one;
        variance += (weight * weight - weight).max(0.0) * one * one;
    }
    let half = Z * variance.sqrt();
    AllocatedTotal {
        value,
        interval: Interval {
            low: (value - half).max(0.0),
            high: value + half,
        },
    }
}

fn unit(block: &Block, measure: Measure) -> f64 {
    match measure {
        Measure::Bytes => block.size as f64,
        Measure::Count => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use profundo_model::Sampling;

    fn profile(sampling: Sampling, sizes: &[u64]) -> Profile {
        let mut profile = Profile::from_folded("main;work 1").unwrap();
        profile.samples.clear();
        profile.heap.sampling = sampling;
        let block = |&size| Block {
            size,
            stack: StackId(1),
            ..Block::default()
        };
        profile.heap.blocks = sizes.iter().map(block).collect();
        profile
    }

    #[test]
    fn what_was_all_recorded_is_exact() {
        let profile = profile(Sampling::All, &[8, 100, 1]);
        let weights = block_weights(&profile);
        let total = block_total(&profile, &weights, Measure::Bytes);
        assert_eq!(
            (total.value, total.interval.low, total.interval.high),
            (109.0, 109.0, 109.0)
        );
        let samples = block_samples(&profile, &weights, Measure::Bytes);
        assert!(samples.iter().map(|sample| sample.weight.0).eq([8, 100, 1]));
    }

    #[test]
    fn fractions_are_not_lost() {
        // Each stands for 1.58 allocations.
        let profile = profile(Sampling::Bytes(1000), &[1000; 1000]);
        let weights = block_weights(&profile);
        let total = block_total(&profile, &weights, Measure::Count);
        let samples = block_samples(&profile, &weights, Measure::Count);
        let sum: u64 = samples.iter().map(|sample| sample.weight.0).sum();
        assert!((sum as f64 - total.value).abs() <= 1.0, "{sum} {total:?}");
        assert!((total.value - 1582.0).abs() < 1.0, "{total:?}");
        assert!(total.interval.low < 1582.0 && total.interval.high > 1582.0);
    }
}
