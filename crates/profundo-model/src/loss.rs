//! Loss is data: lost samples are counted here, the counts travel with the samples, and reports
//! show them.

/// Counts of samples that were lost or are less than whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Loss {
    /// Not taken because the buffer was full.
    pub buffer_full: u64,
    /// Overwritten by newer ones in ring mode.
    pub overwritten: u64,
    /// Taken, but the stack was deeper than the walk goes.
    pub truncated: u64,
    /// Taken, but the walk ended early for want of unwind information or readable memory.
    pub broken: u64,
    /// Not taken because the thread was inside the profiler.
    pub reentrant: u64,
    /// Not taken because the table of threads was full.
    pub thread_table_full: u64,
}

impl Loss {
    /// Samples that are missing altogether.
    pub fn lost(&self) -> u64 {
        let parts = [self.overwritten, self.reentrant, self.thread_table_full];
        // A program may have written nonsense into its counts.
        parts
            .into_iter()
            .fold(self.buffer_full, u64::saturating_add)
    }
}
