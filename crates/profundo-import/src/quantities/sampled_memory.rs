//! Estimates from memory that was sampled by bytes: a site's sampled blocks stand for more, the
//! small ones for most.
//!
//! A block of `size` bytes is sampled with the probability `1 − exp(−size / mean)`, so it stands
//! for one over that many. A site has only the sum of its blocks, which are taken for blocks of
//! their mean size, as all tools of these formats do.

use profundo_model::{Amount, Sampling};

/// The estimate of all blocks from the sum of those that were sampled.
pub(crate) fn estimate(sampled: Amount, sampling: Sampling) -> Amount {
    if sampled.count == 0 || sampled.bytes == 0 {
        return match sampling {
            Sampling::Bytes(_) => Amount::default(),
            _ => sampled,
        };
    }
    let mean = sampled.bytes as f64 / sampled.count as f64;
    let Sampling::Bytes(distance) = sampling else {
        return sampled;
    };
    let each = 1.0 / -(-mean / distance.max(1) as f64).exp_m1();
    // A cast saturates.
    Amount {
        count: (sampled.count as f64 * each).round() as u64,
        bytes: (sampled.bytes as f64 * each).round() as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_blocks_stand_for_many() {
        let amount = |count, bytes| Amount { count, bytes };
        let sampling = Sampling::Bytes(1 << 19);
        // A single small block stands for the mean distance.
        let small = estimate(amount(1, 16), sampling);
        assert_eq!(small, amount(32_769, 524_296));
        // A large one for itself.
        let large = amount(1, 1 << 30);
        assert_eq!(estimate(large, sampling), large);
        assert_eq!(estimate(amount(0, 0), sampling), amount(0, 0));
        assert_eq!(estimate(amount(3, 5), Sampling::All), amount(3, 5));
    }
}
