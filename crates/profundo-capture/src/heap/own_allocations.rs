//! Our own allocations are neither recorded nor counted.

use std::marker::PhantomData;

use super::local;

/// While it lives, the allocations of the calling thread are ours.
#[derive(Debug)]
pub struct ExcludedAllocations {
    before: bool,
    /// Bound to the calling thread.
    _here: PhantomData<*const ()>,
}

/// Marks the calling thread as working for us, until the guard drops.
pub fn exclude_allocations() -> ExcludedAllocations {
    ExcludedAllocations {
        before: local::set_ours(true),
        _here: PhantomData,
    }
}

impl Drop for ExcludedAllocations {
    fn drop(&mut self) {
        local::set_ours(self.before);
    }
}
