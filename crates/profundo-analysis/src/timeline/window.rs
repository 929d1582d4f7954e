//! A window of time, in columns of equal length.

/// A stretch of time in columns of equal length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Its start, in nanoseconds since the start of the recording.
    pub from: u64,
    /// The length of a column, at least 1.
    pub step: u64,
    /// The number of columns.
    pub columns: usize,
}

impl Window {
    /// A window of at most so many columns. The last one may end behind `to`.
    pub fn new(from: u64, to: u64, most: usize) -> Self {
        let span = to.saturating_sub(from).max(1);
        let step = span.div_ceil(most.max(1) as u64);
        let columns = span.div_ceil(step) as usize;
        Self {
            from,
            step,
            columns,
        }
    }

    /// The end of the last column.
    pub fn to(&self) -> u64 {
        (self.step.saturating_mul(self.columns as u64)).saturating_add(self.from)
    }

    /// The column of a moment in the window.
    pub(super) fn column(&self, time: u64) -> usize {
        (time.saturating_sub(self.from) / self.step) as usize
    }
}
