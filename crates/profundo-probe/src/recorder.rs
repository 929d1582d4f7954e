//! An agent's side of the memory that it shares with the command: the switch of sampling, the
//! unwind tables, and the bell.

use core::sync::atomic::{AtomicU64, Ordering};

use profundo_unwind::{General, Regs};
use profundo_wire::Call;

use crate::python::Interpreters;
use crate::shared::{Control, Ring, engine};
use crate::{regs, sys};

/// The memory that an agent shares with the command.
#[derive(Debug)]
pub struct Recorder {
    /// The session.
    pub control: &'static Control,
    /// The process's own part of it. In the children of forks, another ring has the same address.
    pub ring: &'static Ring,
    /// The interpreter in this process, once it is found.
    pub python: Interpreters,
    /// The last report of unlisted code: its cycle counter, the time until the next report, and the
    /// list that lacked the code.
    reported: AtomicU64,
    patience: AtomicU64,
    generation: AtomicU64,
}

/// Some milliseconds, in cycles. Code without a file is never listed and is reported again and
/// again, so the time doubles until the list changes, up to a second or so.
const LEAST_PATIENCE: u64 = 1 << 23;
const MOST_PATIENCE: u64 = 1 << 31;

impl Recorder {
    /// Over mapped memory.
    pub fn new(control: &'static Control, ring: &'static Ring) -> Self {
        Self {
            control,
            ring,
            python: Interpreters::new(),
            reported: AtomicU64::new(0),
            patience: AtomicU64::new(LEAST_PATIENCE),
            generation: AtomicU64::new(0),
        }
    }

    /// Whether threads may have task clocks, which the command opens.
    pub(crate) fn uses_clocks(&self) -> bool {
        self.control.engine.load(Ordering::Relaxed) == engine::PERF_SIGNAL
    }

    /// True if samples are wanted only within the regions of the program, and none is open.
    #[inline]
    pub(crate) fn is_between_regions(&self) -> bool {
        let is_alone = self.control.is_alone.load(Ordering::Relaxed) != 0;
        // One more than the number of open regions; 0 until the program has set it.
        is_alone && self.ring.header.regions.open.load(Ordering::Relaxed) <= 1
    }

    /// Rings the bell of the command.
    pub fn ring_bell(&self) {
        // Release pairs with the acquire of the command, which clears the news and then looks.
        self.ring.header.news.store(1, Ordering::Release);
        self.control.doorbell.fetch_add(1, Ordering::Release);
        sys::futex_wake(&self.control.doorbell);
    }

    /// The descriptor of the system call that a thread with these registers has come from, if it is
    /// wanted.
    pub(crate) fn call_at(&self, registers: &Regs, general: &General, clock: u64) -> Option<Call> {
        // Relaxed: it is only a wish.
        let is_wanted = self.control.calls.load(Ordering::Relaxed) != 0;
        let descriptor = is_wanted.then(|| regs::descriptor(registers, general));
        let descriptor = descriptor.flatten()?;
        self.ring.header.calls.store(1, Ordering::Relaxed);
        Some(Call { clock, descriptor })
    }

    /// Takes this many words of those that may be written for repeated walks.
    pub(crate) fn may_write_rewalk(&self, words: usize) -> bool {
        let left = &self.ring.header.rewalk_words;
        let words = u32::try_from(words).unwrap_or(u32::MAX);
        // Relaxed: it is only a number.
        left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            left.checked_sub(words)
        })
        .is_ok()
    }

    /// Asks the command to drain the buffer, unless it was already asked to look.
    #[cold]
    pub(crate) fn ask_to_drain(&self) {
        if self.ring.header.news.load(Ordering::Relaxed) == 0 {
            self.ring_bell();
        }
    }

    /// Reports code in no listed module to the command, but not too often.
    #[cold]
    pub(crate) fn report_unlisted(&self, generation: u64, clock: u64) {
        let same = self.generation.swap(generation, Ordering::Relaxed) == generation;
        let patience = match self.patience.load(Ordering::Relaxed) {
            patience if same => patience,
            _ => LEAST_PATIENCE,
        };
        let reported = self.reported.load(Ordering::Relaxed);
        if clock.wrapping_sub(reported) < patience {
            return;
        }
        let first =
            self.reported
                .compare_exchange(reported, clock, Ordering::Relaxed, Ordering::Relaxed);
        if first.is_ok() {
            let next = patience.saturating_mul(2).min(MOST_PATIENCE);
            self.patience.store(next, Ordering::Relaxed);
            self.ring.header.stale.store(1, Ordering::Release);
            self.ring_bell();
        }
    }
}
