//! Bytes that threads have read and written, by the kernel's count.

use std::ops::AddAssign;

use crate::{Nanos, ThreadId};

/// Bytes by their direction. Adding saturates: a damaged file may hold any number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bytes {
    /// Bytes read by system calls: from files, pipes and sockets.
    pub read: u64,
    /// Bytes written by system calls.
    pub written: u64,
    /// Bytes fetched from storage, for any cause: pages of programs are included.
    pub fetched: u64,
    /// Bytes to be sent to storage, at once or later.
    pub stored: u64,
}

impl Bytes {
    /// True if all counts are 0.
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

/// The bytes that a thread has read and written in an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// The thread.
    pub thread: ThreadId,
    /// Start of the interval: the previous reading.
    pub from: Nanos,
    /// End of the interval: this reading.
    pub to: Nanos,
    /// Voluntary context switches meanwhile: each may have been a wait for a byte.
    pub waits: u32,
    /// The bytes of the interval.
    pub bytes: Bytes,
}
