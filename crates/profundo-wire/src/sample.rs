//! The sample record's five leading words.

use crate::python::{Gil, PythonEnd};

/// How many words stand before the addresses.
pub const SAMPLE_HEAD_WORDS: usize = 5;

/// The record kind in the top byte of word 0.
pub(crate) const KIND_SAMPLE: u64 = 1;

/// What the thread was doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// In user code.
    Running = 1,
    /// In a system call, on a CPU.
    System = 2,
    /// Taken on the wall clock, from a running thread.
    WallRunning = 3,
    /// Taken on the wall clock, where a thread or task waits.
    WallWaiting = 4,
    /// Asking an allocator for memory: the first address is where that call returns to.
    Allocating = 5,
}

/// Why the walk ended where it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum End {
    /// At the root of the stack: the stack is whole.
    Root = 0,
    /// At the depth limit.
    Truncated = 1,
    /// At an address without unwind information, or memory that cannot be read.
    Broken = 2,
    /// At a frame that needs a frame pointer nobody knows.
    FramePointerUnknown = 3,
    /// Before it began: the task parked before the session.
    ParkedBeforeSession = 4,
    /// Before it began: the thread could not be stopped in time.
    Gone = 5,
    /// Before it began: there was no task to sample.
    NoTask = 6,
    /// Before it began: the thread blocks the signal that would have sampled it.
    SignalsBlocked = 7,
    /// Before it began: the thread waited, and was not read while it did.
    Unread = 8,
}

/// A sample without its addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleHead {
    /// What the thread was doing.
    pub state: State,
    /// Why the walk ended.
    pub end: End,
    /// How many addresses follow.
    pub frames: u16,
    /// How many words of the interpreter's stack follow the addresses.
    pub python: u16,
    /// Why the walk of the interpreter's stack ended.
    pub python_end: PythonEnd,
    /// What the thread had to do with the interpreter's lock.
    pub gil: Gil,
    /// The raw cycle counter.
    pub clock: u64,
    /// How many nanoseconds the sample stands for.
    pub weight: u64,
    /// The task's number; 0 for the thread's own root task.
    pub task: u64,
    /// The thread's number, from 1.
    pub thread: u32,
    /// The kernel's thread id.
    pub tid: u32,
}

impl SampleHead {
    /// The words that stand before the addresses.
    pub fn to_words(&self) -> [u64; SAMPLE_HEAD_WORDS] {
        [
            KIND_SAMPLE << 56
                | (self.state as u64) << 48
                | (self.end as u64) << 40
                | (self.python_end as u64) << 34
                | (self.gil as u64 & 3) << 32
                | (self.gil as u64 >> 2) << 37
                | u64::from(self.python) << 16
                | u64::from(self.frames),
            self.clock,
            self.weight,
            self.task,
            u64::from(self.thread) << 32 | u64::from(self.tid),
        ]
    }

    /// Reads the words back; `None` if word 0 is not that of a sample.
    pub fn from_words(words: [u64; SAMPLE_HEAD_WORDS]) -> Option<Self> {
        let [first, clock, weight, task, ids] = words;
        if first >> 56 != KIND_SAMPLE {
            return None;
        }
        Some(Self {
            state: State::from_code((first >> 48) as u8)?,
            end: End::from_code((first >> 40) as u8)?,
            frames: first as u16,
            python: (first >> 16) as u16,
            python_end: PythonEnd::from_code((first >> 34) as u8 & 7)?,
            gil: Gil::from_code((first >> 32) as u8 & 3 | ((first >> 37) as u8 & 1) << 2)?,
            clock,
            weight,
            task,
            thread: (ids >> 32) as u32,
            tid: ids as u32,
        })
    }
}

impl State {
    fn from_code(code: u8) -> Option<Self> {
        [
            Self::Running,
            Self::System,
            Self::WallRunning,
            Self::WallWaiting,
            Self::Allocating,
        ]
        .into_iter()
        .find(|state| *state as u8 == code)
    }
}

impl End {
    /// The reason with this number.
    pub fn from_code(code: u8) -> Option<Self> {
        [
            Self::Root,
            Self::Truncated,
            Self::Broken,
            Self::FramePointerUnknown,
            Self::ParkedBeforeSession,
            Self::Gone,
            Self::NoTask,
            Self::SignalsBlocked,
            Self::Unread,
        ]
        .into_iter()
        .find(|end| *end as u8 == code)
    }
}
