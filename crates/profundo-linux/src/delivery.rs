//! The time that the kernel takes to deliver one signal and return from it, measured by a thread
//! that does nothing but read the cycle counter: it sees each signal of its own clock as a gap.

use std::time::{Duration, Instant};

use crate::sys;

/// The period of the clock under which a thread spins.
pub const PERIOD: u64 = 100_000;

/// The number of gaps that gives a steady median. A calm machine takes four milliseconds for it.
const ENOUGH: usize = 40;

/// The longest time to spin.
const AT_MOST: Duration = Duration::from_millis(15);

/// The gaps that a spinning thread has seen.
#[derive(Debug)]
pub struct Gaps {
    /// Their lengths in cycles.
    gaps: Vec<u64>,
    /// Cycles and nanoseconds that the thread has spun.
    cycles: u64,
    nanoseconds: u64,
}

impl Gaps {
    /// Spins for some milliseconds. The caller's clock runs, whose signals do nothing.
    pub fn spin() -> Self {
        let mut gaps = Vec::with_capacity(2 * ENOUGH);
        let (first, began) = (sys::instant(), Instant::now());
        while began.elapsed() < AT_MOST && gaps.len() < ENOUGH {
            let mut last = profundo_probe::clock::now();
            for _ in 0..1000 {
                let now = profundo_probe::clock::now();
                // A turn of this loop takes tens of cycles; a signal takes thousands.
                if now.wrapping_sub(last) > 1000 {
                    gaps.push(now.wrapping_sub(last));
                }
                last = now;
            }
        }
        let last = sys::instant();
        Self {
            gaps,
            cycles: last.cycles.saturating_sub(first.cycles).max(1),
            nanoseconds: last.monotonic.saturating_sub(first.monotonic),
        }
    }

    /// The cost of one delivery in nanoseconds, if enough signals came meanwhile.
    ///
    /// Other interrupts make gaps too, shorter ones; and the scheduler makes long ones. While
    /// another thread keeps the other half of the core busy all gaps are twice as long, so what is
    /// taken is from the lower end of the signals' own.
    pub fn cost(mut self, signals: u64) -> Option<u64> {
        /// Fewer gaps give no estimate.
        const LEAST: u64 = 10;
        if signals < LEAST || self.gaps.is_empty() {
            return None;
        }
        self.gaps.sort_unstable();
        let median = *self.gaps.get(self.gaps.len() / 2)?;
        self.gaps.retain(|&gap| gap > median / 3);
        let gap = self.gaps.get(self.gaps.len() / 4)?;
        let cost = u128::from(*gap) * u128::from(self.nanoseconds) / u128::from(self.cycles);
        Some(cost as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::Gaps;

    #[test]
    fn the_cost_is_from_the_lower_end_of_what_signals_take() {
        let gaps = |gaps: &[u64]| Gaps {
            gaps: gaps.to_vec(),
            cycles: 2000,
            nanoseconds: 1000,
        };
        // Two interrupts, eight signals, one switch to another thread.
        let seen = [
            2000, 2100, 9000, 9100, 9200, 9300, 9400, 9500, 9600, 9700, 900_000,
        ];
        assert_eq!(gaps(&seen).cost(20), Some(4600));
        assert_eq!(gaps(&seen).cost(9), None);
        assert_eq!(gaps(&[]).cost(20), None);
    }
}
