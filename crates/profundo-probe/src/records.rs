//! The record of each thread ever seen, and the right to write it.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::{clock, pace};

/// The values of [`ThreadRecord::state`].
///
/// ```text
/// UNUSED ──▶ FILLING ──▶ ALIVE ──▶ ENDED ──▶ READ ──▶ FILLING …
/// ```
///
/// A thread is entered by moving its record from `UNUSED` (there, by adding one to `met`) or `READ`
/// to `FILLING` by compare-and-swap, filling it in and storing `ALIVE` with release order. At its
/// end, the final numbers are stored, then `ENDED`. Only the command, which has read all of it,
/// stores `READ`; until then the record and its number are that thread's.
pub mod record_state {
    /// Never used.
    pub const UNUSED: u32 = 0;
    /// Being filled in: look again later.
    pub const FILLING: u32 = 1;
    /// A thread that lives, as far as known.
    pub const ALIVE: u32 = 2;
    /// The thread has ended: name, CPU time and last sight are final.
    pub const ENDED: u32 = 3;
    /// The thread has ended and the command has taken note: the record may be used for another
    /// thread.
    pub const READ: u32 = 4;
}

/// The record of a thread, living or not. All zero is an unused record.
#[derive(Debug)]
#[repr(C)]
pub struct ThreadRecord {
    tid: AtomicU32,
    /// One of [`record_state`].
    pub state: AtomicU32,
    name: [AtomicU64; 2],
    first_seen: AtomicU64,
    last_seen: AtomicU64,
    /// CPU time at the last look, in nanoseconds; kept by the capture side.
    pub cpu: AtomicU64,
    /// CPU time when the session or the thread began.
    pub cpu_before: AtomicU64,
    /// Cycles that the thread spent in waits for the interpreter's lock: see [`Self::gil_wait`].
    pub gil_cycles: AtomicU64,
    /// The nanoseconds of that time in which it ran, to go to sleep and to wake up.
    pub gil_awake: AtomicU64,
    /// The descriptor, in the command that records this process, of the thread's task clock, plus
    /// one; 0 if it has none. Signals of no other descriptor are ours. Written by the command.
    pub clock: AtomicU32,
    /// The thread's number in its process, never used twice: the record's place, from 1, plus the
    /// number of records for each time that it was used before. It is what samples name.
    pub number: AtomicU32,
    /// The period of the thread's task clock in nanoseconds; 0: the session's. Written by the
    /// command.
    pub period: AtomicU64,
    /// CPU time in nanoseconds that the task clock has lost, because the kernel starts a clock anew
    /// whose period changes. The command adds to it, and the clock's next tick takes it.
    pub skipped: AtomicU64,
    /// CPU time that the command has recorded for the thread, because the thread blocked our
    /// signals. The thread's next tick takes it off.
    pub recorded_for: AtomicU64,
    /// The clock that the thread asks for: one of [`crate::pace`]'s. Written by the thread.
    pub pace: AtomicU32,
    /// 1 while the thread's task clock ticks. Written by the thread.
    pub has_ticked: AtomicU32,
    /// The system calls that a sample of them stands for; 0 if they are not sampled. Written by the
    /// command.
    pub calls_period: AtomicU64,
}

impl ThreadRecord {
    /// The kernel's thread id.
    pub fn tid(&self) -> u32 {
        self.tid.load(Ordering::Relaxed)
    }

    /// The name, up to 15 bytes and a NUL.
    pub fn name(&self) -> [u8; 16] {
        let mut name = [0; 16];
        name[..8].copy_from_slice(&self.name[0].load(Ordering::Relaxed).to_ne_bytes());
        name[8..].copy_from_slice(&self.name[1].load(Ordering::Relaxed).to_ne_bytes());
        name
    }

    /// Sets the name, as `/proc/…/comm` or `prctl` gives it.
    pub fn set_name(&self, name: [u8; 16]) {
        let (low, high) = name.split_at(8);
        self.name[0].store(
            u64::from_ne_bytes(low.try_into().unwrap_or([0; 8])),
            Ordering::Relaxed,
        );
        self.name[1].store(
            u64::from_ne_bytes(high.try_into().unwrap_or([0; 8])),
            Ordering::Relaxed,
        );
    }

    /// Cycle counters when the thread was first and last known to be alive.
    pub fn seen(&self) -> (u64, u64) {
        (
            self.first_seen.load(Ordering::Relaxed),
            self.last_seen.load(Ordering::Relaxed),
        )
    }

    /// Notes that the thread is alive at this cycle counter.
    pub fn saw(&self, clock: u64) {
        self.last_seen.store(clock, Ordering::Relaxed);
    }

    /// Starts the account of a new recording at this cycle counter.
    pub fn restart(&self, clock: u64) {
        self.first_seen.store(clock, Ordering::Relaxed);
        self.last_seen.store(clock, Ordering::Relaxed);
    }

    /// The nanoseconds that the thread waited for the interpreter's lock. `nanoseconds` converts
    /// cycles.
    pub fn gil_wait(&self, nanoseconds: impl FnOnce(u64) -> u64) -> u64 {
        let passed = nanoseconds(self.gil_cycles.load(Ordering::Relaxed));
        passed.saturating_sub(self.gil_awake.load(Ordering::Relaxed))
    }

    /// True if the thread has ended.
    pub fn has_ended(&self) -> bool {
        self.state.load(Ordering::Acquire) >= record_state::ENDED
    }

    /// Enters a thread. The record's state is [`record_state::FILLING`], and the caller put it
    /// there.
    pub fn fill(&self, number: u32, tid: u32, name: [u8; 16]) {
        self.number.store(number, Ordering::Relaxed);
        self.tid.store(tid, Ordering::Relaxed);
        self.set_name(name);
        self.restart(clock::now());
        let waits = [&self.gil_cycles, &self.gil_awake];
        for figure in [&self.cpu, &self.cpu_before].into_iter().chain(waits) {
            figure.store(0, Ordering::Relaxed);
        }
        self.clock.store(0, Ordering::Relaxed);
        let periods = [&self.period, &self.calls_period];
        for figure in [&self.skipped, &self.recorded_for]
            .into_iter()
            .chain(periods)
        {
            figure.store(0, Ordering::Relaxed);
        }
        self.pace.store(pace::TICKS, Ordering::Relaxed);
        self.has_ticked.store(0, Ordering::Relaxed);
        // Release pairs with the acquire of each reader of the record, the command among them.
        self.state.store(record_state::ALIVE, Ordering::Release);
    }

    /// Notes, for the command, that the thread has ended without a report. Returns whether it lived
    /// so far.
    pub fn finish_unreported(&self) -> bool {
        self.saw(clock::now());
        // Release pairs with the acquire in `has_ended`.
        let ended = self.state.compare_exchange(
            record_state::ALIVE,
            record_state::ENDED,
            Ordering::AcqRel,
            Ordering::Relaxed,
        );
        ended.is_ok()
    }

    /// Notes that the thread has ended, with its final numbers.
    pub(crate) fn finish(&self) {
        self.saw(clock::now());
        // Release pairs with the acquire in `has_ended` and in the command.
        self.state.store(record_state::ENDED, Ordering::Release);
    }
}
