//! The data of a handler, and the simple questions to it.

use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

use crate::buffer::Buffer;
use crate::caches::Caches;
use crate::code::{CodeMap, Inside, Listing};
use crate::counters::Counters;
use crate::recorder::Recorder;
use crate::records::ThreadRecord;
use crate::slot::Slot;
use crate::stacks::Stacks;
use crate::sys;
use crate::threads::Threads;

/// Everything the handler needs. It lives as long as the process.
#[derive(Debug)]
pub struct Probe {
    /// The sampled threads.
    pub threads: Threads,
    /// The latest rows of the busiest threads.
    pub caches: Caches,
    /// Stacks for the handler, if the signal's own is too small.
    pub stacks: Stacks,
    /// The unwind tables.
    pub code: CodeMap,
    /// Losses and costs.
    pub counters: &'static Counters,
    /// The memory shared with a command that records this process; none in a program that profiles
    /// itself. It then replaces `code` and `enabled`.
    pub recorder: Option<Recorder>,
    /// Whether samples are wanted. A signal that comes after the end is ignored.
    pub enabled: AtomicBool,
    /// The buffer for samples; null before the first session.
    pub buffer: AtomicPtr<Buffer>,
    /// The process's id, which is the main thread's. 0 in the child of a fork whose only thread is
    /// not on the main thread's stack.
    pub pid: AtomicU32,
    /// The end of the main thread's stack.
    pub main_stack_end: u64,
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

    /// Counts the caller in, where memory may be freed meanwhile: an agent frees nothing.
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

    /// The list of modules in force; 0 if unknown.
    #[inline]
    pub(crate) fn generation(&self) -> u64 {
        self.recorder
            .as_ref()
            .map_or(0, |recorder| recorder.ring.listings.generation())
    }

    /// Notes that a walk reached code that is missing in an agent's list of modules.
    #[inline]
    pub(crate) fn note_unlisted(&self, generation: u64, clock: u64) {
        if let Some(recorder) = &self.recorder {
            recorder.report_unlisted(generation, clock);
        }
    }

    /// Whether the calling thread is sampled: it has begun, and has not ended.
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

    /// Whether the calling thread is taking a sample at this instant, which matters only to code
    /// that the sampler calls by mistake.
    pub fn is_inside(&self) -> bool {
        let slot = self.threads.find(sys::thread_id());
        slot.is_some_and(|slot| slot.busy.load(Ordering::Relaxed))
    }

    /// The end of the own stack of the thread whose stack pointer is `sp`; 0 if unknown, or if `sp`
    /// lies in another stack.
    ///
    /// A thread's control block is at the top of its stack, but not the main thread's: that one
    /// lies among other mappings, and a coroutine's stack may come to lie right below it.
    pub(crate) fn stack_end(&self, tid: u32, sp: u64, thread_pointer: u64) -> u64 {
        const LARGEST: u64 = 1 << 30;
        let above = self.main_stack_end.wrapping_sub(sp);
        if tid != self.pid.load(Ordering::Relaxed) {
            thread_pointer
        } else if above < LARGEST {
            self.main_stack_end
        } else {
            0
        }
    }

    /// The recorder, and a thread's record in the memory shared with it.
    pub(crate) fn recorded(&self, slot: &Slot) -> Option<(&Recorder, &'static ThreadRecord)> {
        self.recorder
            .as_ref()
            .zip(self.threads.record(slot.number()))
    }
}
