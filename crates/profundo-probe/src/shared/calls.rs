//! The counts of all calls: a file for each process, `calls.N` beside its ring, and `calls.N.0` and
//! so on for threads of native programs.
//!
//! Calls make a tree: each node is a function in one place, below its callers. The holder of the
//! interpreter's lock writes it, or the only thread that has the file, and the command reads it
//! when the process has ended in any way.

use core::mem::{offset_of, size_of};
use core::sync::atomic::{AtomicU32, AtomicU64};

/// The prefix of the number of a process's file.
pub const CALLS_FILE: &str = "calls.";

/// The prefix of the number of a file that a process has counted in, and has cut off: it counts on
/// in another one.
pub const CUT_CALLS_FILE: &str = "cut-calls.";

/// The largest number of functions.
pub const FUNCTIONS: usize = 1 << 17;

/// The largest number of nodes.
pub const NODES: usize = 1 << 21;

/// The largest number of bytes of text.
pub const TEXT: usize = 32 << 20;

/// The largest number of traced lines.
pub const LINES: usize = 1 << 20;

/// The largest number of lines that raise or catch exceptions.
pub const EXCEPTION_SITES: usize = 1 << 17;

/// The largest number of rows of exceptions.
pub const EXCEPTIONS: usize = 1 << 17;

/// The length of the list of functions whose lines are traced.
pub const LINES_LIST: usize = 64 << 10;

/// The head of a file.
#[derive(Debug)]
#[repr(C, align(4096))]
pub struct CallsHeader {
    /// [`super::MAGIC`].
    pub magic: AtomicU64,
    /// A [`call_clock`].
    pub clock: AtomicU32,
    /// The number of functions, all complete.
    pub functions: AtomicU32,
    /// The number of nodes. The first has no owner.
    pub nodes: AtomicU32,
    /// The number of bytes of text.
    pub text: AtomicU32,
    /// The number of rows of lines.
    pub lines: AtomicU32,
    /// 1 if the times of lines were measured, else 0.
    pub has_line_times: AtomicU32,
    /// The overhead of 1024 calls of a [`function_kind`]: the part inside the measured interval and
    /// the part outside.
    pub cost: [[AtomicU64; 2]; 2],
    /// Calls without a node, for want of room.
    pub uncounted: AtomicU64,
    /// Functions whose lines are not traced, for want of room.
    pub unlooked: AtomicU64,
    /// Ends of calls without a start, and starts without an end: in code that switches stacks by
    /// itself.
    pub unmatched: AtomicU64,
    /// The processor's counter when the file was started.
    pub began: AtomicU64,
    /// One if the process has closed the calls that had not ended.
    pub is_closed: AtomicU32,
    /// One if another profiler has replaced ours in a thread.
    pub is_replaced: AtomicU32,
    /// The number of lines that raise or catch exceptions.
    pub sites: AtomicU32,
    /// The number of rows of exceptions.
    pub exceptions: AtomicU32,
    /// 1 if exceptions are counted, else 0.
    pub has_exceptions: AtomicU32,
    /// Exceptions that were not counted, for want of room.
    pub uncounted_exceptions: AtomicU64,
    /// Exceptions whose beginning was forgotten while they were on their way, for want of room.
    pub forgotten_exceptions: AtomicU64,
    /// The reason why there is nothing: a [`super::refusal`], or an error of the system.
    pub refused: AtomicU32,
}

/// The clock of calls.
pub mod call_clock {
    /// The processor's counter: time on the wall.
    pub const WALL: u32 = 0;
    /// The CPU time of each thread, in nanoseconds.
    pub const CPU: u32 = 1;
    /// No clock: the ends of calls are not reported.
    pub const NONE: u32 = 2;
}

/// The kind of a function.
pub mod function_kind {
    /// A function of the interpreter's language.
    pub const PYTHON: u32 = 0;
    /// A C function that the interpreter calls.
    pub const BUILTIN: u32 = 1;
    /// A function of a native program, identified by its address.
    pub const NATIVE: u32 = 2;
    /// No function: the interpreter's name of a thread.
    pub const THREAD: u32 = 3;
    /// No function: the name of a type of exceptions.
    pub const EXCEPTION: u32 = 4;
}

