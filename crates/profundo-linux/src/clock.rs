//! The cycle counter against the kernel's clock: records carry cycles, the kernel nanoseconds.

use profundo_wire::recording::Instant;

use crate::sys;

/// The ratio of cycles to nanoseconds, as measured since the recording began.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    first: Instant,
    last: Instant,
}

impl Scale {
    /// Begins to measure. The first figure is from a tenth of a millisecond, and improves.
    pub fn begin() -> Self {
        let first = sys::instant();
        let mut last = first;
        while last.monotonic.saturating_sub(first.monotonic) < 100_000 {
            std::hint::spin_loop();
            last = sys::instant();
        }
        Self { first, last }
    }

    /// The ratio of a time that is over, from its beginning to its end.
    pub fn between(first: Instant, last: Instant) -> Self {
        Self { first, last }
    }

    /// Reads both clocks again.
    pub fn measure(&mut self) {
        self.last = sys::instant();
    }

    /// The instant at which the recording began.
    pub fn first(&self) -> Instant {
        self.first
    }

    fn spans(&self) -> (i128, i128) {
        let cycles = self.last.cycles.saturating_sub(self.first.cycles).max(1);
        let nanos = self.last.monotonic.saturating_sub(self.first.monotonic);
        (cycles.into(), nanos.max(1).into())
    }

    /// A number of cycles in nanoseconds.
    pub fn nanoseconds(&self, cycles: u64) -> u64 {
        let (all_cycles, all_nanos) = self.spans();
        (i128::from(cycles) * all_nanos / all_cycles) as u64
    }

    /// The cycle counter at an instant of the monotonic clock. It is computed from the last
    /// reading, so an inexact first reading or a clock that is being adjusted matters little close
    /// to it.
    pub fn cycles_at(&self, monotonic: u64) -> u64 {
        let (all_cycles, all_nanos) = self.spans();
        let since = i128::from(monotonic) - i128::from(self.last.monotonic);
        (i128::from(self.last.cycles) + since * all_cycles / all_nanos).max(0) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_clocks_agree_later_on() {
        let mut scale = Scale::begin();
        // The time between the two readings is the subject.
        std::thread::sleep(std::time::Duration::from_millis(20));
        scale.measure();
        let now = sys::instant();
        let guess = scale.cycles_at(now.monotonic);
        let off = scale.nanoseconds(guess.abs_diff(now.cycles));
        assert!(off < 100_000, "{off} ns off");
        assert_eq!(scale.nanoseconds(0), 0);
    }

    #[test]
    fn a_bad_first_reading_does_not_matter_after_the_next_one() {
        let at = |cycles, monotonic| Instant {
            cycles,
            monotonic,
            unix: 0,
        };
        // Two cycles a nanosecond, but for the first reading, which is a millisecond late.
        let scale = Scale {
            first: at(2_000_000, 0),
            last: at(2_000_000_000, 1_000_000_000),
        };
        let guess = scale.cycles_at(999_990_000);
        assert!(guess.abs_diff(1_999_980_000) < 100, "{guess}");
    }
}
