//! The totals of the sessions in the buffer.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use profundo_probe::Probe;
use profundo_wire::recording::{Engine, Instant};

use crate::clock;

/// The totals of the sessions in the buffer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Totals {
    pub(crate) engine: Engine,
    pub(crate) period: u64,
    pub(crate) started: Instant,
    pub(crate) ended: Instant,
    pub(crate) duration: u64,
    pub(crate) cpu: u64,
    /// The times of each thread, by number.
    pub(crate) threads: BTreeMap<u32, ThreadTimes>,
    pub(crate) notes: Vec<String>,
    /// The probe's counters when the buffer was cleared.
    pub(crate) before: CounterValues,
}

/// The times of a thread in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ThreadTimes {
    /// The time that it lived.
    pub(crate) alive: u64,
    pub(crate) cpu: u64,
}

/// The probe's counters at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CounterValues {
    pub(crate) buffer_full: u64,
    pub(crate) reentrant: u64,
    pub(crate) thread_table_full: u64,
    pub(crate) cycles: u64,
    pub(crate) handled: u64,
}

impl CounterValues {
    pub(crate) const ZERO: Self = Self {
        buffer_full: 0,
        reentrant: 0,
        thread_table_full: 0,
        cycles: 0,
        handled: 0,
    };

    pub(crate) fn of(probe: &Probe) -> Self {
        let counters = &probe.counters;
        Self {
            buffer_full: counters.buffer_full.load(Ordering::Relaxed),
            reentrant: counters.reentrant.load(Ordering::Relaxed),
            thread_table_full: counters.thread_table_full.load(Ordering::Relaxed),
            cycles: counters.cycles.load(Ordering::Relaxed),
            handled: counters.handled.load(Ordering::Relaxed),
        }
    }
}

impl Totals {
    pub(crate) const fn new() -> Self {
        const ZERO: Instant = Instant {
            cycles: 0,
            monotonic: 0,
            unix: 0,
        };
        Self {
            engine: Engine::None,
            period: 0,
            started: ZERO,
            ended: ZERO,
            duration: 0,
            cpu: 0,
            threads: BTreeMap::new(),
            notes: Vec::new(),
            before: CounterValues::ZERO,
        }
    }

    /// Adds a session to the self.
    pub(crate) fn add(&mut self, started: Instant, cpu: u64, probe: &Probe) {
        let now = clock::now();
        self.ended = now;
        self.duration += now.monotonic.saturating_sub(started.monotonic);
        self.cpu += cpu;
        let per_cycle = nanoseconds_per_cycle(started, now);
        for (number, record) in probe.threads.records() {
            let (first, last) = record.seen();
            let alive = (last.saturating_sub(first) as f64 * per_cycle) as u64;
            let cpu = record
                .cpu
                .load(Ordering::Relaxed)
                .saturating_sub(record.cpu_before.load(Ordering::Relaxed));
            let entry = self.threads.entry(number).or_default();
            entry.alive += alive;
            entry.cpu += cpu;
        }
    }
}

/// The length of a cycle between two moments.
pub(crate) fn nanoseconds_per_cycle(from: Instant, to: Instant) -> f64 {
    let cycles = to.cycles.wrapping_sub(from.cycles);
    if cycles == 0 {
        return 0.0;
    }
    to.monotonic.saturating_sub(from.monotonic) as f64 / cycles as f64
}
