//! What is asked of a Python program, to be done inside of it while it holds the interpreter's lock.
//!
//! The command writes a [`Request`] into the program's memory and has [`DOOR_SYMBOL`] called with it. The state says how
//! far it has come; whoever cannot wait any longer takes it back, after which nothing of it happens any more.

use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};

/// What the agent exports. The number grows when [`Request`] changes.
pub const DOOR_SYMBOL: &str = "profundo_door_1";

/// What [`Request::state`] says.
pub mod request_state {
    /// The interpreter was asked to let us in.
    pub const ASKED: u32 = 0;
    /// We are in.
    pub const INSIDE: u32 = 1;
    /// It is done, or refused: see [`Request::answer`](super::Request::answer).
    pub const DONE: u32 = 2;
    /// It is not to be done any more, and could not be taken back.
    pub const CANCELLED: u32 = 3;
}

/// What is wanted.
pub mod wish {
    /// A copy of the process that goes through its objects.
    pub const OBJECTS: u32 = 1;
    /// That collections of garbage be told of, in [`Collections`](super::Collections) at the outlet's address.
    pub const COLLECTIONS: u32 = 2;
    /// That they be told of no more.
    pub const SILENCE: u32 = 3;
}

/// How the door is to be come through.
pub mod way {
    /// The interpreter's main thread lets us in when it next runs Python code.
    pub const PENDING: u32 = 0;
    /// A thread of ours asks for the lock, as any foreign thread may: for a main thread that waits for something.
    pub const THREAD: u32 = 1;
    /// Not at all any more: what was asked is taken back.
    pub const WITHDRAW: u32 = 2;
}

/// Why nothing was done: negative answers that are no error numbers of the system's.
pub mod refusal {
    /// There is no interpreter, or not one that is known.
    pub const NO_INTERPRETER: i32 = -10_001;
    /// Its tables are not where they are expected.
    pub const UNKNOWN_LAYOUT: i32 = -10_002;
    /// It collects garbage just now.
    pub const COLLECTING: i32 = -10_003;
    /// It has not begun, or has ended.
    pub const NOT_RUNNING: i32 = -10_004;
    /// Its list of pending calls is full.
    pub const FULL: i32 = -10_005;
    /// Another one is being answered.
    pub const BUSY: i32 = -10_006;
    /// It has no thread that could be asked.
    pub const NO_THREAD: i32 = -10_007;
    /// It cannot be taken back: it is being done, or is done.
    pub const TOO_LATE: i32 = -10_008;
    /// Somebody else's profiler is at work.
    pub const HAS_PROFILER: i32 = -10_009;
    /// There is a limit on how much it may map.
    pub const LITTLE_MEMORY: i32 = -10_010;
}

/// Flags of [`Request::flags`].
pub mod request_flag {
    /// What texts hold is not told.
    pub const REDACT: u32 = 1;
    /// Nothing of the interpreter's is called that could wait for a lock of the allocator's.
    pub const NO_CALLS: u32 = 2;
}

/// One request. All zero but for what is wanted.
#[derive(Debug)]
#[repr(C)]
pub struct Request {
    /// One of [`request_state`].
    pub state: AtomicU32,
    /// One of [`wish`].
    pub wish: AtomicU32,
    /// One of [`way`].
    pub way: AtomicU32,
    /// Of [`request_flag`].
    pub flags: AtomicU32,
    /// What came of it: 0 or more, an error number of the system's as a negative number, or a [`refusal`].
    pub answer: AtomicI32,
    /// For how many seconds a copy may live.
    pub seconds: AtomicU32,
    /// What came of asking: 0, or a [`refusal`].
    pub refused: AtomicI32,
    /// After so many seconds nothing is done any more.
    pub patience: AtomicU32,
    /// When the program was held up for it and when it went on, on the monotonic clock.
    pub began: AtomicU64,
    /// See `began`.
    pub ended: AtomicU64,
    /// What a copy has to tell, and how it hands it over.
    pub outlet: Outlet,
}

/// How a copy hands over what it finds: by one piece of memory after the other, which the command reads from outside.
#[derive(Debug)]
#[repr(C)]
pub struct Outlet {
    /// Where the piece lies; 0 until there is one.
    pub address: AtomicU64,
    /// How many words are in it. The command sets it to 0 when it has read them.
    pub filled: AtomicU64,
    /// How many objects it has gone through.
    pub progress: AtomicU64,
}
