//! Calls and lines, each of them counted.
//!
//! A [`Call`] is a function in one place of the tree of calls: below those that called it. What it took in itself is a
//! sample of the profile as well, so that all reports of time are reports of traced time, too.

use crate::{FrameId, Nanos, ProcessId, StackId, ThreadId};

/// By which clock calls were measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Clock {
    /// That on the wall: waiting counts.
    #[default]
    Wall,
    /// The CPU time of each thread.
    Cpu,
    /// None: calls were only counted.
    None,
}

/// What was to be traced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Tracing {
    /// Nothing, or nobody has said.
    #[default]
    Unknown,
    /// Calls.
    Calls,
    /// Lines: how often each is run, and for how long.
    Lines,
    /// Lines that are counted, whose times are those of samples.
    SampledLines,
    /// Which lines are run at all.
    LinesOnce,
}

impl Tracing {
    /// Whether it is lines.
    pub fn is_of_lines(self) -> bool {
        matches!(self, Self::Lines | Self::SampledLines | Self::LinesOnce)
    }
}

/// A function, called from one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Call {
    /// By whom.
    pub thread: ThreadId,
    /// The function, at its first line, and those that called it.
    pub stack: StackId,
    /// How often it was begun.
    pub calls: u64,
    /// How often it went on after it had yielded or awaited.
    pub resumes: u64,
    /// From each beginning to its end, all added up. What it called is in it; what it awaited is not.
    pub total: Nanos,
    /// What of `total` it took itself.
    pub own: Nanos,
    /// What the tracing has added to `total` and to `own`, as far as it was measured, and was taken off from both.
    pub cost: [Nanos; 2],
    /// How much of the callers is known.
    pub callers: Callers,
}

/// How much of a call's callers is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Callers {
    /// All of them: its stack has them.
    #[default]
    All,
    /// There were too many places. Only the last caller is in the stack.
    Last {
        /// Whether the function was further up as well.
        is_recursive: bool,
        /// Whether it was further up as well, called by the same caller.
        is_repeated: bool,
    },
}

/// A line of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Line {
    /// In which process.
    pub process: ProcessId,
    /// The function at that line.
    pub frame: FrameId,
    /// In which line the function begins.
    pub first: u32,
    /// How often it was run.
    pub hits: u64,
    /// For how long, with what it called; 0 where hits alone were counted.
    pub time: Nanos,
}

/// What was traced.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Traced {
    /// What was to be.
    pub tracing: Tracing,
    /// By which clock.
    pub clock: Clock,
    /// Each place of the tree of calls. Empty where calls were not traced.
    pub calls: Vec<Call>,
    /// Each line that was run of the functions that were looked at.
    pub lines: Vec<Line>,
}

impl Traced {
    /// Whether nothing was.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.lines.is_empty()
    }
}
