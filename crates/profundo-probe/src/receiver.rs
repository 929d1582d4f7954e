//! The receiver of our signals in a recorded program: its probe, once there is one.

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use crate::probe::Probe;

static PROBE: AtomicPtr<Probe> = AtomicPtr::new(ptr::null_mut());

/// The function that completes a process's entry when a clock ticks and there is no probe yet,
/// or 0.
static WAKER: AtomicUsize = AtomicUsize::new(0);

/// The number of handlers that are at work on a signal of ours.
static AT_WORK: AtomicU32 = AtomicU32::new(0);

/// Counted in, for a handler that is at work.
pub(crate) struct AtWork;

impl AtWork {
    /// Counts a handler in, before it asks for the probe.
    #[inline]
    pub(crate) fn begin() -> Self {
        // SeqCst pairs with `is_idle`: either an agent that leaves sees the count, or the handler
        // sees that there is no probe any more.
        AT_WORK.fetch_add(1, Ordering::SeqCst);
        Self
    }
}

impl Drop for AtWork {
    #[inline]
    fn drop(&mut self) {
        // A handler that has found itself in the child of a fork has set the count to zero.
        let order = (Ordering::SeqCst, Ordering::Relaxed);
        let less = |count: u32| count.checked_sub(1);
        let _ = AT_WORK.fetch_update(order.0, order.1, less);
    }
}

/// Whether no handler is at work. Without a probe none begins to use its memory after that.
pub fn is_idle() -> bool {
    AT_WORK.load(Ordering::SeqCst) == 0
}

/// In the child of a fork: the handlers of the parent's other threads are not there.
pub fn reset_after_fork() {
    AT_WORK.store(0, Ordering::SeqCst);
}

/// Sets the receiver of our signals. `None`: they are dropped.
pub fn set_probe(probe: Option<&'static Probe>) {
    let pointer = probe.map_or(ptr::null_mut(), |probe| ptr::from_ref(probe).cast_mut());
    // SeqCst pairs with the handler's count: see `AtWork`.
    PROBE.store(pointer, Ordering::SeqCst);
}

/// Sets the function that provides a probe when a clock ticks and there is none. The handler calls
/// it.
pub fn set_waker(waker: extern "C" fn()) {
    WAKER.store(waker as usize, Ordering::Relaxed);
}

/// Asks for a probe, on behalf of a clock that has ticked without one.
#[cold]
pub(crate) fn wake() -> Option<&'static Probe> {
    let waker = WAKER.load(Ordering::Relaxed);
    if waker != 0 {
        // SAFETY: `set_waker` has stored the address of such a function.
        unsafe { core::mem::transmute::<usize, extern "C" fn()>(waker)() };
    }
    probe()
}

pub(crate) fn probe() -> Option<&'static Probe> {
    // SAFETY: the probe lives as long as the process, and was made before it was published.
    unsafe { PROBE.load(Ordering::SeqCst).as_ref() }
}
