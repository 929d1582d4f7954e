//! Cycle counters into nanoseconds, by the line through two instants at which both were read.

use profundo_model::Nanos;
use profundo_wire::recording::Instant;

/// The line, from the start of the recording to the last instant that is known. The longer it is,
/// the less it matters that two clocks cannot be read at once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    start: Instant,
    /// From where times are counted, in cycles: mostly the same.
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

    /// Another instant is known.
    pub(crate) fn learn(&mut self, now: Instant) {
        let cycles = now.cycles.saturating_sub(self.start.cycles);
        let nanoseconds = now.monotonic.saturating_sub(self.start.monotonic);
        if cycles > 0 {
            self.nanoseconds_per_cycle = nanoseconds as f64 / cycles as f64;
        }
    }

    /// Times are counted from here.
    pub(crate) fn count_from(&mut self, cycles: u64) {
        self.zero = cycles;
    }

    /// Whether this was before times are counted, and they do not begin with the recording.
    pub(crate) fn is_before(&self, cycles: u64) -> bool {
        self.zero != self.start.cycles && cycles < self.zero
    }

    /// Whether a second instant is known.
    pub(crate) fn is_known(&self) -> bool {
        self.nanoseconds_per_cycle > 0.0
    }

    /// So many cycles as a time.
    pub(crate) fn length(&self, cycles: u128) -> Nanos {
        Nanos((cycles as f64 * self.nanoseconds_per_cycle) as u64)
    }

    /// Time since the start; what was counted before it (a clock that differs between CPUs by a
    /// few cycles) is the start.
    pub(crate) fn since_start(&self, cycles: u64) -> Nanos {
        let cycles = cycles.saturating_sub(self.zero);
        Nanos((cycles as f64 * self.nanoseconds_per_cycle) as u64)
    }
}
