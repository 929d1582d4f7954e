//! After a fork the child has neither our helper nor our events: it is not profiled.
//!
//! Task clocks are not inherited by child processes, CPU timers neither. The fork waits for the
//! helper to finish its turn, which may hold the loader's lock: the child would inherit it without
//! a holder. The possessions of the parent's session are released at the child's next call into the
//! library.

use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use profundo_probe::regs::thread_pointer;

use crate::state::STATE;
use crate::{heap, probe, span};

/// A turn of the helper takes a millisecond at most. A fork out of a signal handler, which may
/// have interrupted the very holder of the lock, must not wait for ever.
const LONG_ENOUGH: Duration = Duration::from_millis(100);

/// The thread pointer of the forking thread, if it holds the lock: the only property of a thread
/// that is the same in the child.
static HOLDER: AtomicU64 = AtomicU64::new(0);

/// Installs the fork handlers.
pub(crate) fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the callbacks may run before and after any fork: they take a lock with a time
        // limit, and store to atomics.
        unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
    });
}

unsafe extern "C" fn before() {
    if STATE.hold_for(LONG_ENOUGH) {
        HOLDER.store(thread_pointer(), Ordering::Relaxed);
    }
}

/// Releases the lock if this thread took it before the fork.
fn after() {
    let ours = HOLDER.compare_exchange(thread_pointer(), 0, Ordering::Relaxed, Ordering::Relaxed);
    if ours.is_ok() {
        STATE.release();
    }
}

unsafe extern "C" fn in_parent() {
    after();
}

unsafe extern "C" fn in_child() {
    after();
    probe::RUNNING.store(false, Ordering::Relaxed);
    probe::WALL.store(false, Ordering::Relaxed);
    profundo_probe::handlers::forget_peek();
    profundo_probe::handlers::set_calibrating(false);
    if let Some(probe) = probe::probe() {
        probe.enabled.store(false, Ordering::Relaxed);
        probe.code.reset_after_fork();
        probe.pid.store(std::process::id(), Ordering::Relaxed);
        probe.stacks.reset_after_fork();
    }
    span::reset_after_fork();
    heap::reset_after_fork();
}
