//! What threads have read and written, as the kernel has counted it.

use std::ops::AddAssign;

use crate::{Nanos, ThreadId};

/// Bytes, by what became of them. Adding stops at the largest number: a damaged file may hold any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bytes {
    /// What calls have read: from files, pipes and sockets, wherever it came from.
    pub read: u64,
    /// What calls have written.
    pub written: u64,
    /// What had to be fetched from storage, whoever asked for it: pages of programs are in it too.
    pub fetched: u64,
    /// What was made to be sent to storage, at once or later.
    pub stored: u64,
}

impl Bytes {
    /// Whether there are none.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, more: Self) {
        self.read = self.read.saturating_add(more.read);
        self.written = self.written.saturating_add(more.written);
        self.fetched = self.fetched.saturating_add(more.fetched);
        self.stored = self.stored.saturating_add(more.stored);
    }
}

/// What a thread has read and written within a stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Whose.
    pub thread: ThreadId,
    /// When it was known last how much it was before.
    pub from: Nanos,
    /// When it was known to be so much more.
    pub to: Nanos,
    /// How often the thread left a CPU by itself meanwhile: each time it may have waited for a byte.
    pub waits: u32,
    /// How much.
    pub bytes: Bytes,
}
