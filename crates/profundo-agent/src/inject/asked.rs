//! What has been asked and is not answered yet.
//!
//! The interpreter is handed no address: what it calls us with may come late, when whoever asked has long gone and the
//! memory of the request with them. So requests stand here until one of us claims them, or they are withdrawn or too old.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use profundo_probe::shared::Request;
use profundo_probe::sys;

use crate::process;

struct Slot {
    /// Null: it is free.
    request: AtomicPtr<Request>,
    state: AtomicU32,
    /// A child made by `fork` finds it here, too, and is not meant.
    process: AtomicI32,
    /// On the monotonic clock.
    until: AtomicU64,
}

/// Of a slot that is taken.
mod state {
    /// It is being filled in, or emptied.
    pub const CLOSED: u32 = 0;
    /// Who gets it away from this answers it.
    pub const OPEN: u32 = 1;
}

/// So many may ask at the same time. Those of commands that were killed count until they are too old.
const MOST: usize = 128;

static SLOTS: [Slot; MOST] = [const {
    Slot {
        request: AtomicPtr::new(null_mut()),
        state: AtomicU32::new(state::CLOSED),
        process: AtomicI32::new(0),
        until: AtomicU64::new(0),
    }
}; MOST];

/// Notes a request, unless it stands here already. `false`: too many ask.
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
            slot.process.store(own_number(), Ordering::Relaxed);
            // Release: who claims it sees the rest.
            slot.state.store(state::OPEN, Ordering::Release);
            return true;
        }
    }
    false
}

/// Whether a request is still to be answered.
pub fn stands(request: *mut Request) -> bool {
    SLOTS.iter().any(|slot| slot.holds(request))
}

/// Takes a request back. `false`: it is being answered, or was.
pub fn withdraw(request: *mut Request) -> bool {
    SLOTS
        .iter()
        .any(|slot| slot.holds(request) && slot.claim().is_some())
}

/// Calls `f` with each request that is still to be answered. Who asked waits for it.
pub fn each(mut f: impl FnMut(&Request)) {
    let now = process::time(libc::CLOCK_MONOTONIC);
    let own = own_number();
    for slot in &SLOTS {
        slot.forget_if_late(now);
        if slot.process.load(Ordering::Relaxed) == own
            && let Some(request) = slot.claim()
        {
            // SAFETY: nobody has withdrawn it, so it is still there, and stays until it is done.
            f(unsafe { &*request });
        }
    }
}

impl Slot {
    fn holds(&self, request: *mut Request) -> bool {
        self.request.load(Ordering::Relaxed) == request
            && self.process.load(Ordering::Relaxed) == own_number()
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

fn own_number() -> i32 {
    // SAFETY: the call takes nothing, and cannot fail.
    (unsafe { sys::call(libc::SYS_getpid, [0; 6]) }) as i32
}
