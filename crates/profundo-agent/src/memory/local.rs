//! The thread's own state: the bytes that it may still allocate before a block is sampled.
//!
//! It is in the thread's own static block, which is there from the thread's first instruction to
//! its last and is found by two instructions. Rust's own thread-locals in a library are found by a
//! call, which may allocate.

use core::cell::Cell;
use core::mem::offset_of;
use core::sync::atomic::{Ordering, compiler_fence};

use profundo_probe::heap::{Gaps, Known, Pace, Recall};

use crate::machine::{own_address, own_alignment, own_block};

/// A number of bytes that no allocation has.
pub const NEVER: u64 = u64::MAX;

/// All zero at first: then the first allocation is sampled, and the rest is set up.
#[derive(Debug)]
#[repr(C)]
pub struct Local {
    /// The budget: an allocation of at least this many bytes is sampled. Smaller ones are
    /// subtracted.
    left: Cell<u64>,
    /// The value of `left` when the last block was followed, and that block's number.
    left_then: Cell<u64>,
    last: Cell<u64>,
    gaps: Cell<Gaps>,
    pace: Cell<Pace>,
    /// True if gaps were drawn.
    is_set_up: Cell<bool>,
    /// True if an allocation was sampled, or should have been.
    has_begun: Cell<bool>,
    /// As `left`, of copies.
    copies: Cell<u64>,
    /// True if the thread runs code that its own signal handlers must not enter.
    is_busy: Cell<bool>,
    /// For exact counting: the process and the recording that the rest was set up in, the thread's
    /// share, the number of bytes from which on there may be a new peak, and the stacks that it
    /// knows.
    mark: Cell<u64>,
    share: Cell<u32>,
    /// The last recording that the thread has sampled a block in.
    recording: Cell<u32>,
    peak_from: Cell<u64>,
    known: Cell<*mut Known>,
    /// The number of samples, and the stacks that they came from.
    samples: Cell<u32>,
    /// True if the thread has loaded a file, and slots in it may still be the program's.
    is_pass_due: Cell<bool>,
    recall: Cell<*mut Recall>,
}

const BYTES: usize = size_of::<Local>();

/// The offsets of both budgets.
pub const LEFT: usize = offset_of!(Local, left);
pub const COPIES: usize = offset_of!(Local, copies);

own_block!("profundo_local", BYTES, own_alignment!());

/// The calling thread's state.
#[inline(always)]
pub fn local() -> &'static Local {
    let address: *const Local = own_address!("profundo_local");
    // SAFETY: all zero is a valid one, it is aligned, and only this thread and its handlers reach
    // it, through cells. It lives as long as the thread, which does not hand it on.
    unsafe { &*address }
}

impl Local {
    /// True if a budget was taken by a call around the present one.
    #[inline(always)]
    pub fn is_inside(left: u64) -> bool {
        // Calls inside subtract what they allocate, which is far less.
        left > NEVER / 2
    }

    /// True if an allocation of this size is not sampled. Then it is subtracted.
    #[inline(always)]
    pub fn may_pass(&self, bytes: u64) -> bool {
        let left = self.left.get();
        let passes = bytes < left;
        if passes {
            self.left.set(left - bytes);
        }
        passes
    }

    /// True if a copy of this size is not sampled. Then it is subtracted.
    #[inline(always)]
    pub fn may_copy(&self, bytes: u64) -> bool {
        let left = self.copies.get();
        let passes = bytes < left;
        if passes {
            self.copies.set(left - bytes);
        }
        passes
    }

    /// Sets the number of bytes to be copied until the next sample.
    pub fn set_copies(&self, left: u64) {
        self.copies.set(left);
    }

    /// True if that number was never set.
    pub fn has_no_copies(&self) -> bool {
        self.copies.get() == 0
    }

    /// Takes the budget, so that calls inside of this one count nothing.
    #[inline(always)]
    pub fn take(&self) -> u64 {
        self.left.replace(NEVER)
    }

    /// Sets the budget.
    #[inline(always)]
    pub fn set(&self, left: u64) {
        self.left.set(left);
    }

    /// Adapts the distance of samples, at a sample. Returns how often it was doubled for this one,
    /// and how often it is for the next; at most `most` times.
    pub fn keep_pace(&self, now: u64, most: u8) -> (u8, u8) {
        let mut pace = self.pace.get();
        let before = pace.doublings();
        pace.step(now, most);
        self.pace.set(pace);
        (before, pace.doublings())
    }

