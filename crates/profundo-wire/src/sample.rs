//! The sample record's six leading words.

use crate::python::{Gil, PythonEnd};

/// Words before the addresses.
pub const SAMPLE_HEAD_WORDS: usize = 6;

/// The place of a call's error in the weight, above the number of calls.
const ERROR_SHIFT: u32 = 48;
const MOST_CALLS: u64 = (1 << ERROR_SHIFT) - 1;

/// The record kind in the top byte of word 0.
pub(crate) const KIND_SAMPLE: u64 = 1;

/// The state of the sampled thread.
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
    /// In an allocator: the first address is the return address of that call.
    Allocating = 5,
    /// Back from a system call, one of many: see [`SampleHead::returned`].
    Returning = 6,
}

/// The reason why the walk of the native stack ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum End {
    /// At the root of the stack: the stack is whole.
    Root = 0,
    /// At the depth limit.
    Truncated = 1,
    /// At an address without unwind information, or memory that cannot be read.
    Broken = 2,
    /// At a frame whose frame pointer is unknown.
    FramePointerUnknown = 3,
    /// Not walked: the task was parked before the session.
    ParkedBeforeSession = 4,
    /// Not walked: the thread could not be stopped in time.
    Gone = 5,
    /// Not walked: there was no task to sample.
    NoTask = 6,
    /// Not walked: the thread blocks the sampling signal.
    SignalsBlocked = 7,
    /// Not walked: the thread waited, and was not read meanwhile.
    Unread = 8,
}

/// A sample without its addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleHead {
    /// The state of the thread.
    pub state: State,
    /// The reason why the walk ended.
    pub end: End,
    /// The number of addresses that follow.
    pub frames: u16,
    /// The number of words of the interpreter's stack after the addresses.
    pub python: u16,
    /// The reason why the walk of the interpreter's stack ended.
    pub python_end: PythonEnd,
    /// The state of the interpreter's lock, seen from this thread.
    pub gil: Gil,
    /// The raw cycle counter.
    pub clock: u64,
    /// The nanoseconds that the sample stands for; [`State::Returning`] has calls and an error.
    pub weight: u64,
    /// The task's number; 0 for the thread's own root task.
    pub task: u64,
    /// The thread's number, from 1.
    pub thread: u32,
    /// The kernel's thread id.
    pub tid: u32,
    /// The path of the innermost span that the thread was in; 0 outside of spans. See
    /// [`SpanPath`](crate::SpanPath).
    pub span: u32,
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
            u64::from(self.span),
        ]
    }

    /// The weight of a sample behind a system call: the calls that it stands for, and the error of
    /// this one, 0 for none.
    pub fn weight_of_calls(calls: u64, error: u32) -> u64 {
        u64::from(error) << ERROR_SHIFT | calls.min(MOST_CALLS)
    }

    /// The calls that a sample behind a system call stands for, and the error of this one.
    pub fn returned(&self) -> (u64, u32) {
        let calls = self.weight & MOST_CALLS;
        (calls, (self.weight >> ERROR_SHIFT) as u32)
    }

    /// Reads the words back; `None` if word 0 is not that of a sample.
    pub fn from_words(words: [u64; SAMPLE_HEAD_WORDS]) -> Option<Self> {
        let [first, clock, weight, task, ids, span] = words;
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
            span: span as u32,
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
            Self::Returning,
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
