//! Stacks to sample on, where the handler's own is too small.
//!
//! A program chooses its own signal stacks: Rust's threads have 8 KB, of which the kernel takes 3
//! KB for the registers of a CPU with AVX-512. That is enough for a sample whose code was
//! optimised, but not for one of a debug build, which needs as much again and more. So the handler
//! checks its room, and goes on in a stack of ours if there is too little. One is lent for the few
//! microseconds of a sample, so a few dozen serve any number of threads.

use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::sys;

/// The largest number of stacks: the bits of a word.
pub const STACKS: usize = 64;

const BYTES: usize = 32 << 10;

/// The largest need of a sample, with a margin for the signal that may interrupt it.
const ENOUGH: u64 = if cfg!(debug_assertions) {
    16 << 10
} else {
    4 << 10
};

/// One stack, in zeroed memory.
#[derive(Debug)]
#[repr(C, align(4096))]
pub struct Stack(UnsafeCell<[u8; BYTES]>);

// SAFETY: a stack is used by the handler that it is lent to, alone.
unsafe impl Sync for Stack {}

/// All stacks, and a bit for each that is lent.
#[derive(Debug)]
pub struct Stacks {
    stacks: &'static [Stack],
    lent: AtomicU64,
}

impl Stacks {
    /// Stacks over zeroed memory, of which [`STACKS`] at most are used.
    pub fn new(stacks: &'static [Stack]) -> Self {
        Self {
            stacks,
            lent: AtomicU64::new(0),
        }
    }

    /// Runs `work` where there is room for it: here, or on a stack of ours. Returns false if it did
    /// not run, because all of them are lent at this instant.
    ///
    /// # Safety
    /// `context` is the one that the kernel gave the running handler.
    #[inline]
    pub unsafe fn run(&self, context: *const libc::ucontext_t, work: impl FnOnce()) -> bool {
        // SAFETY: passed on.
        unsafe { self.run_with_more(context, 0, work) }
    }

    /// As `run`, for work that needs `more` bytes in addition to the walk of a native stack.
    ///
    /// # Safety
    /// As for `run`.
    #[inline]
    pub unsafe fn run_with_more(
        &self,
        context: *const libc::ucontext_t,
        more: u64,
        work: impl FnOnce(),
    ) -> bool {
        // SAFETY: the caller vouches for the context.
        if unsafe { room(context) } >= ENOUGH + more {
            work();
            return true;
        }
        self.run_on_ours(work)
    }

    /// Runs `work` on a stack of ours, or here if all of them are lent at this instant.
    pub(crate) fn run_elsewhere(&self, mut work: impl FnMut()) {
        if !self.run_on_ours(&mut work) {
            work();
        }
    }

    fn run_on_ours<F: FnOnce()>(&self, work: F) -> bool {
        let Some((number, top)) = self.lend() else {
            return false;
        };
        let mut work = Some(work);
        // SAFETY: the stack is lent to us until it is given back below; `call::<F>` expects what
        // it is given, and does not unwind, being `extern "C"`.
        unsafe { sys::call_on(top, call::<F>, (&raw mut work).cast()) };
        self.give_back(number);
        true
    }

    /// A free stack's number and its upper end.
    fn lend(&self) -> Option<(u32, *mut u8)> {
        // Each failed try has met another handler that succeeded.
        for _ in 0..STACKS {
            let number = self.lent.load(Ordering::Relaxed).trailing_ones();
            let stack = self.stacks.get(number as usize)?;
            let bit = 1_u64.checked_shl(number)?;
            // Acquire pairs with the release in `give_back`: the former user is done with it.
            if self.lent.fetch_or(bit, Ordering::Acquire) & bit == 0 {
                return Some((number, stack.0.get().cast::<u8>().wrapping_add(BYTES)));
            }
        }
        None
    }

    fn give_back(&self, number: u32) {
        self.lent.fetch_and(!(1 << number), Ordering::Release);
    }

    /// Whether none is lent.
    pub fn are_free(&self) -> bool {
        // Acquire pairs with the release in `give_back`.
        self.lent.load(Ordering::Acquire) == 0
    }

    /// In the child of a fork, where the borrowers do not exist.
    pub fn reset_after_fork(&self) {
        self.lent.store(0, Ordering::Relaxed);
    }
}

/// The bytes left on the handler's stack, as far as known: a thread's ordinary stack counts as
/// endless.
///
/// # Safety
/// As for `run`.
#[inline]
unsafe fn room(context: *const libc::ucontext_t) -> u64 {
    let here = (&raw const context) as u64;
    // SAFETY: the caller vouches for the context.
    let stack = unsafe { &raw const (*context).uc_stack };
    // SAFETY: as above; the kernel keeps the thread's signal stack there.
    let (low, bytes) = unsafe { ((*stack).ss_sp as u64, (*stack).ss_size as u64) };
    let left = here.wrapping_sub(low);
    match left < bytes {
        true => left,
        // Code that was not optimised needs most of the smallest stack that a thread may have.
        false if cfg!(debug_assertions) => 0,
        false => u64::MAX,
    }
}

/// Runs the work that `argument` points to.
extern "C" fn call<F: FnOnce()>(argument: *mut c_void) {
    // SAFETY: `run_on_ours` passes the address of its `Option<F>`, which waits for us.
    if let Some(work) = unsafe { (*argument.cast::<Option<F>>()).take() } {
        work();
    }
}
