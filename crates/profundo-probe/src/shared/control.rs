//! The state of the whole session.

use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};

/// The number of processes that can be recorded at one time.
pub const MAX_RINGS: usize = 1024;

/// The values of [`Control::state`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum SessionState {
    /// The command has gone, or is about to go: agents do nothing, and ask for nothing.
    Over = 0,
    /// Samples are taken.
    Running = 1,
    /// Agents enter themselves, but no clock runs.
    Paused = 2,
}

/// The source of samples of an agent's threads.
pub mod engine {
    /// Task clocks, which the command opens, and beside them timers of the agents'.
    pub const PERF_SIGNAL: u32 = 0;
    /// The agents' timers alone.
    pub const CPU_TIMER: u32 = 1;
}

/// The traced part of calls.
pub mod trace_flag {
    /// Calls of the interpreter's functions.
    pub const CALLS: u32 = 1;
    /// Calls of C functions by the interpreter, too.
    pub const BUILTINS: u32 = 2;
    /// Times by the CPU clock of each thread, instead of the wall clock.
    pub const CPU_CLOCK: u32 = 4;
    /// Lines instead of calls: those of the functions in the session's list.
    pub const LINES: u32 = 8;
    /// The times of lines, too.
    pub const LINE_TIMES: u32 = 16;
    /// Only whether lines run at all: after its first run, a line is not traced any more.
    pub const LINES_ONCE: u32 = 32;
    /// Exceptions: the lines that raise and catch them.
    pub const EXCEPTIONS: u32 = 64;
}

/// The states of a [`RingEntry`].
pub mod entry_state {
    /// There is no such file.
    pub const ABSENT: u32 = 0;
    /// The file is there and zeroed: an agent may take it, by compare-and-swap to `TAKEN`.
    pub const FREE: u32 = 1;
    /// The file belongs to the process of that pid. Only the command sets it free again, after the
    /// process has ended, the last samples are out and the file is zeroed.
    pub const TAKEN: u32 = 2;
}

/// The special values of [`Control::memory`], besides a number of bytes.
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
    /// A futex: an agent increments it and wakes it to report something. The command waits.
    pub doorbell: AtomicU32,
    /// The command's process id.
    pub command: AtomicU32,
    /// The source of samples: one of [`engine`].
    pub engine: AtomicU32,
    /// Whether forked children and executed programs are followed: 1 or 0.
    pub follow: AtomicU32,
    /// The number of times a process found no ring.
    pub starved: AtomicU32,
    /// Nanoseconds of CPU time between two samples of a thread, on average.
    pub period: AtomicU64,
    /// The period of the timers that count system time; 0 for none.
    pub system_period: AtomicU64,
    /// The number of the pid namespace of the programs (the inode of `/proc/self/ns/pid`), which is
    /// the command's, too, unless `is_elsewhere` is set; 0 if unknown. Processes in another one
    /// have ids that mean nothing to the command: they are followed, and take no ring.
    pub namespace: AtomicU64,
    /// The recorded allocations: on average one in so many bytes, or one of [`memory_kind`].
    pub memory: AtomicU64,
    /// The number of times that the distance may be doubled if blocks would be recorded too often.
    pub memory_doublings: AtomicU64,
    /// Incremented to clear the recording (by `profundo ctl PID clear`, or by the program itself);
    /// the command acts on a change.
    pub request: AtomicU32,
    /// Incremented by a process that finds no ring, each time before it waits for one.
    pub asked: AtomicU32,
    /// A futex: incremented when rings are free again. Processes that found none wait.
    pub provided: AtomicU32,
    /// 1 while no more rings can be made: waiting is in vain.
    pub exhausted: AtomicU32,
    /// The number of processes that have left a final report. See [`Farewell`].
    pub farewells: AtomicU32,
    /// 1 if handlers are to record the descriptors of interrupted system calls.
    pub calls: AtomicU32,
    /// A futex: the last `request` that the command has done.
    pub heeded: AtomicU32,
    /// 1 if interpreters are to report their garbage collections.
    pub collections: AtomicU32,
    /// The calls that interpreters are to count: [`trace_flag`]s. 0: none.
    pub trace: AtomicU32,
    /// The number of times a process could not map the ring that it took.
    pub unmapped: AtomicU32,
    /// The interval of the kernel's ticks in nanoseconds: CPU timers run out at ticks only.
    pub tick: AtomicU32,
    /// The number of halvings of the patience with the command, after it did not answer in time.
    pub halvings: AtomicU32,
    /// When processes began to wait for the command, which has had no turn since: on the monotonic
    /// clock, with [`UNANSWERED`] once they have given up. The command stores 0 in each turn.
    pub waiting_since: AtomicU64,
    /// 1 if children of forks need not enter themselves at once: the kernel reports them.
    pub defers: AtomicU32,
    /// 1 if interpreters are to have a builtin `profile`, which the program's source mentions.
    pub builtin: AtomicU32,
    /// Incremented to have all until now written to the recording's file, for a reader of that.
    pub wanted: AtomicU32,
    /// A futex: the last `wanted` that the command has done.
    pub written: AtomicU32,
    /// 1 if there is no command: the process has made this session by itself, and keeps its samples
    /// in its own memory. It takes them only while a region of it is open ([`super::Regions`]).
    pub is_alone: AtomicU32,
    /// 0 if the recording is kept as a whole. Otherwise its last minutes are kept, and this is
    /// incremented to have them written now: a file in the session's directory says where.
    pub keep: AtomicU32,
    /// 1 if the programs are in another pid namespace than the command, which is that of
    /// `namespace` then: `command` means nothing to them, and the command's lock on this file shows
    /// that it is there.
    pub is_elsewhere: AtomicU32,
    reserved: [AtomicU32; 5],
    /// The rings.
    pub rings: [RingEntry; MAX_RINGS],
    /// The final reports, in a ring.
    pub last_words: [Farewell; MAX_FAREWELLS],
    /// Copies of processes, in a ring.
    pub copies: [CopyNote; MAX_COPIES],
    /// The number of copies ever made.
    pub copy_count: AtomicU64,
    /// The ids of forked children that will enter themselves later; 0 is a free place.
    pub deferred: [AtomicU32; MAX_DEFERRED],
}

/// In [`Control::waiting_since`]: the command had no turn in time, and no process waits for it
/// until it has had one.
pub const UNANSWERED: u64 = 1;

/// The number of forked children that can put off their entry at one time.
pub const MAX_DEFERRED: usize = 256;

/// The number of copies remembered.
pub const MAX_COPIES: usize = 64;

/// A copy of a process that another command has made to inspect it. It is no process of the
/// recording, although the kernel reports it like any child.
#[derive(Debug)]
#[repr(C)]
pub struct CopyNote {
    /// The copy; 0 while the rest is being written.
    pub pid: AtomicU32,
    /// Unused.
    pub reserved: AtomicU32,
    /// A time before it was made, in nanoseconds of the monotonic clock.
    pub began: AtomicU64,
    /// A time after it ended; 0 as long as it exists.
    pub ended: AtomicU64,
}

/// The number of final reports kept.
pub const MAX_FAREWELLS: usize = 1024;

/// The final report of a process without a ring, if it can leave one: the child of a fork that
/// found none, or one that borrows its parent's memory.
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

/// The state and the owner of a ring.
#[derive(Debug)]
#[repr(C)]
pub struct RingEntry {
    /// One of [`entry_state`].
    pub state: AtomicU32,
    /// The process that took it.
    pub pid: AtomicU32,
}
