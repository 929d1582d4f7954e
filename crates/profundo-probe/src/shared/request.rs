//! A request to a Python program, carried out inside of it while it holds the interpreter's lock.
//!
//! The command writes a [`Request`] into the program's memory and has [`REQUEST_SYMBOL`] called
//! with it. The state shows its progress; a requester that cannot wait any longer withdraws it, and
//! nothing of it happens after that.

use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};

/// The exported function of the agent. The number grows when [`Request`] changes.
pub const REQUEST_SYMBOL: &str = "profundo_door_1";

/// The exported functions of the agent that enter a session and leave it. The number grows when the
/// shared memory changes.
pub const ENTER_SYMBOL: &str = "profundo_enter_1";
/// See [`ENTER_SYMBOL`].
pub const MASKED_SYMBOL: &str = "profundo_masked_1";
/// See [`ENTER_SYMBOL`].
pub const FALL_SILENT_SYMBOL: &str = "profundo_fall_silent_1";
/// See [`ENTER_SYMBOL`].
pub const LEAVE_SYMBOL: &str = "profundo_leave_1";

/// The values of [`Request::state`].
pub mod request_state {
    /// The interpreter was asked to let us in.
    pub const ASKED: u32 = 0;
    /// The interpreter runs our code.
    pub const INSIDE: u32 = 1;
    /// The request is done, or refused: see [`Request::answer`](super::Request::answer).
    pub const DONE: u32 = 2;
    /// The request will not be done any more, and could not be withdrawn.
    pub const CANCELLED: u32 = 3;
}

/// The kinds of requests.
pub mod wish {
    /// A copy of the process that goes through its objects.
    pub const OBJECTS: u32 = 1;
    /// Reports of garbage collections, in [`Collections`](crate::shared::Collections) at the
    /// outlet's address.
    pub const COLLECTIONS: u32 = 2;
    /// No more reports of garbage collections.
    pub const SILENCE: u32 = 3;
    /// Some of the agent's [`parts`](super::part) begin in an interpreter that ran before the agent
    /// came. The agent has entered the process.
    pub const BEGIN: u32 = 4;
    /// The same parts end, because the agent is about to leave. An answer above 0: so many things
    /// that another tool has put itself in front of stay, and only pass calls on.
    pub const END: u32 = 5;
}

/// The parts of the agent that begin and end with the interpreter's lock held, as bits of
/// [`Request::flags`](Request): for [`wish::BEGIN`] and [`wish::END`].
pub mod part {
    /// The interpreter's allocators.
    pub const MEMORY: u32 = 1;
    /// Counts of calls and lines.
    pub const CALLS: u32 = 2;
    /// Spans of the package `profundo`, where the program has imported it.
    pub const SPANS: u32 = 4;
}

/// The ways into the interpreter.
pub mod way {
    /// The interpreter's main thread carries it out when it next runs Python code.
    pub const PENDING: u32 = 0;
    /// A thread of ours asks for the lock, like any foreign thread: for a main thread that waits.
    pub const THREAD: u32 = 1;
    /// None any more: the request is withdrawn.
    pub const WITHDRAW: u32 = 2;
}

/// The reasons why nothing was done: negative answers that are no error numbers of the system.
pub mod refusal {
    /// There is no interpreter, or an unknown one.
    pub const NO_INTERPRETER: i32 = -10_001;
    /// The interpreter's tables are not where they are expected.
    pub const UNKNOWN_LAYOUT: i32 = -10_002;
    /// The interpreter is collecting garbage.
    pub const COLLECTING: i32 = -10_003;
    /// The interpreter has not started, or has ended.
    pub const NOT_RUNNING: i32 = -10_004;
    /// The interpreter's list of pending calls is full.
    pub const FULL: i32 = -10_005;
    /// Another request is being answered.
    pub const BUSY: i32 = -10_006;
    /// The interpreter has no thread that could be asked.
    pub const NO_THREAD: i32 = -10_007;
    /// The request cannot be withdrawn: it is being done, or is done.
    pub const TOO_LATE: i32 = -10_008;
    /// Another profiler is at work.
    pub const HAS_PROFILER: i32 = -10_009;
    /// The address space of the process is limited.
    pub const LITTLE_MEMORY: i32 = -10_010;
    /// The interpreter can run without the global lock, which this needs.
    pub const FREE_THREADED: i32 = -10_011;
}

/// Flags of [`Request::flags`].
pub mod request_flag {
    /// The contents of texts are left out.
    pub const REDACT: u32 = 1;
    /// No function of the interpreter is called that could wait for a lock of the allocator.
    pub const NO_CALLS: u32 = 2;
}

/// One request. All zero but for its inputs.
#[derive(Debug)]
#[repr(C)]
pub struct Request {
    /// One of [`request_state`].
    pub state: AtomicU32,
    /// One of [`wish`].
    pub wish: AtomicU32,
    /// One of [`way`].
    pub way: AtomicU32,
    /// Of [`request_flag`], or of [`part`].
    pub flags: AtomicU32,
    /// The result: 0 or more, an error number of the system as a negative number, or a [`refusal`].
    pub answer: AtomicI32,
    /// The longest life of a copy in seconds.
    pub seconds: AtomicU32,
    /// The result of asking: 0, or a [`refusal`].
    pub refused: AtomicI32,
    /// The seconds after which nothing is done any more.
    pub patience: AtomicU32,
    /// When the program was paused for it, on the monotonic clock.
    pub began: AtomicU64,
    /// When the program went on, on the monotonic clock.
    pub ended: AtomicU64,
    /// The output of a copy.
    pub outlet: Outlet,
}

/// The output of a copy: one piece of memory after the other, which the command reads from outside.
#[derive(Debug)]
#[repr(C)]
pub struct Outlet {
    /// The address of the piece; 0 until there is one.
    pub address: AtomicU64,
    /// The number of words in it. The command sets it to 0 when it has read them.
    pub filled: AtomicU64,
    /// The number of objects visited.
    pub progress: AtomicU64,
}
