//! Allocations: their sampling, their records, and their counts.
//!
//! An allocator that wraps another one reports each block ([`allocated`], [`freeing`]). That is a
//! load of one word; the code behind it takes nothing from the allocator, and lies in
//! `profundo-probe`. Everything else in here runs on normal threads and may allocate; our own
//! allocations are neither recorded nor counted.

mod copy;
mod counting;
mod following;
mod local;
mod memory;
mod own_allocations;
mod session;
mod snapshot;

pub use copy::{Copied, Sites, Skipped, ThreadThen, copy, sites, why};
pub use counting::{
    Counting, Here, begin_here, counted, is_installed, peak, reset_peak, watch_peak,
};
pub use local::{Moving, allocated, freeing, moved, moving, stayed};
pub use own_allocations::{ExcludedAllocations, exclude_allocations};
pub use profundo_probe::heap::counts::Counted;
pub use profundo_probe::heap::switch::Wanted;
pub use session::{
    DEFAULT_ALLOCATIONS, Rule, Settings, clear, init, is_recording, len, settings, start, stop,
    stop_session, try_start,
};
pub use snapshot::{Allocation, Allocations, snapshot};

pub(crate) use memory::reset_after_fork;
