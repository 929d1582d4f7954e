//! The distance between sampled allocations: larger where a thread allocates so much that sampling
//! would cost it too much.
//!
//! The usual distance is doubled while samples come too fast, and halved again when they come
//! slowly. Earlier samples decide the distance to the next one, never the next one itself: so each
//! block's probability is known, and its weight is right whatever the program does.

/// The rate of samples. All zero is a thread without samples.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub struct Pace {
    /// The clock at the last sample.
    last: u64,
    /// The approximate cycles between two samples; 0: unknown.
    cycles: u64,
    doublings: u8,
}

/// Fewer cycles between two samples are too few: some seven microseconds, as long as a sample
/// takes. A larger limit would hide details, such as a line that leaks while others allocate and
/// free gigabytes.
const TOO_FAST: u64 = 1 << 14;
/// The number of samples for the average rate.
const LOOKS: u64 = 16;
/// A longer distance is more than is needed.
const SLOW: u64 = 3 * TOO_FAST;

impl Pace {
    /// The number of doublings of the distance.
    pub fn doublings(&self) -> u8 {
        self.doublings
    }

    /// Takes in a sample. The distance is doubled `most` times at most.
    pub fn step(&mut self, now: u64, most: u8) {
        let last = core::mem::replace(&mut self.last, now);
        // One long pause says nothing about the rate otherwise.
        let since = now.saturating_sub(last).min(8 * TOO_FAST);
        if last == 0 || self.cycles == 0 {
            self.cycles = 2 * TOO_FAST;
            return;
        }
        self.cycles = self.cycles - self.cycles / LOOKS + since / LOOKS;
        if self.cycles < TOO_FAST && self.doublings < most {
            self.doublings += 1;
            self.cycles *= 2;
        } else if self.cycles > SLOW && self.doublings > 0 {
            self.doublings -= 1;
            self.cycles /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heap::Gaps;

    #[test]
    fn looks_come_neither_too_fast_nor_for_ever_too_slowly() {
        let mut pace = Pace::default();
        let mut gaps = Gaps::new(5);
        let mut now = 1;
        // A byte a cycle, and then one each hundred.
        for (cycles, expected) in [(1, 1..=4), (100, 0..=0)] {
            for _ in 0..200 {
                now += cycles * gaps.gap((1 << 12) << pace.doublings());
                pace.step(now, 5);
            }
            assert!(expected.contains(&pace.doublings()), "{pace:?}");
        }
    }

    #[test]
    fn whatever_the_pace_is_what_is_seen_stands_for_all() {
        const MEAN: u64 = 1 << 12;
        let mut draws = Gaps::new(9);
        let (mut pace, mut gaps) = (Pace::default(), Gaps::new(11));
        let mut left = gaps.gap(MEAN);
        let (mut bytes, mut seen, mut now) = (0, 0.0, 1);
        for turn in 0..3_000_000_u64 {
            // Bursts of large ones, and slow times.
            let size = 16 + draws.draw() % if turn & (1 << 16) == 0 { 4000 } else { 100 };
            now += 1 + draws.draw() % 2000;
            bytes += size;
            if left >= size {
                left -= size;
                continue;
            }
            let mean = (MEAN << pace.doublings()) as f64;
            // The value of `1 - e^-x`, without a library.
            let x = size as f64 / mean;
            let mut chance = 0.0;
            let mut term = -1.0;
            for n in 1..40 {
                term *= -x / f64::from(n);
                chance += term;
            }
            seen += size as f64 / chance;
            pace.step(now, 6);
            left = gaps.gap(MEAN << pace.doublings());
        }
        let off = seen / bytes as f64 - 1.0;
        assert!(pace.doublings() <= 6 && off.abs() < 0.02, "{off}");
    }
}
