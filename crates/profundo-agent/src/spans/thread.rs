//! The numbers of the calling thread, which each of its spans names, and what it is about to free.
//!
//! They are in the thread's own static block, as the state of allocations is
//! (`memory/local.rs`): asking the kernel for them would take longer than all the rest.

use core::cell::Cell;

use profundo_probe::sys;

use super::object::Span;
use crate::home::Home;
use crate::machine::{own_address, own_block};

/// All zero at first: unknown.
#[repr(C)]
struct Thread {
    /// The recording that the numbers are of.
    recording: Cell<u32>,
    number: Cell<u32>,
    tid: Cell<u32>,
    freed: Freed,
}

/// The spans that this thread is about to free.
#[repr(C)]
pub struct Freed {
    pub next: Cell<*mut Span>,
    pub is_busy: Cell<bool>,
}

own_block!("profundo_span_thread", size_of::<Thread>(), 8);

#[inline(always)]
fn thread() -> &'static Thread {
    let address: *const Thread = own_address!("profundo_span_thread");
    // SAFETY: all zero is a valid one, it is aligned, and only this thread reaches it. It lives as
    // long as the thread, which does not hand it on.
    unsafe { &*address }
}

/// The spans that the calling thread is about to free.
#[inline]
pub fn freed() -> &'static Freed {
    &thread().freed
}

/// The calling thread's number and its kernel id, in this recording. The number is 0 if the thread
/// is not recorded.
#[inline]
pub fn numbers(home: Home, recording: u32) -> (u32, u32) {
    let thread = thread();
    if thread.recording.get() != recording {
        find(thread, home, recording);
    }
    (thread.number.get(), thread.tid.get())
}

#[cold]
fn find(thread: &Thread, home: Home, recording: u32) {
    let tid = sys::thread_id();
    // SAFETY: the probe was made before the home was settled.
    let slot = unsafe { home.probe() }.threads.find(tid);
    let number = slot.map_or(0, |slot| slot.number());
    thread.number.set(number);
    thread.tid.set(tid);
    // A thread that is not entered yet will be.
    thread
        .recording
        .set(if number == 0 { 0 } else { recording });
}
