//! One for the whole session.

use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};

/// How many processes can be recorded at one time.
pub const MAX_RINGS: usize = 1024;

/// What [`Control::state`] says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum SessionState {
    /// The command has gone, or goes: agents do nothing, and ask for nothing.
    Over = 0,
    /// Samples are taken.
    Running = 1,
    /// Agents enter themselves, but no clock runs.
    Paused = 2,
}

/// What samples the threads of agents.
pub mod engine {
    /// Task clocks, which the command opens, and beside them timers of the agents'.
    pub const PERF_SIGNAL: u32 = 0;
    /// The agents' timers alone.
    pub const CPU_TIMER: u32 = 1;
}

/// What of calls is counted.
pub mod trace_flag {
    /// Calls of the interpreter's functions.
    pub const CALLS: u32 = 1;
    /// Those of C's that it calls as well.
    pub const BUILTINS: u32 = 2;
    /// By the CPU time of each thread, not by the clock on the wall.
    pub const CPU_CLOCK: u32 = 4;
    /// Lines, instead of calls: of functions that the session's list names.
    pub const LINES: u32 = 8;
    /// And for how long they are run.
    pub const LINE_TIMES: u32 = 16;
    /// Or only whether they are run at all: a line that was is of no more interest.
    pub const LINES_ONCE: u32 = 32;
}

/// What a [`RingEntry`] can be.
pub mod entry_state {
    /// There is no such file.
    pub const ABSENT: u32 = 0;
    /// The file is there and zeroed: an agent may take it, by compare-and-swap to `TAKEN`.
    pub const FREE: u32 = 1;
    /// It belongs to the process of that pid. Only the command sets it free again, after the
    /// process has ended, the last samples are out and the file is zeroed.
    pub const TAKEN: u32 = 2;
}

/// What [`Control::memory`] says, besides a number of bytes.
pub mod memory_kind {
    /// Allocations are not recorded.
    pub const NONE: u64 = 0;
    /// All of them are counted.
    pub const EXACT: u64 = u64::MAX;
}

/// The session.
#[derive(Debug)]
#[repr(C)]
pub struct Control {
    /// [`super::MAGIC`].
    pub magic: AtomicU64,
    /// A [`SessionState`]. The command and `profundo ctl` set it; agents read it.
    pub state: AtomicU32,
    /// A futex: an agent adds one and wakes it when it has something to say. The command waits.
    pub doorbell: AtomicU32,
    /// The command's process id.
    pub command: AtomicU32,
    /// What samples: one of [`engine`].
    pub engine: AtomicU32,
    /// Whether forks and what they execute are followed: 1 or 0.
    pub follow: AtomicU32,
    /// How often a process found no ring.
    pub starved: AtomicU32,
    /// Nanoseconds of CPU time between two samples of a thread, on average.
    pub period: AtomicU64,
    /// The period of the timers that look for system time; 0 for none.
    pub system_period: AtomicU64,
    /// The number of the command's pid namespace (the inode of `/proc/self/ns/pid`); 0 if it is not
    /// known. Processes in another one have ids that mean nothing to the command: they are
    /// followed, and take no ring.
    pub namespace: AtomicU64,
    /// Which allocations are recorded: one about each so many bytes, or one of [`memory_kind`].
    pub memory: AtomicU64,
    /// How often that distance may be doubled where blocks would be recorded too often.
    pub memory_doublings: AtomicU64,
    /// Incremented by whoever wants it to be forgotten what was recorded so far (`profundo ctl PID clear`, or the
    /// program itself); the command acts on a change.
    pub request: AtomicU32,
    /// Incremented by a process that finds no ring, each time before it waits for one.
    pub asked: AtomicU32,
    /// A futex: incremented when rings have come to be free. Processes that found none wait.
    pub provided: AtomicU32,
    /// 1 while no more rings can be made: nobody need wait.
    pub exhausted: AtomicU32,
    /// How many processes have left a word at their end. See [`Farewell`].
    pub farewells: AtomicU32,
    /// 1 if handlers are to say what the system calls were on that they have interrupted.
    pub calls: AtomicU32,
    /// A futex: which `request` was the last that the command has done.
    pub heeded: AtomicU32,
    /// 1 if interpreters are to tell of their collections of garbage.
    pub collections: AtomicU32,
    /// What of calls interpreters are to count: [`trace_flag`]s. 0: nothing.
    pub trace: AtomicU32,
    /// How often a process could not map the ring that it took.
    pub unmapped: AtomicU32,
    /// How far the kernel's ticks lie apart in nanoseconds: CPU timers run out at ticks only.
    pub tick: AtomicU32,
    /// How many times the patience with the command is halved, because it did not answer in time.
    pub halvings: AtomicU32,
    /// When processes began to wait for the command, which has had no turn since: on the monotonic
    /// clock, with [`UNANSWERED`] once they have given up. The command stores 0 in each turn.
    pub waiting_since: AtomicU64,
    /// 1 if children of forks need not enter themselves at once: the kernel tells of them.
    pub defers: AtomicU32,
    reserved: [AtomicU32; 11],
    /// The rings.
    pub rings: [RingEntry; MAX_RINGS],
    /// The last words, in a circle.
    pub last_words: [Farewell; MAX_FAREWELLS],
    /// Copies of processes, in a circle.
    pub copies: [CopyNote; MAX_COPIES],
    /// How many there have been.
    pub copy_count: AtomicU64,
    /// The processes of children of forks that have not entered themselves yet, and will; 0 is a free place.
    pub deferred: [AtomicU32; MAX_DEFERRED],
}

/// In [`Control::waiting_since`]: the command had no turn in time, and nobody waits for it until it has
/// had one.
pub const UNANSWERED: u64 = 1;

/// How many children of forks can put off their entry at one time.
pub const MAX_DEFERRED: usize = 256;

/// How many copies are remembered.
pub const MAX_COPIES: usize = 64;

/// A copy of a process that another command has made, to look at it: no process of the recording's, although the kernel tells
/// of it as of any child.
#[derive(Debug)]
#[repr(C)]
pub struct CopyNote {
    /// The copy; 0 while the rest is being written.
    pub pid: AtomicU32,
    /// Unused.
    pub reserved: AtomicU32,
    /// Before it was made, in nanoseconds of the monotonic clock.
    pub began: AtomicU64,
    /// After it was ended; 0 as long as it is there.
    pub ended: AtomicU64,
}

/// How many last words are kept.
pub const MAX_FAREWELLS: usize = 1024;

/// What a process without a ring says at its end, if it can: the child of a fork that found none, or
/// one that borrows its parent's memory.
#[derive(Debug)]
#[repr(C)]
pub struct Farewell {
    /// The process; 0 while the rest is being written.
    pub pid: AtomicU32,
    /// The exit code.
    pub code: AtomicI32,
    /// User time in nanoseconds.
    pub user: AtomicU64,
    /// System time.
    pub system: AtomicU64,
}

/// Whether a ring is free, and whose it is.
#[derive(Debug)]
#[repr(C)]
pub struct RingEntry {
    /// One of [`entry_state`].
    pub state: AtomicU32,
    /// The process that took it.
    pub pid: AtomicU32,
}
