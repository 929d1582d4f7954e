//! Random numbers for the time between two polls, which must not keep the rhythm of the program.

/// A generator with one word of state (xorshift64*, whose high bits are good).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Begins somewhere, by the cycle counter.
    pub fn begin() -> Self {
        Self(profundo_probe::clock::now() | 1)
    }

    /// A number of 32 bits.
    pub fn bits(&mut self) -> u64 {
        self.word() >> 32
    }

    /// A number below `bound`; 0 if that is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.word()) * u128::from(bound)) >> 64) as u64
    }

    fn word(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn numbers_are_below_their_bound_and_differ() {
        let mut random = Random::begin();
        let numbers: Vec<u64> = (0..100).map(|_| random.below(1000)).collect();
        assert!(numbers.iter().all(|&number| number < 1000));
        assert!(numbers.windows(2).any(|two| two[0] != two[1]));
        assert_eq!(random.below(0), 0);
        assert!(random.bits() < 1 << 32);
    }
}
