//! Our own threads: they are neither sampled nor listed.

use crate::heap;
use crate::lock::{ForkLock, Fresh};

static OWN: ForkLock<Vec<u32>> = ForkLock::new(Vec::new());

impl Fresh for Vec<u32> {
    fn fresh() -> Self {
        Vec::new()
    }
}

/// Marks the calling thread as ours, until it is dropped.
#[derive(Debug)]
pub struct OwnThread {
    tid: u32,
    _excluded: heap::ExcludedAllocations,
}

impl OwnThread {
    /// Registers the calling thread.
    pub fn register() -> Self {
        let excluded = heap::exclude_allocations();
        let tid = profundo_probe::sys::thread_id();
        OWN.lock().push(tid);
        Self {
            tid,
            _excluded: excluded,
        }
    }
}

impl Drop for OwnThread {
    fn drop(&mut self) {
        OWN.lock().retain(|&tid| tid != self.tid);
    }
}

/// The kernel's ids of our own threads.
pub(crate) fn tids() -> Vec<u32> {
    OWN.lock().clone()
}
