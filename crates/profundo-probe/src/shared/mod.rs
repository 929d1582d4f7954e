//! The memory that an agent in the target shares with the command that records it.
//!
//! A session is a directory with these kinds of files:
//!
//! | file | made by | holds |
//! |---|---|---|
//! | `control` | the command | a [`Control`]: the settings, the doorbell, the states of rings |
//! | `tables` | the command | unwind rows and indexes, or a link to a file of them; agents map it, read-only |
//! | `ring.N` | the command | a [`Ring`]: one process's threads, modules and samples |
//! | `heap.N`, `stacks.N` | the command | the allocation counts of the process with that ring, if all are counted |
//!
//! The command makes rings ahead, with their memory allocated, so that a process that starts only
//! opens and maps one, and so that no write to it can fail later. The target keeps no file
//! descriptor. Words committed to a ring outlive a SIGKILL of either side.
//!
//! # The order of events
//!
//! 1. The agent takes a ring ([`RingEntry::state`] from `FREE` to `TAKEN`, then the pid: it may be
//!    0 for a moment), fills in the header and the main thread's record, stores `HELLO` and rings.
//!    Of a program that was executed it then waits for `READY` or `REFUSED`, 100 ms at most, and
//!    only while the command's process exists; the child of a fork does not wait. A command that
//!    has no turn for 50 ms is waited for no longer, by no process: [`Control::waiting_since`].
//! 2. The command publishes the modules, opens the clocks of all `ALIVE` records, stores `READY`
//!    and wakes the futex, then sets `enabled`. (Or `enabled` first: a handler works either way.)
//! 3. A thread that starts enters a record (`ALIVE`) and rings. The command opens its clock,
//!    disabled, stores `ThreadRecord::clock`, then enables it. A thread the agent cannot know of
//!    (made by a bare `clone`) may be entered by the command, as [`record_state`] says.
//! 4. A thread that ends stores its name and CPU time, then `ENDED`, and sets `news` without
//!    ringing. The command reads them, closes the clock and stores `READ`: the record may be used
//!    again. (When few records are left the agent rings as well.)
//! 5. A process that ends fills [`Ends`]. One that executes another program leaves its ring as it
//!    is, and the new program's agent takes another one with the same pid: the former program has
//!    ended then. Threads that are still `ALIVE` in a ring whose process is gone have ended. A
//!    process without a ring leaves a [`Farewell`] instead. Before that, where allocations are
//!    recorded, it may ask for its unreachable blocks, and wait for that: see [`Search`].
//! 6. The command stores `Over` in [`Control::state`] before it removes the files. Agents have
//!    them mapped and are not disturbed; programs executed later get no agent.
//!
//! Timers of the agent (system time; all time for the `cpu-timer` engine) belong to the process
//! and are of no concern to the command.
//!
//! Everything in here is plain numbers and atomics with a fixed layout (`repr(C)`), all zero at
//! first, and read by another process: no pointers but those marked as the target's.

mod calls;
mod collections;
mod control;
mod masks;
mod native_calls;
mod request;
mod ring;
mod search;
mod stacks;
mod sums;

pub use calls::{
    CALLS_FILE, CUT_CALLS_FILE, CallsFile, CallsHeader, EXCEPTION_SITES, EXCEPTIONS, ExceptionRow,
    FUNCTIONS, FunctionRow, LINES, LINES_LIST, LineRow, NODES, NodeRow, SiteRow, TEXT, call_clock,
    exception_end, function_kind, node_flag,
};
pub use collections::{Collections, KEPT};
pub use control::{
    Control, CopyNote, Farewell, MAX_COPIES, MAX_DEFERRED, MAX_FAREWELLS, MAX_RINGS, RingEntry,
    SessionState, UNANSWERED, engine, entry_state, memory_kind, trace_flag,
};
pub use masks::{Answer, MASKS, ThreadMasks};
pub use ring::{
    CHUNKS, COMMAND_BYTES, Ends, ForeignModule, Header, LISTED, Listings, MemoryCounts, RECORDS,
    Regions, Ring, Silence, ring_state, start_kind, trap_state,
};

