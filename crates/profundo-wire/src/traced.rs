//! What a process tells of its calls, each of them counted.

use alloc::string::String;
use alloc::vec::Vec;

/// What a function is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TracedKind {
    /// One of Python's.
    #[default]
    Python,
    /// One of C's that an interpreter calls.
    Builtin,
    /// One of a native program's own.
    Native,
    /// The same, of Rust's.
    Rust,
}

/// A function that was called.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TracedFunction {
    /// What it is.
    pub kind: TracedKind,
    /// Its first line.
    pub line: u32,
    /// Its name.
    pub name: String,
    /// Its name with those that it is in; empty where there is none.
    pub qualified: String,
    /// Its file.
    pub file: String,
    /// Where its code begins, if it is one of a native program: then all else is not known.
    pub address: Option<u64>,
    /// Its lines, where they were looked at.
    pub lines: Option<TracedLines>,
}

/// The lines of a function.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TracedLines {
    /// The first.
    pub first: u32,
    /// Whether the program has marked the function for this.
    pub is_marked: bool,
    /// For each line from there on, how often it was run and for how long.
    pub rows: Vec<[u64; 2]>,
}

/// What a node of the tree of calls is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TracedPlace {
    /// A thread.
    Thread {
        /// The kernel's number of it.
        tid: u32,
        /// The row whose name is what the interpreter calls it.
        name: Option<u32>,
    },
    /// A function, by its row, called by the parent.
    Function(u32),
    /// A function wherever it is called: it stands there for the sake of its children.
    Anywhere(u32),
    /// A function that was called by the parent, which stands for its function anywhere.
    Called {
        /// The function, by its row.
        function: u32,
        /// Whether it was further up as well.
        is_recursive: bool,
        /// Whether it was further up as well, called by the same function.
        is_repeated: bool,
    },
}

/// A node of the tree of calls. Parents stand before their children.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TracedNode {
    /// Its parent, by its row.
    pub parent: u32,
    /// What it is.
    pub place: TracedPlace,
    /// How often it was begun.
    pub calls: u64,
    /// How often it went on.
    pub resumes: u64,
    /// How long all of that took: cycles, or nanoseconds of CPU time.
    pub total: u64,
}

/// Who has counted, which says what is known besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CountedBy {
    /// Who was told of each call, and of its end: callers and times are known.
    #[default]
    Ends,
    /// Who was told that calls began: callers are known.
    Beginnings,
    /// The kernel.
    Kernel,
    /// Counters that LLVM has put into the program: lines are known.
    Llvm,
    /// Counters that gcc has put into the program: the same.
    Gcc,
}

impl CountedBy {
    /// Whether it is known how long calls have taken.
    pub fn is_timed(self) -> bool {
        self == Self::Ends
    }
}

/// What a process has called.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TracedCalls {
    /// Whether times are CPU times, in nanoseconds.
    pub is_cpu: bool,
    /// Who has counted them.
    pub counted_by: CountedBy,
    /// What counting adds to 1024 calls, of the interpreter's functions and of C's: between the two moments at which a call is
    /// measured, and outside of them.
    pub cost: [[u64; 2]; 2],
    /// Whether it was measured for how long lines are run.
    pub has_line_times: bool,
    /// The functions.
    pub functions: Vec<TracedFunction>,
    /// The nodes; the first is nobody's, and left out: rows count from 1.
    pub nodes: Vec<TracedNode>,
    /// How many calls are not in the tree, for want of room.
    pub uncounted: u64,
    /// How many functions have lines that were not looked at, for want of room.
    pub unlooked: u64,
    /// How many ends of calls met no beginning, or the other way round.
    pub unmatched: u64,
    /// Whether the process has said how long calls had lasted that had not ended.
    pub is_closed: bool,
    /// Whether another profiler has taken our place in some thread.
    pub is_replaced: bool,
}
