//! The last request of a process that ends: a search for its unreachable blocks.

use core::sync::atomic::{AtomicU32, AtomicU64};

/// The values of [`Search::state`]. A futex: the process waits while it is `WANTED` or `BEGUN`, for
/// a moment.
pub mod search_state {
    /// No request.
    pub const NONE: u32 = 0;
    /// The agent has filled in the rest, and waits.
    pub const WANTED: u32 = 1;
    /// The command searches.
    pub const BEGUN: u32 = 2;
    /// The command has searched, or will not. This state is final.
    pub const OVER: u32 = 3;
    /// The agent has not waited any longer: further findings may be wrong.
    pub const LEFT: u32 = 4;
}

/// The known blocks of a process, and the memory to be left out. All addresses are the target's.
#[derive(Debug)]
#[repr(C)]
pub struct Search {
    /// One of [`search_state`].
    pub state: AtomicU32,
    /// The end of its stack. Its registers lie there as well.
    pub stack: AtomicU64,
    /// The address of a `heap::Shadow`, if all blocks are counted; else 0.
    pub shadow: AtomicU64,
    /// If blocks are followed: the address of an array of `heap::followed::Entry`, and its
    /// length.
    pub followed: [AtomicU64; 2],
    /// The agent's own memory, in which pointers do not count: the address of pairs of a start and
    /// a number of bytes, and their number. There may be zeros among them. Where all blocks are
    /// counted, it is there from the beginning as well.
    pub own_memory: [AtomicU64; 2],
}