pub use native_calls::{Tallies, tallies_moment, tallies_state};
pub use request::{
    ENTER_SYMBOL, FALL_SILENT_SYMBOL, LEAVE_SYMBOL, MASKED_SYMBOL, Outlet, REQUEST_SYMBOL, Request,
    part, refusal, request_flag, request_state, way, wish,
};
pub use search::{Search, search_state};
pub use stacks::{
    NewStack, STACK_WORDS, STACKS_BYTES, STACKS_FILE, StackWindows, WINDOW_WORDS, WINDOWS,
    entry_kind, from_root,
};
pub use sums::{
    COMMON, FreedBlocks, LIVES, Net, PIECE, PIECES, Piece, Row, SHARES, SITES, SLOTS, SUMS_BYTES,
    SUMS_FILE, Sum, SumsHeader, Writers, grow,
};

pub use crate::records::record_state;

/// The files' names in a session's directory.
pub mod file {
    /// The [`Control`](super::Control).
    pub const CONTROL: &str = "control";
    /// Rows and indexes, or a link to them.
    pub const TABLES: &str = "tables";
    /// The functions whose lines are traced, if any: see the agent.
    pub const LINES: &str = "lines";
    /// The prefix of a ring's number.
    pub const RING: &str = "ring.";
}

/// The environment variable that names the session's directory. The agent hides it from the program
/// and puts it back into the environment of programs that it executes. Its value is `DIRECTORY`, an
/// absolute path without colons, and the agent's own path is an entry of `LD_PRELOAD`: see
/// [`loading`](crate::loading).
pub const SESSION_VARIABLE: &str = "PROFUNDO_SESSION";

/// The recorded copies.
#[derive(Debug, Clone, Copy)]
pub struct CopySampling {
    /// The shortest copies that count.
    pub floor: u64,
    /// The mean distance in bytes between recorded ones.
    pub mean: u64,
}

/// The usual sampling of copies.
pub const COPIES: CopySampling = CopySampling {
    floor: 4096,
    mean: 1 << 20,
};

/// The agent's exports for native programs that were built to report their calls. They are removed
/// from the file where calls are not counted, so that the programs report to their usual receiver.
pub const CALL_SYMBOLS: &[&str] = &[
    "__cyg_profile_func_enter",
    "__cyg_profile_func_exit",
    "longjmp",
    "_longjmp",
    "siglongjmp",
    "__longjmp_chk",
    "__cxa_begin_catch",
    "open",
    "open64",
    "mcount",
    "_mcount",
    "__fentry__",
];

/// The agent's exports for allocations alone. They are removed from the loaded file where
/// allocations are not recorded, so that no call goes through them in vain.
pub const MEMORY_SYMBOLS: &[&str] = &[
    "malloc",
    "free",
    "calloc",
    "realloc",
    "reallocarray",
    "memalign",
    "aligned_alloc",
    "posix_memalign",
    "valloc",
    "pvalloc",
    "mmap",
    "mmap64",
    "munmap",
    "mremap",
    "sbrk",
    "memcpy",
    "memmove",
    "mempcpy",
    "__memcpy_chk",
    "__memmove_chk",
    "_Znwm",
    "_Znam",
    "_ZnwmRKSt9nothrow_t",
    "_ZnamRKSt9nothrow_t",
    "_ZnwmSt11align_val_t",
    "_ZnamSt11align_val_t",
    "_ZnwmSt11align_val_tRKSt9nothrow_t",
    "_ZnamSt11align_val_tRKSt9nothrow_t",
    "_ZdlPv",
    "_ZdaPv",
    "_ZdlPvm",
    "_ZdaPvm",
    "_ZdlPvRKSt9nothrow_t",
    "_ZdaPvRKSt9nothrow_t",
    "_ZdlPvSt11align_val_t",
    "_ZdaPvSt11align_val_t",
    "_ZdlPvmSt11align_val_t",
    "_ZdaPvmSt11align_val_t",
    "_ZdlPvSt11align_val_tRKSt9nothrow_t",
    "_ZdaPvSt11align_val_tRKSt9nothrow_t",
];

/// The agent's exports for a program that it comes into while that runs: they notice that files are
/// loaded. A call in vain would be the least of it, elsewhere: the loader looks at the caller.
pub const LATE_SYMBOLS: &[&str] = &["dlopen", "dlmopen", "dlsym", "dlvsym"];

/// At the start of `control` and of each ring. Its last byte is the layout's version: an agent
/// that finds another one does nothing.
pub const MAGIC: u64 = u64::from_be_bytes(*b"PROFUND\x0D");

/// The limit of `tables`. PyTorch with CUDA needs a quarter of it. Programs map the present length
/// and some more. The file is as long as its contents, and grows: only memory that a list of
/// modules names may be touched.
pub const TABLE_BYTES: usize = 1 << 29;
