//! No fork while a thread of ours visits the loaded files, and no such visit while another thread
//! forks.
//!
//! The loader locks its list of files for a visit. In the child of a fork that is made meanwhile,
//! no thread would ever give that lock back: the child would hang in its next `dlopen`, and, with
//! older libraries, in its next exception.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU64, Ordering};

use profundo_probe::sys;

use crate::process;

/// The process and the thread that visit or fork. 0: none does.
static HOLDER: AtomicU64 = AtomicU64::new(0);

/// A function that the loader calls for a file.
type Callback = unsafe extern "C" fn(*mut libc::dl_phdr_info, usize, *mut c_void) -> c_int;

/// Visits the loaded files, with all signals blocked: a handler may fork.
///
/// # Safety
/// As for `dl_iterate_phdr`.
pub unsafe fn visit(callback: Callback, data: *mut c_void) {
    let before = sys::set_signal_mask(u64::MAX);
    let is_first = enter();
    // SAFETY: the caller vouches.
    unsafe { libc::dl_iterate_phdr(Some(callback), data) };
    if is_first {
        leave();
    }
    sys::set_signal_mask(before);
}

/// The calling thread is about to fork. It may visit files meanwhile.
pub extern "C" fn before_fork() {
    enter();
}

/// It has forked, and this is the parent or the child.
pub extern "C" fn after_fork() {
    leave();
}

/// Returns whether the calling thread has come in first. One that is in already goes on at once,
/// and so does one that has waited for too long.
fn enter() -> bool {
    const LONGEST: u64 = 1_000_000_000;
    let process = u64::from(process::process_id()) << 32;
    let own = process | u64::from(sys::thread_id());
    let mut until = None;
    loop {
        let holder = HOLDER.load(Ordering::Relaxed);
        if holder == own {
            return false;
        }
        // A holder in another process is a thread that does not exist in this child.
        let is_free = holder == 0 || holder >> 32 << 32 != process;
        let order = (Ordering::Acquire, Ordering::Relaxed);
        if is_free
            && HOLDER
                .compare_exchange(holder, own, order.0, order.1)
                .is_ok()
        {
            return true;
        }
        let now = process::time(libc::CLOCK_MONOTONIC);
        if now > *until.get_or_insert(now.saturating_add(LONGEST)) {
            return false;
        }
        // SAFETY: takes nothing.
        unsafe { sys::call(libc::SYS_sched_yield, [0; 6]) };
    }
}

fn leave() {
    // Pairs with the acquire of the next one.
    HOLDER.store(0, Ordering::Release);
}