    /// Draws the budget until the next sample, with this mean.
    pub fn draw(&self, mean: u64) -> u64 {
        let mut gaps = match self.is_set_up.replace(true) {
            true => self.gaps.get(),
            // No two threads have the same address at the same cycle.
            false => Gaps::new(profundo_probe::clock::now() ^ (self as *const Self as u64) << 16),
        };
        // A sample falls on an allocation that has more bytes than were drawn.
        let left = gaps.gap(mean).saturating_add(1);
        self.gaps.set(gaps);
        left
    }

    /// True if an allocation of the thread was sampled before, or should have been. From now on one
    /// was.
    pub fn has_begun(&self) -> bool {
        self.has_begun.replace(true)
    }

    /// The number of times that the distance of samples is doubled.
    pub fn doublings(&self) -> u8 {
        self.pace.get().doublings()
    }

    /// Notes that a block is followed from here on. `number` is kept inverted: an address would
    /// look like a pointer to the block.
    pub fn follow(&self, number: u64, left: u64) {
        self.last.set(!number);
        self.left_then.set(left);
    }

    /// True if nothing was allocated since a block was begun to be followed.
    pub fn is_right_after(&self, number: u64) -> bool {
        self.last.get() == !number && self.left_then.get() == self.left.get()
    }

    /// True if the last block that was handed out lies there.
    pub fn is_last(&self, address: u64) -> bool {
        self.last.get() == !address
    }

    /// The process and the recording that counting was set up in; 0 for none.
    #[inline(always)]
    pub fn mark(&self) -> u64 {
        self.mark.get()
    }

    /// Notes the recording that the thread samples in. Returns true if it is another than before.
    pub fn enters(&self, recording: u32) -> bool {
        let is_another = self.recording.replace(recording) != recording;
        if is_another {
            self.has_begun.set(false);
            if self.samples.get() != u32::MAX {
                self.samples.set(0);
            }
        }
        is_another
    }

    /// The thread's memory of its stacks, if it has any.
    pub fn kept_recall(&self) -> *mut Recall {
        self.recall.get()
    }

    /// Notes whether the thread has loaded a file. Returns what was noted before.
    pub fn pass_is_due(&self, is_due: bool) -> bool {
        self.is_pass_due.replace(is_due)
    }

    /// True if the thread is in an allocation, or in a function that frees a block.
    pub fn is_allocating(&self) -> bool {
        Self::is_inside(self.left.get())
    }

    /// The share that the thread counts in.
    #[inline(always)]
    pub fn share(&self) -> usize {
        self.share.get() as usize
    }

    /// The stacks that the thread knows, if there is room for any.
    #[inline(always)]
    pub fn known(&self) -> Option<*mut Known> {
        let known = self.known.get();
        (!known.is_null()).then_some(known)
    }

    /// The thread's memory of its stacks. `make` allocates it when it is worth it.
    pub fn recall(&self, make: impl FnOnce() -> *mut Recall) -> *mut Recall {
        /// The number of samples before that.
        const SOME: u32 = 16;
        let samples = self.samples.get();
        if samples == SOME && self.recall.get().is_null() {
            self.recall.set(make());
        }
        self.samples.set(samples.saturating_add(1));
        self.recall.get()
    }

    /// Takes the memory of stacks away for ever.
    pub fn take_recall(&self) -> *mut Recall {
        self.samples.set(u32::MAX);
        self.recall.replace(core::ptr::null_mut())
    }

    /// Sets up counting.
    pub fn set_up_exact(&self, mark: u64, share: usize, known: *mut Known) {
        self.mark.set(mark);
        self.share.set(share as u32);
        self.known.set(known);
        self.peak_from.set(0);
    }

    /// The number of bytes of its share from which on there may be a new peak.
    #[inline(always)]
    pub fn peak_from(&self) -> u64 {
        self.peak_from.get()
    }

    /// Sets that number.
    pub fn set_peak_from(&self, bytes: u64) {
        self.peak_from.set(bytes);
    }

    /// Runs `f`, unless this is a handler that has interrupted such an `f`: it cannot wait for what
    /// that holds or has half written.
    #[inline(always)]
    pub fn alone<R>(&self, f: impl FnOnce() -> R) -> Option<R> {
        if self.is_busy.replace(true) {
            return None;
        }
        // A handler of this thread sees the order of the instructions.
        compiler_fence(Ordering::SeqCst);
        let result = f();
        compiler_fence(Ordering::SeqCst);
        self.is_busy.set(false);
        Some(result)
    }
}
