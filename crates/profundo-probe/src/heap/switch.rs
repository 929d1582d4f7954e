//! The requests about allocations at this moment, in one word: each allocation reads it, and does
//! nothing else where it is 0.
//!
//! ```text
//!  63                    24 23              8 7    4     3         2       1          0
//! ┌────────────────────────┬─────────────────┬──────┬────────────┬──────┬───────────┬───────────┐
//! │ number of the rule     │ users of counts │      │ all blocks │ peak │ by events │ recording │
//! └────────────────────────┴─────────────────┴──────┴────────────┴──────┴───────────┴───────────┘
//! ```

use core::sync::atomic::{AtomicU64, Ordering};

/// The word.
pub static SWITCH: Switch = Switch(AtomicU64::new(0));

const RECORDING: u64 = 1;
const BY_EVENTS: u64 = 2;
const PEAK: u64 = 4;
const BLOCKS: u64 = 8;
const COUNTER: u64 = 1 << 8;
const COUNTERS: u64 = 0xFFFF << 8;
const RULE: u32 = 24;

/// The word, to be read and changed.
#[derive(Debug)]
pub struct Switch(AtomicU64);

/// The value of the word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wanted(u64);

impl Switch {
    /// The requests. The value is a hint: what it leads to is checked again.
    #[inline]
    pub fn load(&self) -> Wanted {
        Wanted(self.0.load(Ordering::Relaxed))
    }

    /// The requests, in the order of all threads that count themselves in, or wait until no one is
    /// inside.
    pub fn load_in_order(&self) -> Wanted {
        Wanted(self.0.load(Ordering::SeqCst))
    }

    /// Starts to record allocations by the rule of this number, which is new.
    pub fn record(&self, rule: u64, by_events: bool) {
        let by_events = if by_events { BY_EVENTS } else { 0 };
        self.change(|word| {
            let rest = word & (COUNTERS | PEAK);
            rest | RECORDING | by_events | rule << RULE
        });
    }

    /// Stops recording allocations.
    pub fn stop_recording(&self) {
        self.change(|word| word & (COUNTERS | PEAK));
    }

    /// Adds a user of counts.
    pub fn begin_counting(&self) {
        self.0.fetch_add(COUNTER, Ordering::SeqCst);
    }

    /// Removes a user of counts.
    pub fn end_counting(&self) {
        self.0.fetch_sub(COUNTER, Ordering::SeqCst);
    }

    /// Watches the process's peak, for good.
    pub fn watch_peak(&self) {
        self.0.fetch_or(PEAK, Ordering::SeqCst);
    }

    fn change(&self, to: impl Fn(u64) -> u64) {
        // Always `Some`.
        let _ = (self.0).fetch_update(Ordering::SeqCst, Ordering::SeqCst, |word| Some(to(word)));
    }
}

impl Wanted {
    /// Counts and the peak, for a user from the first allocation on.
    pub const COUNTS: Self = Self(COUNTER | PEAK);

    /// Following of every block, for a user from the first allocation on.
    pub const BLOCKS: Self = Self(BLOCKS);

    /// No requests.
    #[inline]
    pub const fn nothing() -> Self {
        Self(0)
    }

    /// The union of both. After that, only the presence of counts is right, not the number of their
    /// users.
    #[inline]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether there are no requests.
    #[inline]
    pub const fn is_nothing(self) -> bool {
        self.0 == 0
    }

    /// Whether allocations are recorded.
    #[inline]
    pub const fn is_recording(self) -> bool {
        self.0 & RECORDING != 0
    }

    /// Whether each allocation counts the same, and not by its size.
    #[inline]
    pub const fn is_by_events(self) -> bool {
        self.0 & BY_EVENTS != 0
    }

    /// Whether allocations are counted.
    #[inline]
    pub const fn is_counting(self) -> bool {
        self.0 & COUNTERS != 0
    }

    /// Whether the process's peak is watched.
    #[inline]
    pub const fn is_watching_peak(self) -> bool {
        self.0 & PEAK != 0
    }

    /// Whether every block is followed.
    #[inline]
    pub const fn is_following(self) -> bool {
        self.0 & BLOCKS != 0
    }

    /// The number of the rule by which allocations are chosen; 0 where none are.
    #[inline]
    pub const fn rule(self) -> u64 {
        self.0 >> RULE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recording_and_counting_do_not_disturb_each_other() {
        let switch = Switch(AtomicU64::new(0));
        switch.begin_counting();
        switch.record(7, true);
        switch.begin_counting();
        let wanted = switch.load();
        assert!(wanted.is_recording() && wanted.is_by_events() && wanted.is_counting());
        assert_eq!(wanted.rule(), 7);
        switch.record(8, false);
        switch.end_counting();
        let wanted = switch.load();
        assert!(wanted.is_recording() && !wanted.is_by_events() && wanted.is_counting());
        switch.stop_recording();
        assert!(switch.load().is_counting() && switch.load().rule() == 0);
        switch.end_counting();
        assert!(switch.load().is_nothing());
    }
}
