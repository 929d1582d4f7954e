//! One for the whole session.

use core::sync::atomic::{AtomicU32, AtomicU64};

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
    /// A `profundo_wire::recording::Engine` as a number: 0 perf-signal (the command opens the
    /// clocks), 1 cpu-timer (agents make timers of their own).
    pub engine: AtomicU32,
    /// Whether forks and what they execute are followed: 1 or 0.
    pub follow: AtomicU32,
    /// How often a process found no ring.
    pub starved: AtomicU32,
    /// The present period of the task clocks in nanoseconds, which is a sample's weight.
    pub period: AtomicU64,
    /// The period of the timers that look for system time; 0 for none.
    pub system_period: AtomicU64,
    /// The number of the command's pid namespace (the inode of `/proc/self/ns/pid`); 0 if it is of
    /// no account. Processes in another one have ids that mean nothing to the command: they are
    /// followed, and take no ring.
    pub namespace: AtomicU64,
    /// Incremented by `profundo ctl PID clear` and the like; the command acts on a change.
    pub request: AtomicU32,
    reserved: [AtomicU32; 29],
    /// The rings.
    pub rings: [RingEntry; MAX_RINGS],
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
