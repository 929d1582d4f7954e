//! An agent's side of the memory that it shares with the command: whether samples are wanted, how
//! code is walked, and the bell.

use core::sync::atomic::{AtomicU64, Ordering};

use profundo_unwind::{General, Regs};
use profundo_wire::Call;

use crate::code::{Inside, Listing};
use crate::python::Interpreters;
use crate::sample::Probe;
use crate::shared::{Control, Ring, engine};
use crate::{regs, sys};

/// What an agent shares with the command.
#[derive(Debug)]
pub struct Recorder {
    /// The session.
    pub control: &'static Control,
    /// The process's own part of it. Its address stays the same in the children of forks, where it
    /// is another ring.
    pub ring: &'static Ring,
    /// The interpreter in this process, once it was found.
    pub python: Interpreters,
    /// When unlisted code was last told of, by the cycle counter, how long to wait before it is
    /// told of again, and which list it was not in.
    told: AtomicU64,
    patience: AtomicU64,
    generation: AtomicU64,
}

/// Some milliseconds, in cycles. Code that is in no file is met again and again, and is never
/// listed, so the time doubles until the list changes, up to a second or so.
const LEAST_PATIENCE: u64 = 1 << 23;
const MOST_PATIENCE: u64 = 1 << 31;

impl Recorder {
    /// Over mapped memory.
    pub fn new(control: &'static Control, ring: &'static Ring) -> Self {
        Self {
            control,
            ring,
            python: Interpreters::new(),
            told: AtomicU64::new(0),
            patience: AtomicU64::new(LEAST_PATIENCE),
            generation: AtomicU64::new(0),
        }
    }

    /// Whether threads may have task clocks, which the command opens.
    pub(crate) fn uses_clocks(&self) -> bool {
        self.control.engine.load(Ordering::Relaxed) == engine::PERF_SIGNAL
    }

    /// Tells the command that there is something to look at.
    pub fn ring_bell(&self) {
        // Release pairs with the acquire of the command, which takes the news back and then looks.
        self.ring.header.news.store(1, Ordering::Release);
        self.control.doorbell.fetch_add(1, Ordering::Release);
        sys::futex_wake(&self.control.doorbell);
    }

    /// What the system call was on that a thread with these registers has come from, if anybody wants to
    /// know.
    pub(crate) fn call_at(&self, registers: &Regs, general: &General, clock: u64) -> Option<Call> {
        // Relaxed: it is a wish and no more.
        let is_wanted = self.control.calls.load(Ordering::Relaxed) != 0;
        let descriptor = is_wanted.then(|| regs::descriptor(registers, general));
        let descriptor = descriptor.flatten()?;
        self.ring.header.calls.store(1, Ordering::Relaxed);
        Some(Call { clock, descriptor })
    }

    /// Takes so many words of those that may be written for walks to be done again.
    pub(crate) fn may_write_again(&self, words: usize) -> bool {
        let left = &self.ring.header.again;
        let words = u32::try_from(words).unwrap_or(u32::MAX);
        // Relaxed: it is a number and no more.
        left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            left.checked_sub(words)
        })
        .is_ok()
    }

    /// Asks the command to take out what there is, unless it has been told to look anyway.
    #[cold]
    pub(crate) fn ask_to_drain(&self) {
        if self.ring.header.news.load(Ordering::Relaxed) == 0 {
            self.ring_bell();
        }
    }

    /// Tells the command, but not too often, that code was met that is in no listed module.
    #[cold]
    fn tell_of_unlisted(&self, generation: u64, clock: u64) {
        let same = self.generation.swap(generation, Ordering::Relaxed) == generation;
        let patience = match self.patience.load(Ordering::Relaxed) {
            patience if same => patience,
            _ => LEAST_PATIENCE,
        };
        let told = self.told.load(Ordering::Relaxed);
        if clock.wrapping_sub(told) < patience {
            return;
        }
        let first = self
            .told
            .compare_exchange(told, clock, Ordering::Relaxed, Ordering::Relaxed);
        if first.is_ok() {
            let next = patience.saturating_mul(2).min(MOST_PATIENCE);
            self.patience.store(next, Ordering::Relaxed);
            self.ring.header.stale.store(1, Ordering::Release);
            self.ring_bell();
        }
    }
}

impl Probe {
    /// Whether samples are wanted.
    #[inline]
    pub(crate) fn is_enabled(&self) -> bool {
        match &self.recorder {
            None => self.enabled.load(Ordering::Relaxed),
            Some(recorder) => recorder.ring.header.enabled.load(Ordering::Relaxed) != 0,
        }
    }

    /// Counts the caller in, where something may be freed meanwhile: an agent frees nothing.
    #[inline]
    pub(crate) fn enter(&self) -> Option<Inside<'_>> {
        match self.recorder {
            None => Some(self.code.enter()),
            Some(_) => None,
        }
    }

    /// Runs `f` with the current list of modules.
    #[inline]
    pub fn with_listing<T>(&self, f: impl FnOnce(&Listing) -> T) -> T {
        match &self.recorder {
            None => self.code.with(f),
            Some(recorder) => recorder.ring.listings.with(f),
        }
    }

    /// Which list of modules is in force; 0 if nobody can tell.
    #[inline]
    pub(crate) fn generation(&self) -> u64 {
        self.recorder
            .as_ref()
            .map_or(0, |recorder| recorder.ring.listings.generation())
    }

    /// Notes that a walk came upon code that an agent's list of modules should have and has not.
    #[inline]
    pub(crate) fn note_unlisted(&self, generation: u64, clock: u64) {
        if let Some(recorder) = &self.recorder {
            recorder.tell_of_unlisted(generation, clock);
        }
    }

    /// Whether the calling thread is sampled: it has begun, and has not told its end.
    pub fn knows_this_thread(&self) -> bool {
        let tid = sys::thread_id();
        self.threads.find(tid).is_some() || self.threads.record_of(tid).is_some()
    }

    /// Whether a signal that comes from this descriptor of the command's is the calling thread's
    /// task clock.
    pub fn is_own_clock(&self, descriptor: u32) -> bool {
        let record = self
            .threads
            .find(sys::thread_id())
            .and_then(|slot| self.threads.record(slot.number()))
            .or_else(|| self.threads.record_of(sys::thread_id()));
        record.is_some_and(|record| {
            record.clock.load(Ordering::Relaxed) == descriptor.wrapping_add(1)
        })
    }
}
