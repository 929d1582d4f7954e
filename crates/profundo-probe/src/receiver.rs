//! The receiver of our signals in a recorded program: its probe, once there is one.

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use crate::probe::Probe;

static PROBE: AtomicPtr<Probe> = AtomicPtr::new(ptr::null_mut());

/// The function that completes a process's entry when a clock ticks and there is no probe yet,
/// or 0.
static WAKER: AtomicUsize = AtomicUsize::new(0);

/// Sets the receiver of our signals. `None`: they are dropped.
pub fn set_probe(probe: Option<&'static Probe>) {
    let pointer = probe.map_or(ptr::null_mut(), |probe| ptr::from_ref(probe).cast_mut());
    PROBE.store(pointer, Ordering::Release);
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
    unsafe { PROBE.load(Ordering::Acquire).as_ref() }
}
