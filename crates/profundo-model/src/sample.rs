//! A sample: one stack of one thread or task at one instant, and the time it stands for.

use crate::{SpanId, StackId, StringId, TaskId, ThreadId};

/// Nanoseconds: a duration, or an instant on the recording's own clock (0 is its start).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Nanos(pub u64);

/// The activity of the thread or task. The numbers are Julia's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[non_exhaustive]
pub enum State {
    /// On a CPU, in user code (Julia's 1).
    #[default]
    Running,
    /// The thread was asleep (Julia's 2).
    Sleeping,
    /// Taken by the wall-time profiler from a running thread or task (Julia's 3).
    WallRunning,
    /// Taken by the wall-time profiler where a thread or task waits (Julia's 3 too).
    WallWaiting,
    /// On a CPU, inside a system call (Julia's 1).
    System,
}

impl State {
    /// Julia's `sleepstate` word.
    pub fn julia(self) -> u64 {
        match self {
            Self::Running | Self::System => 1,
            Self::Sleeping => 2,
            Self::WallRunning | Self::WallWaiting => 3,
        }
    }

    /// Whether the wall-time profiler took the sample.
    pub fn is_wall(self) -> bool {
        matches!(self, Self::WallRunning | Self::WallWaiting)
    }
}

/// The state of the interpreter's lock, seen from the thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[non_exhaustive]
pub enum Gil {
    /// The thread has no interpreter state, or the state is unknown.
    #[default]
    None,
    /// The thread held the lock.
    Held,
    /// The thread was waiting for the lock.
    Waiting,
    /// The thread had released the lock.
    Released,
}

/// One sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sample {
    /// The time when it was taken, since the start of the recording.
    pub time: Nanos,
    /// The time that it stands for. See [`crate::Profile::count_of`] for its count in reports.
    pub weight: Nanos,
    /// The raw cycle counter at the sample (Julia's `cpu_cycle_clock`); 0 where there is none.
    pub clock: u64,
    /// The sampled thread.
    pub thread: ThreadId,
    /// The task current on that thread, which is the thread's root task outside any other.
    pub task: TaskId,
    /// The sampled stack.
    pub stack: StackId,
    /// The activity of the thread or task.
    pub state: State,
    /// The state of the interpreter's lock, seen from the thread.
    pub gil: Gil,
    /// The file, socket or pipe of the system call that it was taken in. Empty where unknown, and
    /// in a wait, whose stack has it.
    pub file: StringId,
    /// The path of the innermost span that it was taken in.
    pub span: SpanId,
}
