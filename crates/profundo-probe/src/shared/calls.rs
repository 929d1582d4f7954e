//! Where every call is counted: a file for each process, `calls.N` beside its ring, and `calls.N.0` and so on for threads
//! of native programs.
//!
//! Calls make a tree: each node is a function in one place, below those that called it. It is written by whoever holds the
//! interpreter's lock, or by the one thread that has the file, and read by the command when the process has ended, however it
//! did.

use core::mem::{offset_of, size_of};
use core::sync::atomic::{AtomicU32, AtomicU64};

/// What stands before the number of a process's file.
pub const CALLS_FILE: &str = "calls.";

/// How many functions there can be.
pub const FUNCTIONS: usize = 1 << 17;

/// How many nodes there can be.
pub const NODES: usize = 1 << 21;

/// How many bytes of text there can be.
pub const TEXT: usize = 32 << 20;

/// How many lines can be looked at.
pub const LINES: usize = 1 << 20;

/// How long the list is of functions whose lines are looked at.
pub const LINES_LIST: usize = 64 << 10;

/// The head of a file.
#[derive(Debug)]
#[repr(C, align(4096))]
pub struct CallsHeader {
    /// [`super::MAGIC`].
    pub magic: AtomicU64,
    /// A [`call_clock`].
    pub clock: AtomicU32,
    /// How many functions there are. Those before are whole.
    pub functions: AtomicU32,
    /// How many nodes there are. The first is nobody's.
    pub nodes: AtomicU32,
    /// How many bytes of text there are.
    pub text: AtomicU32,
    /// How many rows of lines there are.
    pub lines: AtomicU32,
    /// Whether the times of lines mean anything: 1 or 0.
    pub has_line_times: AtomicU32,
    /// What counting adds to 1024 calls of a [`function_kind`]: between the two moments at which a call is measured, and
    /// outside of them.
    pub cost: [[AtomicU64; 2]; 2],
    /// How many calls had no node, for want of room.
    pub uncounted: AtomicU64,
    /// How many functions have lines that are not looked at, for want of room.
    pub unlooked: AtomicU64,
    /// How many ends of calls met no beginning, or the other way round: what switches stacks by itself.
    pub unmatched: AtomicU64,
    /// What the processor's counter said when the file was begun.
    pub began: AtomicU64,
    /// One if the process has said how long those calls had lasted that had not ended.
    pub is_closed: AtomicU32,
    /// One if somebody else's profiler has taken our place in a thread.
    pub is_replaced: AtomicU32,
    /// Why there is nothing: a [`super::refusal`], or an error of the system's.
    pub refused: AtomicU32,
}

/// What calls are measured by.
pub mod call_clock {
    /// The processor's counter: time on the wall.
    pub const WALL: u32 = 0;
    /// The CPU time of each thread, in nanoseconds.
    pub const CPU: u32 = 1;
    /// None: nobody tells when calls end.
    pub const NONE: u32 = 2;
}

/// What a function is.
pub mod function_kind {
    /// One of the interpreter's language.
    pub const PYTHON: u32 = 0;
    /// One of C's that the interpreter calls.
    pub const BUILTIN: u32 = 1;
    /// One of the program's own, which is known by its address.
    pub const NATIVE: u32 = 2;
    /// None: what the interpreter calls a thread.
    pub const THREAD: u32 = 3;
}

/// A function. Texts are where they begin and how long they are.
#[derive(Debug, Default)]
#[repr(C)]
pub struct FunctionRow {
    /// A [`function_kind`].
    pub kind: AtomicU32,
    /// Its first line.
    pub line: AtomicU32,
    /// Its name.
    pub name: [AtomicU32; 2],
    /// Its name with those that it is in, if there is one.
    pub qualified: [AtomicU32; 2],
    /// Its file.
    pub file: [AtomicU32; 2],
    /// Where its lines are looked at: the first one, the row of that, and how many there are; else zeros.
    pub lines: [AtomicU32; 3],
    /// One if the program has marked it for that (`@profile`).
    pub is_marked: AtomicU32,
    /// Where its code begins, if it is native.
    pub address: AtomicU64,
}

/// A line.
#[derive(Debug, Default)]
#[repr(C)]
pub struct LineRow {
    /// How often it was run.
    pub hits: AtomicU64,
    /// How long that took.
    pub time: AtomicU64,
    /// Which thread runs it, in the upper half, and in how many calls at once.
    pub held: AtomicU64,
}

/// What [`NodeRow::flags`] says.
pub mod node_flag {
    /// It is a thread, whose number stands in the place of the function's.
    pub const THREAD: u32 = 1;
    /// It stands for a function wherever it is called: of its children only this caller is known.
    pub const ANYWHERE: u32 = 2;
    /// The function was further up as well. Only below those that stand for a function anywhere.
    pub const RECURSIVE: u32 = 4;
    /// It was further up as well, called by the same function. As above.
    pub const REPEATED: u32 = 8;
    /// It is a child of one that stands for a function anywhere.
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
    /// Of a thread, one more than the row that has its name; 0: it has none.
    pub name: AtomicU32,
    /// How often it was begun.
    pub calls: AtomicU64,
    /// How often it went on.
    pub resumes: AtomicU64,
    /// How long it took, what it called included.
    pub total: AtomicU64,
}

/// The file, as it is mapped. Most of it has no memory.
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
    /// The texts.
    pub text: [core::sync::atomic::AtomicU8; TEXT],
}

impl CallsFile {
    /// How long the file is.
    pub const BYTES: usize = size_of::<Self>();
    /// Where its parts begin.
    pub const FUNCTIONS_AT: usize = offset_of!(Self, functions);
    /// See above.
    pub const NODES_AT: usize = offset_of!(Self, nodes);
    /// See above.
    pub const LINES_AT: usize = offset_of!(Self, lines);
    /// See above.
    pub const TEXT_AT: usize = offset_of!(Self, text);
}

const _: () = assert!(size_of::<FunctionRow>() == 56 && size_of::<NodeRow>() == 40);
