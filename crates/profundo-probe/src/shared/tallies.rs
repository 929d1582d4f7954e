//! Counters that the compiler has put into a program (coverage), which the command reads from outside: when.

use core::sync::atomic::AtomicU32;

/// What [`Tallies::state`] says. A futex: the process waits while it is `WANTED` or `BEGUN`, for a moment.
pub mod tallies_state {
    /// Nothing is asked.
    pub const NONE: u32 = 0;
    /// The counters are to be read now.
    pub const WANTED: u32 = 1;
    /// The command reads them.
    pub const BEGUN: u32 = 2;
    /// They were read.
    pub const OVER: u32 = 3;
}

/// Why they are read.
pub mod tallies_moment {
    /// The process has just been forked: what its parent has counted is not its own.
    pub const FORKED: u32 = 1;
    /// It ends, becomes another program, or lets nobody look any more.
    pub const LAST: u32 = 2;
    /// It is about to write them down, which changes them: gcc's are added to what the file has.
    pub const WRITTEN: u32 = 3;
}

/// What is asked.
#[derive(Debug)]
#[repr(C)]
pub struct Tallies {
    /// One of [`tallies_state`].
    pub state: AtomicU32,
    /// One of [`tallies_moment`].
    pub moment: AtomicU32,
    /// 1 once the command has seen that there are none.
    pub are_absent: AtomicU32,
}
