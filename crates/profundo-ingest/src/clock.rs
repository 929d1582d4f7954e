//! Cycle counters into nanoseconds, by the line through two instants at which both were read.

use profundo_model::Nanos;
use profundo_wire::recording::Instant;

/// The line, from the start of the recording to the last known instant. The longer it is, the less
/// it matters that two clocks cannot be read at once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    start: Instant,
    /// The start of times in cycles: mostly the start of the recording.
    zero: u64,
    nanoseconds_per_cycle: f64,
}

impl Clock {
    pub(crate) fn new(start: Instant) -> Self {
        Self {
            start,
            zero: start.cycles,
            nanoseconds_per_cycle: 0.0,
        }
    }

    /// Adds a later instant.
    pub(crate) fn learn(&mut self, now: Instant) {
        let cycles = now.cycles.saturating_sub(self.start.cycles);
        let nanoseconds = now.monotonic.saturating_sub(self.start.monotonic);
        if cycles > 0 {
            self.nanoseconds_per_cycle = nanoseconds as f64 / cycles as f64;
        }
    }

    /// Sets the start of times.
    pub(crate) fn count_from(&mut self, cycles: u64) {
        self.zero = cycles;
    }

    /// True for a counter before the start of times, if that is not the start of the recording.
    pub(crate) fn is_before(&self, cycles: u64) -> bool {
        self.zero != self.start.cycles && cycles < self.zero
    }

    /// Whether a second instant is known.
    pub(crate) fn is_known(&self) -> bool {
        self.nanoseconds_per_cycle > 0.0
    }

    /// A number of cycles as a duration.
    pub(crate) fn length(&self, cycles: u128) -> Nanos {
        Nanos((cycles as f64 * self.nanoseconds_per_cycle) as u64)
    }

    /// Time since the start. Earlier counters (those of CPUs differ by a few cycles) give the
    /// start.
    pub(crate) fn since_start(&self, cycles: u64) -> Nanos {
        let cycles = cycles.saturating_sub(self.zero);
        Nanos((cycles as f64 * self.nanoseconds_per_cycle) as u64)
    }
}
