//! Traced calls of a process.

use alloc::string::String;
use alloc::vec::Vec;

/// The kind of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TracedKind {
    /// A Python function.
    #[default]
    Python,
    /// A C function that an interpreter calls.
    Builtin,
    /// A function of a native program.
    Native,
    /// A Rust function of a native program.
    Rust,
}

/// A function that was called.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TracedFunction {
    /// Its kind.
    pub kind: TracedKind,
    /// Its first line.
    pub line: u32,
    /// Its name.
    pub name: String,
    /// Its qualified name; empty where there is none.
    pub qualified: String,
    /// Its file.
    pub file: String,
    /// Its entry address, for a function of a native program; all else is unknown then.
    pub address: Option<u64>,
    /// Its lines, where they were traced.
    pub lines: Option<TracedLines>,
}

/// The lines of a function.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TracedLines {
    /// The first line.
    pub first: u32,
    /// Whether the program has marked the function for line tracing.
    pub is_marked: bool,
    /// For each line from `first` on, its number of runs and their time.
    pub rows: Vec<[u64; 2]>,
}

/// The place of a node of the call tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TracedPlace {
    /// A thread.
    Thread {
        /// The kernel's thread id.
        tid: u32,
        /// The row whose name is the thread's name in the interpreter.
        name: Option<u32>,
    },
    /// A function, by its row, called by the parent.
    Function(u32),
    /// A function with any caller: the parent of its callees.
    Anywhere(u32),
    /// A function called by the parent, which is an [`Anywhere`](Self::Anywhere).
    Called {
        /// The function, by its row.
        function: u32,
        /// Whether the function is also further up the stack.
        is_recursive: bool,
        /// Whether the function is also further up the stack, with the same caller.
        is_repeated: bool,
    },
}

/// A node of the tree of calls. Parents stand before their children.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TracedNode {
    /// Its parent's row.
    pub parent: u32,
    /// Its place.
    pub place: TracedPlace,
    /// Number of calls.
    pub calls: u64,
    /// Number of resumes.
    pub resumes: u64,
    /// Total time of the calls: cycles, or nanoseconds of CPU time.
    pub total: u64,
}

/// The counter of the calls, which decides what else is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CountedBy {
    /// Hooks at the start and end of each call: callers and times are known.
    #[default]
    Ends,
    /// Hooks at the start of each call: callers are known.
    Beginnings,
    /// The kernel's probes.
    Kernel,
    /// Counters of LLVM in the program: lines are known.
    Llvm,
    /// Counters of gcc in the program: lines are known.
    Gcc,
}

impl CountedBy {
    /// Whether the times of calls are known.
    pub fn is_timed(self) -> bool {
        self == Self::Ends
    }
}

/// A line of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TracedLine {
    /// The function, by its row.
    pub function: u32,
    /// The line.
    pub line: u32,
}

/// The end of exceptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TracedEnd {
    /// A line caught them.
    Caught(TracedLine),
    /// They left the last function of a thread or of the program.
    Left,
    /// None was seen.
    Unseen,
}

/// Exceptions of one type, raised by one line, with one end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TracedExceptions {
    /// The row whose name is that of their type.
    pub of_type: u32,
    /// The line that raised them.
    pub raised: TracedLine,
    /// Their end.
    pub end: TracedEnd,
    /// Their number.
    pub count: u64,
}

/// The traced calls of a process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TracedCalls {
    /// Whether times are CPU times, in nanoseconds.
    pub is_cpu: bool,
    /// The counter of the calls.
    pub counted_by: CountedBy,
    /// The overhead of 1024 calls, for the interpreter's functions and for C's: the part inside the
    /// measured interval and the part outside.
    pub cost: [[u64; 2]; 2],
    /// Whether the times of lines were measured.
    pub has_line_times: bool,
    /// The functions.
    pub functions: Vec<TracedFunction>,
    /// The nodes. The first has no parent and is left out: rows count from 1.
    pub nodes: Vec<TracedNode>,
    /// The exceptions.
    pub exceptions: Vec<TracedExceptions>,
    /// Exceptions that were not counted, for want of room.
    pub uncounted_exceptions: u64,
    /// Exceptions that were on their way and forgotten, for want of room.
    pub forgotten_exceptions: u64,
    /// Calls that are not in the tree, for want of room.
    pub uncounted: u64,
    /// Functions whose lines were not traced, for want of room.
    pub unlooked: u64,
    /// Ends of calls without a start, and starts without an end.
    pub unmatched: u64,
    /// Whether the process has closed the calls that had not ended.
    pub is_closed: bool,
    /// Whether another profiler has replaced ours in some thread.
    pub is_replaced: bool,
}

impl TracedCalls {
    /// Numbers functions anew, so that those of which nothing was counted are left out. The child
    /// of a fork knows all functions of its parent, and calls few of them. `wanted`: others to
    /// keep. Returns the former numbers of those that are kept.
    pub fn renumber_functions(&mut self, wanted: impl Iterator<Item = u32>) -> Vec<u32> {
        let mut kept: Vec<u32> = wanted.collect();
        self.each_function(&mut |row| kept.push(*row));
        kept.sort_unstable();
        kept.dedup();
        self.each_function(&mut |row| {
            *row = kept.binary_search(row).map_or(u32::MAX, |new| new as u32);
        });
        kept
    }

    /// Calls `f` with each row of a function that nodes and exceptions name.
    fn each_function(&mut self, f: &mut dyn FnMut(&mut u32)) {
        for node in &mut self.nodes {
            match &mut node.place {
                TracedPlace::Thread { name, .. } => name.iter_mut().for_each(&mut *f),
                TracedPlace::Function(function)
                | TracedPlace::Anywhere(function)
                | TracedPlace::Called { function, .. } => f(function),
            }
        }
        for row in &mut self.exceptions {
            f(&mut row.of_type);
            f(&mut row.raised.function);
            if let TracedEnd::Caught(line) = &mut row.end {
                f(&mut line.function);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn functions_of_which_nothing_was_counted_are_left_out() {
        let node = |place| TracedNode {
            parent: 0,
            place,
            calls: 1,
            resumes: 0,
            total: 0,
        };
        let line = |function| TracedLine { function, line: 1 };
        let mut calls = TracedCalls {
            nodes: vec![
                node(TracedPlace::Thread {
                    tid: 1,
                    name: Some(30),
                }),
                node(TracedPlace::Function(10)),
                node(TracedPlace::Anywhere(10)),
            ],
            exceptions: vec![TracedExceptions {
                of_type: 40,
                raised: line(50),
                end: TracedEnd::Caught(line(10)),
                count: 1,
            }],
            ..TracedCalls::default()
        };
        let kept = calls.renumber_functions([20, 30].into_iter());
        assert_eq!(kept, [10, 20, 30, 40, 50]);
        let places: Vec<_> = calls.nodes.iter().map(|node| node.place).collect();
        let thread = TracedPlace::Thread {
            tid: 1,
            name: Some(2),
        };
        let called = [TracedPlace::Function(0), TracedPlace::Anywhere(0)];
        assert_eq!(places, [thread, called[0], called[1]]);
        let [row] = calls.exceptions[..] else {
            panic!("it stays")
        };
        assert_eq!((row.of_type, row.raised.function), (3, 4));
        assert_eq!(row.end, TracedEnd::Caught(line(0)));
    }
}
