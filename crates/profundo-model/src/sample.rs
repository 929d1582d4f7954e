//! A sample: one stack of one thread or task at one instant, and the time it stands for.

use crate::{StackId, StringId, TaskId, ThreadId};

/// Nanoseconds: a duration, or an instant on the recording's own clock (0 is its start).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Nanos(pub u64);

/// What the thread or task was doing. The numbers are Julia's.
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

/// What the thread had to do with the interpreter's lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[non_exhaustive]
pub enum Gil {
    /// The thread is none of an interpreter's, or nobody can tell.
    #[default]
    None,
    /// It held the lock.
    Held,
    /// It was waiting for it.
    Waiting,
    /// It had let go of it.
    Released,
}

/// One sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sample {
    /// When, since the start of the recording.
    pub time: Nanos,
    /// How much time it stands for. See [`crate::Profile::count_of`] for its count in reports.
    pub weight: Nanos,
    /// The raw cycle counter at the sample (Julia's `cpu_cycle_clock`); 0 where there is none.
    pub clock: u64,
    /// Whose.
    pub thread: ThreadId,
    /// The task current on that thread, which is the thread's root task outside any other.
    pub task: TaskId,
    /// Where.
    pub stack: StackId,
    /// Doing what.
    pub state: State,
    /// With the interpreter's lock or without.
    pub gil: Gil,
    /// The file, socket or pipe that the system call was on which it was taken in. Empty where that is
    /// not known, and in a wait, whose stack says it.
    pub file: StringId,
}
