//! What a recording is about, without its samples.

use profundo_model::{Meta, Nanos};

/// What a recording says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Overview {
    /// The recording as a whole.
    pub meta: Meta,
    /// The command line of its first program, if that is in the file.
    pub command: Option<String>,
    /// How long it lasted: up to the end of its last process, where nothing says more.
    pub lasted: Nanos,
    /// The CPU time that all of its processes used, if that is in the file.
    pub cpu: Option<Nanos>,
    /// What was recorded.
    pub holds: Holds,
    /// Whether the file has its end: if not, it is still written, or its writer was killed, or it was cut.
    pub is_whole: bool,
}

/// What was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Holds {
    /// Samples of time.
    pub samples: bool,
    /// What was read and written, which is recorded where waiting is.
    pub waits: bool,
    /// Some of the blocks of memory.
    pub blocks: bool,
    /// Sums of all blocks.
    pub exact_blocks: bool,
    /// Counted calls.
    pub calls: bool,
    /// Counted lines.
    pub lines: bool,
}