/// A function. Texts are given by their start and their length.
#[derive(Debug, Default)]
#[repr(C)]
pub struct FunctionRow {
    /// A [`function_kind`].
    pub kind: AtomicU32,
    /// Its first line.
    pub line: AtomicU32,
    /// Its name.
    pub name: [AtomicU32; 2],
    /// Its qualified name, if there is one.
    pub qualified: [AtomicU32; 2],
    /// Its file.
    pub file: [AtomicU32; 2],
    /// Its traced lines: the first one, its row, and their number; else zeros.
    pub lines: [AtomicU32; 3],
    /// One if the program has marked it for line tracing (`@profile`).
    pub is_marked: AtomicU32,
    /// Its entry address, if it is native.
    pub address: AtomicU64,
}

/// A line.
#[derive(Debug, Default)]
#[repr(C)]
pub struct LineRow {
    /// The number of runs.
    pub hits: AtomicU64,
    /// The time of the runs.
    pub time: AtomicU64,
    /// The thread that runs it, in the upper half, and the number of its calls in progress.
    pub held: AtomicU64,
}

/// The values of [`NodeRow::flags`].
pub mod node_flag {
    /// The node is a thread, whose number replaces the function's.
    pub const THREAD: u32 = 1;
    /// The node stands for a function in any place: of its children only this caller is known.
    pub const ANYWHERE: u32 = 2;
    /// The function is also further up the stack. Only below nodes for functions in any place.
    pub const RECURSIVE: u32 = 4;
    /// The function is also further up the stack, with the same caller. Only below nodes for
    /// functions in any place.
    pub const REPEATED: u32 = 8;
    /// The node is a child of a node for a function in any place.
    pub const FOLDED: u32 = 16;
}

/// A node.
#[derive(Debug, Default)]
#[repr(C)]
pub struct NodeRow {
    /// The node of the caller.
    pub parent: AtomicU32,
    /// The row of the function.
    pub function: AtomicU32,
    /// [`node_flag`]s.
    pub flags: AtomicU32,
    /// For a thread, the row with its name, plus one; 0: it has none.
    pub name: AtomicU32,
    /// The number of calls.
    pub calls: AtomicU64,
    /// The number of resumes.
    pub resumes: AtomicU64,
    /// The time of the calls, callees included.
    pub total: AtomicU64,
}

/// A line that raises or catches exceptions.
#[derive(Debug, Default)]
#[repr(C)]
pub struct SiteRow {
    /// The row of its function.
    pub function: AtomicU32,
    /// The line.
    pub line: AtomicU32,
}

/// The values of [`ExceptionRow::end`].
pub mod exception_end {
    /// None: the row counts all exceptions of a type that a line has raised.
    pub const NONE: u32 = 0;
    /// A line caught them.
    pub const CAUGHT: u32 = 1;
    /// They left the last function of a thread or of the program.
    pub const LEFT: u32 = 2;
}

/// Exceptions of one type and one line that have one end.
#[derive(Debug, Default)]
#[repr(C)]
pub struct ExceptionRow {
    /// The row of the line that raised them.
    pub raised: AtomicU32,
    /// The row of functions that has the name of their type.
    pub of_type: AtomicU32,
    /// The row of the line that caught them.
    pub caught: AtomicU32,
    /// An [`exception_end`].
    pub end: AtomicU32,
    /// Their number.
    pub count: AtomicU64,
}

/// The mapped file. Most of it is not allocated.
#[derive(Debug)]
#[repr(C)]
pub struct CallsFile {
    /// The head.
    pub header: CallsHeader,
    /// The functions.
    pub functions: [FunctionRow; FUNCTIONS],
    /// The nodes.
    pub nodes: [NodeRow; NODES],
    /// The lines.
    pub lines: [LineRow; LINES],
    /// The lines that raise or catch exceptions.
    pub sites: [SiteRow; EXCEPTION_SITES],
    /// The exceptions.
    pub exceptions: [ExceptionRow; EXCEPTIONS],
    /// The texts.
    pub text: [core::sync::atomic::AtomicU8; TEXT],
}

impl CallsFile {
    /// The size of the file.
    pub const BYTES: usize = size_of::<Self>();
    /// The offset of the functions.
    pub const FUNCTIONS_AT: usize = offset_of!(Self, functions);
    /// The offset of the nodes.
    pub const NODES_AT: usize = offset_of!(Self, nodes);
    /// The offset of the lines.
    pub const LINES_AT: usize = offset_of!(Self, lines);
    /// The offset of the lines of exceptions.
    pub const SITES_AT: usize = offset_of!(Self, sites);
    /// The offset of the exceptions.
    pub const EXCEPTIONS_AT: usize = offset_of!(Self, exceptions);
    /// The offset of the texts.
    pub const TEXT_AT: usize = offset_of!(Self, text);
}

const _: () = assert!(size_of::<FunctionRow>() == 56 && size_of::<NodeRow>() == 40);
