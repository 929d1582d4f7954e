//! How often system calls were made, and with which errors.

use crate::{Nanos, StackId, StringId, ThreadId};

/// The number of a thread's calls in an interval, of one kind and with one result: the kernel's
/// own count, or, where it has a stack, an estimate from some of the calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SyscallCount {
    /// The thread.
    pub thread: ThreadId,
    /// Start of the interval.
    pub from: Nanos,
    /// End of the interval.
    pub to: Nanos,
    /// The name of the call.
    pub call: StringId,
    /// The error that the calls ended with; 0 for none.
    pub error: u32,
    /// Their number.
    pub count: u64,
    /// The stack that they were made with. `None` for the kernel's count of all.
    pub stack: Option<StackId>,
    /// The calls that were sampled, for which these stand; 0 for the kernel's count.
    pub samples: u64,
}

impl SyscallCount {
    /// Whether it is the kernel's own count of all calls.
    pub fn is_exact(&self) -> bool {
        self.stack.is_none()
    }
}
