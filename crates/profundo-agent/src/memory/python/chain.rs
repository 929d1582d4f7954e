//! Our place among an interpreter's allocators.
//!
//! Other tools put theirs in front, and keep ours: `tracemalloc` does. One that goes away restores
//! what it has found. So ours may be called although they are not in front any more, or not be
//! called although they were never taken away. Which of the two it is, only a call shows.

use core::mem::{MaybeUninit, transmute};
use core::sync::atomic::{AtomicBool, Ordering};

use super::entries::{Allocator, BEFORE, DOMAINS, ours};
use crate::memory::local::local;

type Exchange = unsafe extern "C" fn(core::ffi::c_int, *mut Allocator);

/// True while a call asks whether it comes to ours.
pub(super) static IS_ASKED: AtomicBool = AtomicBool::new(false);
/// True if it has come.
static HAS_COME: AtomicBool = AtomicBool::new(false);
/// True if ours were ever installed for a domain.
static HAS_BEEN: [AtomicBool; DOMAINS.len()] = [const { AtomicBool::new(false) }; DOMAINS.len()];

/// Notes that a call has come to ours.
#[cold]
pub(super) fn answer() {
    HAS_COME.store(true, Ordering::Relaxed);
}

/// Puts ours in front, unless they are called already.
///
/// # Safety
/// The functions are `PyMem_GetAllocator` and `PyMem_SetAllocator`, and the interpreter has not
/// begun, or its lock is held.
pub(super) unsafe fn begin(get: usize, set: usize) {
    for (index, (domain, has_been)) in DOMAINS.into_iter().zip(&HAS_BEEN).enumerate() {
        // SAFETY: the caller vouches.
        unsafe {
            let now = now(get, domain);
            // An allocator is called only if ours may be behind it, in an interpreter that runs.
            if has_been.load(Ordering::Relaxed) && (is_ours(&now, index) || comes_to_ours(&now)) {
                continue;
            }
            BEFORE.of(index).write(now);
            has_been.store(true, Ordering::Relaxed);
            let mut ours = ours(index, now.context);
            transmute::<usize, Exchange>(set)(domain, &mut ours);
        }
    }
}

/// Takes ours away where they are in front. Returns the number of those that are not, and are still
/// called.
///
/// # Safety
/// As for [`begin`].
pub(super) unsafe fn end(get: usize, set: usize) -> i32 {
    let mut stay = 0;
    for (index, (domain, has_been)) in DOMAINS.into_iter().zip(&HAS_BEEN).enumerate() {
        if !has_been.load(Ordering::Relaxed) {
            continue;
        }
        // SAFETY: the caller vouches.
        unsafe {
            let now = now(get, domain);
            if is_ours(&now, index) {
                let mut before = BEFORE.of(index).read();
                transmute::<usize, Exchange>(set)(domain, &mut before);
            } else if comes_to_ours(&now) {
                stay += 1;
            }
        }
    }
    stay
}

/// The allocator of a domain.
///
/// # Safety
/// As for [`begin`].
unsafe fn now(get: usize, domain: core::ffi::c_int) -> Allocator {
    let mut now = MaybeUninit::uninit();
    // SAFETY: the caller vouches; the function fills it in.
    unsafe {
        transmute::<usize, Exchange>(get)(domain, now.as_mut_ptr());
        now.assume_init()
    }
}

fn is_ours(now: &Allocator, index: usize) -> bool {
    now.malloc as usize == ours(index, now.context).malloc as usize
}

/// Allocates a byte, and frees it again.
///
/// # Safety
/// The allocator is that of a running interpreter, whose lock is held.
unsafe fn comes_to_ours(now: &Allocator) -> bool {
    HAS_COME.store(false, Ordering::Relaxed);
    let local = local();
    // Nothing is left, so the call does not go straight on.
    let left = local.take();
    local.set(0);
    IS_ASKED.store(true, Ordering::Relaxed);
    // SAFETY: the caller vouches.
    let block = unsafe { (now.malloc)(now.context, 1) };
    IS_ASKED.store(false, Ordering::Relaxed);
    local.take();
    if !block.is_null() {
        // SAFETY: the allocator's own block.
        unsafe { (now.free)(now.context, block) };
    }
    local.set(left);
    HAS_COME.load(Ordering::Relaxed)
}
