//! The number of bytes until the next sampled allocation.
//!
//! The gaps have exponential length, like those between the cars of an empty road: the start of a
//! gap says nothing about its end. So an allocation of `S` bytes is hit with a probability of `1 −
//! e^(−S/R)`, independent of earlier ones, and there is no size or rhythm of allocations that is
//! hit too often or too rarely.

/// Draws gaps. All zero is an unseeded generator.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub struct Gaps {
    state: u64,
}

impl Gaps {
    /// A generator whose draws are unlike those of any other seed.
    pub const fn new(seed: u64) -> Self {
        // Any state is good unless it counts from zero in step with another.
        Self {
            state: mixed(seed ^ 0x5851_F42D_4C95_7F2D),
        }
    }

    /// A number with uniformly random bits: splitmix64.
    #[inline]
    pub fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mixed(self.state)
    }

    /// The number of whole bytes before the next hit one, for a mean distance of `mean`.
    ///
    /// An allocation is hit if this is less than its size; otherwise the rest after it is as good
    /// as a newly drawn gap.
    #[inline]
    pub fn gap(&mut self, mean: u64) -> u64 {
        self.gap_of(mean as f64)
    }

    /// As [`gap`](Self::gap), for a fractional mean; an infinite one gives an infinite gap.
    #[inline]
    pub fn gap_of(&mut self, mean: f64) -> u64 {
        let units = minus_log(self.draw() >> 11);
        // Rounding down makes the probability exact for sizes in whole bytes.
        (units * mean) as u64
    }
}

const fn mixed(state: u64) -> u64 {
    let state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    state ^ (state >> 31)
}

/// The natural logarithm of `2^53 / (draw + 1)`, for a draw of 53 bits. There is no math library
/// here.
fn minus_log(draw: u64) -> f64 {
    const LN_2: f64 = core::f64::consts::LN_2;
    const SQRT_2: f64 = core::f64::consts::SQRT_2;
    let whole = draw + 1;
    let exponent = whole.ilog2();
    // The rest lies between 1 and 2, then between √½ and √2.
    let mut rest = whole as f64 / (1_u64 << exponent) as f64;
    let mut halvings = 53.0 - f64::from(exponent);
    if rest > SQRT_2 {
        rest /= 2.0;
        halvings -= 1.0;
    }
    // ln x = 2 artanh((x − 1) / (x + 1)), whose series ends soon where x is near to 1.
    let t = (rest - 1.0) / (rest + 1.0);
    let square = t * t;
    let mut sum = 0.0;
    for divisor in [15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0] {
        sum = sum * square + 1.0 / divisor;
    }
    halvings * LN_2 - 2.0 * t * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logarithm_is_one() {
        let mut gaps = Gaps::new(1);
        for _ in 0..10_000 {
            let draw = gaps.draw() >> 11;
            for draw in [draw, draw >> 20, draw >> 50] {
                let true_one = -(((draw + 1) as f64) / (1_u64 << 53) as f64).ln();
                let error = (minus_log(draw) - true_one).abs();
                assert!(error < 1e-12 * true_one.max(1e-3), "{draw}: {error}");
            }
        }
        assert_eq!(minus_log((1 << 53) - 1), 0.0);
    }

    /// The hit rate is the one that weights assume, for sizes from a part of a thousandth of the
    /// mean to many times as much.
    #[test]
    fn sizes_are_hit_as_often_as_they_should_be() {
        const MEAN: u64 = 4096;
        const BYTES: u64 = 400_000 * MEAN;
        for size in [1_u64, 8, 100, 4096, 10_000, 100_000] {
            let mut gaps = Gaps::new(size);
            let count = (BYTES / size).min(4_000_000);
            let mut left = gaps.gap(MEAN) as i64;
            let mut hits = 0_u64;
            for _ in 0..count {
                left -= size as i64;
                if left < 0 {
                    hits += 1;
                    left = gaps.gap(MEAN) as i64;
                }
            }
            let chance = -(-(size as f64) / MEAN as f64).exp_m1();
            let expected = count as f64 * chance;
            let deviation = (expected * (1.0 - chance)).sqrt().max(0.5);
            let off = (hits as f64 - expected).abs() / deviation;
            assert!(off < 4.5, "{size}: {hits} hits, {expected} expected");
        }
    }
}
