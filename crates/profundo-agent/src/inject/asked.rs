//! The requests that are not answered yet.
//!
//! The interpreter is given no address: its callback may come late, when the command that asked is
//! gone, and the memory of the request with it. So requests stand here until a callback claims
//! them, or they are withdrawn or too old.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use profundo_probe::shared::Request;
use profundo_probe::sys;

use crate::process;

struct Slot {
    /// Null: the slot is free.
    request: AtomicPtr<Request>,
    state: AtomicU32,
    /// The process that was asked. A child made by `fork` has a copy of the request, but is not
    /// meant.
    process: AtomicI32,
    /// The deadline, on the monotonic clock.
    until: AtomicU64,
}

/// The states of a slot that is taken.
mod state {
    /// The slot is being filled in, or emptied.
    pub const CLOSED: u32 = 0;
    /// The one that changes this state answers the request.
    pub const OPEN: u32 = 1;
}

/// The most requests at one time. Those of commands that were killed count until they are too old.
const MOST: usize = 128;

static SLOTS: [Slot; MOST] = [const {
    Slot {
        request: AtomicPtr::new(null_mut()),
        state: AtomicU32::new(state::CLOSED),
        process: AtomicI32::new(0),
        until: AtomicU64::new(0),
    }
}; MOST];

/// Notes a request, unless it stands here already. `false`: there are too many.
pub fn add(request: *mut Request, seconds: u32) -> bool {
    if SLOTS.iter().any(|slot| slot.holds(request)) {
        return true;
    }
    let now = process::time(libc::CLOCK_MONOTONIC);
    SLOTS.iter().for_each(|slot| slot.forget_if_late(now));
    for slot in &SLOTS {
        let taken = slot.request.compare_exchange(
            null_mut(),
            request,
            Ordering::Acquire,
            Ordering::Relaxed,
        );
        if taken.is_ok() {
            let until = now.saturating_add(u64::from(seconds) * 1_000_000_000);
            slot.until.store(until, Ordering::Relaxed);
            slot.process.store(process_id(), Ordering::Relaxed);
            // Release: the one that claims it sees the rest.
            slot.state.store(state::OPEN, Ordering::Release);
            return true;
        }
    }
    false
}

/// True if a request is still to be answered.
pub fn stands(request: *mut Request) -> bool {
    SLOTS.iter().any(|slot| slot.holds(request))
}

/// Withdraws a request. `false`: it is being answered, or was.
pub fn withdraw(request: *mut Request) -> bool {
    SLOTS
        .iter()
        .any(|slot| slot.holds(request) && slot.claim().is_some())
}

/// Calls `f` with each request that is still to be answered. The command waits for it.
pub fn each(mut f: impl FnMut(&Request)) {
    let now = process::time(libc::CLOCK_MONOTONIC);
    let process = process_id();
    for slot in &SLOTS {
        slot.forget_if_late(now);
        if slot.process.load(Ordering::Relaxed) == process
            && let Some(request) = slot.claim()
        {
            // SAFETY: it was not withdrawn, so it is still there, and stays until it is done.
            f(unsafe { &*request });
        }
    }
}

impl Slot {
    fn holds(&self, request: *mut Request) -> bool {
        self.request.load(Ordering::Relaxed) == request
            && self.process.load(Ordering::Relaxed) == process_id()
    }

    fn claim(&self) -> Option<*mut Request> {
        let claimed = self.state.compare_exchange(
            state::OPEN,
            state::CLOSED,
            Ordering::Acquire,
            Ordering::Relaxed,
        );
        claimed.ok()?;
        Some(self.request.swap(null_mut(), Ordering::Release))
    }

    fn forget_if_late(&self, now: u64) {
        let is_open = self.state.load(Ordering::Acquire) == state::OPEN;
        if is_open && self.until.load(Ordering::Relaxed) < now {
            self.claim();
        }
    }
}

fn process_id() -> i32 {
    // SAFETY: the call takes nothing, and cannot fail.
    (unsafe { sys::call(libc::SYS_getpid, [0; 6]) }) as i32
}
