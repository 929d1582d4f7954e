//! An overview of a recording, without its samples.

use profundo_model::{Meta, Nanos};

/// The facts about a recording.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Overview {
    /// The recording as a whole.
    pub meta: Meta,
    /// The command line of its first program, if it is in the file.
    pub command: Option<String>,
    /// Its length: up to the end of its last process, if the file has nothing better.
    pub lasted: Nanos,
    /// The CPU time of all its processes, if it is in the file.
    pub cpu: Option<Nanos>,
    /// The number of recordings that were merged; 1 for one with labels, 0 for any other.
    pub origins: usize,
    /// The recorded kinds of data.
    pub holds: Holds,
    /// Whether the file has its end: if not, it is still being written, or its writer was killed,
    /// or it was cut.
    pub is_whole: bool,
}

/// The recorded kinds of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Holds {
    /// Samples of time.
    pub samples: bool,
    /// Bytes read and written, which are recorded together with waits.
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
