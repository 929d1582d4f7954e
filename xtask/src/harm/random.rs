//! Numbers that look random, and are the same for the same seed.

/// SplitMix64.
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// The numbers of a round.
    pub fn new(seed: u64, round: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ round.wrapping_mul(0xD1B5_4A32_D192_ED03))
    }

    /// A number below a bound.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_differ_and_repeat() {
        let five = |round| {
            let mut random = Random::new(1, round);
            [(); 5].map(|()| random.below(1000))
        };
        assert_eq!(five(7), five(7));
        assert_ne!(five(7), five(8));
        assert!(five(9).iter().all(|&number| number < 1000));
    }
}
