//! The moments for the command to read the counters that a compiler has put into a program
//! (coverage).

use core::sync::atomic::AtomicU32;

/// The values of [`Tallies::state`]. A futex: the process waits while it is `WANTED` or `BEGUN`,
/// for a moment.
pub mod tallies_state {
    /// No request.
    pub const NONE: u32 = 0;
    /// The counters are to be read now.
    pub const WANTED: u32 = 1;
    /// The command reads them.
    pub const BEGUN: u32 = 2;
    /// The counters were read.
    pub const OVER: u32 = 3;
}

/// The reasons for reading the counters.
pub mod tallies_moment {
    /// The process has just been forked: its parent's counts are not its own.
    pub const FORKED: u32 = 1;
    /// The process ends, becomes another program, or forbids access.
    pub const LAST: u32 = 2;
    /// The process is about to write the counters down, which changes them: gcc's are added to
    /// those in the file.
    pub const WRITTEN: u32 = 3;
}

/// The request.
#[derive(Debug)]
#[repr(C)]
pub struct Tallies {
    /// One of [`tallies_state`].
    pub state: AtomicU32,
    /// One of [`tallies_moment`].
    pub moment: AtomicU32,
    /// 1 once the command has found that there are none.
    pub are_absent: AtomicU32,
}
