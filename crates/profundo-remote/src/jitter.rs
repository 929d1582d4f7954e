//! The period is varied, so that no loop of a program can hide behind the rate.
//!
//! It is done about once a second and not more often, because the kernel restarts a clock whose
//! period changes: what had run of the old period is lost.

/// The period is drawn from this part of the nominal one, up and down, in parts of a hundred.
const SPREAD: u64 = 3;

/// Draws periods in pairs that cancel, so that the rate is right on average.
#[derive(Debug)]
pub(crate) struct Jitter {
    nominal: u64,
    opposite: Option<u64>,
    state: u64,
}

impl Jitter {
    pub(crate) fn new(nominal: u64) -> Self {
        Self {
            nominal,
            opposite: None,
            state: profundo_probe::clock::now() | 1,
        }
    }

    /// The next period.
    pub(crate) fn next(&mut self) -> u64 {
        if let Some(period) = self.opposite.take() {
            return period;
        }
        // xorshift64*, whose high bits are good.
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        let bits = self.state.wrapping_mul(0x2545_F491_4F6C_DD1D);
        let spread = self.nominal / 100 * SPREAD;
        let width = u128::from(2 * spread + 1);
        let deviation = ((u128::from(bits) * width) >> 64) as u64;
        self.opposite = Some(self.nominal + spread - deviation);
        self.nominal - spread + deviation
    }
}

#[cfg(test)]
mod tests {
    use super::Jitter;

    #[test]
    fn pairs_cancel() {
        let mut jitter = Jitter::new(1_000_000);
        for _ in 0..100 {
            let (one, other) = (jitter.next(), jitter.next());
            assert_eq!(one + other, 2_000_000);
            assert!((970_000..=1_030_000).contains(&one));
        }
    }
}
