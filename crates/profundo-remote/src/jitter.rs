//! The period is varied, so that no loop of a program can hide behind the rate.
//!
//! It is done about once a second and not more often, because the kernel restarts a clock whose
//! period changes: what had run of the old period is lost.

/// A period differs from the nominal one by this much at least and at most, up or down, in parts of
/// a hundred. At least, because round figures are what loops of programs have too, and a rate that
/// is nearly a loop's own sees the same part of it for a long time.
const SPREAD: (u64, u64) = (1, 3);

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
        let (least, most) = SPREAD;
        let least = self.nominal * least / 100;
        let width = u128::from((self.nominal * most / 100).saturating_sub(least) + 1);
        // The lowest bit says up or down.
        let deviation = least + ((u128::from(bits >> 1) * width) >> 63) as u64;
        let (up, down) = (self.nominal + deviation, self.nominal - deviation);
        let (this, next) = if bits & 1 == 0 {
            (up, down)
        } else {
            (down, up)
        };
        self.opposite = Some(next);
        this
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
            assert!((10_000..=30_000).contains(&one.abs_diff(1_000_000)));
        }
        let mut small = Jitter::new(1);
        assert_eq!(small.next() + small.next(), 2);
    }
}
