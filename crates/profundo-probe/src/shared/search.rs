//! The last request of a process that ends: that it be looked which of its blocks nobody points to any more.

use core::sync::atomic::{AtomicU32, AtomicU64};

/// What [`Search::state`] says. A futex: the process waits while it is `WANTED` or `BEGUN`, for a moment.
pub mod search_state {
    /// Nobody has asked.
    pub const NONE: u32 = 0;
    /// The agent has filled in the rest, and waits.
    pub const WANTED: u32 = 1;
    /// The command looks.
    pub const BEGUN: u32 = 2;
    /// The command has looked, or will not. It stays so.
    pub const OVER: u32 = 3;
    /// The agent has not waited any longer: what is found from here on may be wrong.
    pub const LEFT: u32 = 4;
}

/// What is known of the blocks of a process, and who is not to be asked. All addresses are the target's.
#[derive(Debug)]
#[repr(C)]
pub struct Search {
    /// One of [`search_state`].
    pub state: AtomicU32,
    /// Where its stack ends. Its registers lie there as well.
    pub stack: AtomicU64,
    /// Where everything is counted: the words of all blocks, as `heap::Shadow` has them, from the beginning of that on.
    /// 0 elsewhere.
    pub shadow: AtomicU64,
    /// Where blocks are followed: an array of these, as `heap::followed::Entry`, and how many there are.
    pub followed: [AtomicU64; 2],
    /// Memory of the agent's, in which no pointer counts: pairs of a start and a number of bytes, and how many
    /// there are. There may be zeros among them. Where everything is counted, it is there from the beginning as well.
    pub own: [AtomicU64; 2],
}
