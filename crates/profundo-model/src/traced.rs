//! Calls, lines and exceptions, each of them counted.
//!
//! A [`Call`] is a function in one place of the tree of calls: below its callers. Its own time is a
//! sample of the profile as well, so that all reports of time are reports of traced time, too.

use crate::{FrameId, Nanos, ProcessId, StackId, StringId, ThreadId};

/// The clock that measured calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Clock {
    /// The wall clock: waiting counts.
    #[default]
    Wall,
    /// The CPU time of each thread.
    Cpu,
    /// No clock: calls were only counted.
    None,
}

/// The kind of tracing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Tracing {
    /// No tracing, or unknown.
    #[default]
    Unknown,
    /// Calls.
    Calls,
    /// Lines: the number and the time of their runs.
    Lines,
    /// Lines that are counted, whose times come from samples.
    SampledLines,
    /// The lines that ran at all.
    LinesOnce,
    /// Exceptions: the lines that raised and caught them.
    Exceptions,
}

impl Tracing {
    /// Whether lines are traced.
    pub fn is_of_lines(self) -> bool {
        matches!(self, Self::Lines | Self::SampledLines | Self::LinesOnce)
    }
}

/// A function, called from one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Call {
    /// The calling thread.
    pub thread: ThreadId,
    /// The function, at its first line, and its callers.
    pub stack: StackId,
    /// The number of calls.
    pub calls: u64,
    /// The number of resumes after a yield or an await.
    pub resumes: u64,
    /// The time from each start to its end, added up. The time of callees is included, the time of
    /// awaits is not.
    pub total: Nanos,
    /// The own part of `total`.
    pub own: Nanos,
    /// The overhead of tracing in `total` and in `own`, as far as it was measured. It is subtracted
    /// from both.
    pub cost: [Nanos; 2],
    /// The part of the callers that is known.
    pub callers: Callers,
}

/// The part of a call's callers that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Callers {
    /// All callers: its stack has them.
    #[default]
    All,
    /// There were too many places. Only the last caller is in the stack.
    Last {
        /// Whether the function is also further up the stack.
        is_recursive: bool,
        /// Whether the function is also further up the stack, with the same caller.
        is_repeated: bool,
    },
}

/// A line of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Line {
    /// The process.
    pub process: ProcessId,
    /// The function at that line.
    pub frame: FrameId,
    /// The first line of the function.
    pub first: u32,
    /// The number of runs.
    pub hits: u64,
    /// The time of the runs, callees included; 0 where only hits were counted.
    pub time: Nanos,
}

/// The end of exceptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ExceptionEnd {
    /// None was seen: C code dropped them, or they were on their way when the program ended.
    #[default]
    Unseen,
    /// A handler on this line caught them.
    Caught(FrameId),
    /// They left the last function of a thread or of the program.
    Left,
}

/// Exceptions of one type, raised by one line, with one end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Exceptions {
    /// The process.
    pub process: ProcessId,
    /// The name of their type.
    pub of_type: StringId,
    /// The function that raised them, at that line.
    pub raised: FrameId,
    /// Their end.
    pub end: ExceptionEnd,
    /// Their number.
    pub count: u64,
}

/// The traced calls, lines and exceptions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Traced {
    /// The kind of tracing.
    pub tracing: Tracing,
    /// The clock.
    pub clock: Clock,
    /// The nodes of the call tree. Empty where calls were not traced.
    pub calls: Vec<Call>,
    /// The lines that ran, of the functions whose lines were traced.
    pub lines: Vec<Line>,
    /// The exceptions that were raised.
    pub exceptions: Vec<Exceptions>,
}

impl Traced {
    /// Whether nothing was traced.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.lines.is_empty() && self.exceptions.is_empty()
    }
}
