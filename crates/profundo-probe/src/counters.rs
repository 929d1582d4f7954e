//! The counts of lost samples, and of the cost of sampling.

use core::sync::atomic::AtomicU64;

/// Counts of lost samples, and the cost of sampling.
#[derive(Debug, Default)]
#[repr(C)]
#[expect(missing_docs, reason = "each name says what is counted")]
pub struct Counters {
    pub taken: AtomicU64,
    pub buffer_full: AtomicU64,
    pub reentrant: AtomicU64,
    pub thread_table_full: AtomicU64,
    /// Cycles spent in handlers.
    pub cycles: AtomicU64,
    /// The number of handler runs.
    pub handled: AtomicU64,
    /// The number of switches of a recorded program's threads, and of those while they had task
    /// clocks.
    pub switches: AtomicU64,
    pub clocked_switches: AtomicU64,
}
