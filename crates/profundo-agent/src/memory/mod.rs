//! The program's allocations.
//!
//! The agent interposes `malloc` and its family, C++'s operators, `mmap`, and the interpreter's
//! allocators. **The program gets its memory as if the agent were not there**: the real function is
//! always called, with the same arguments, and nothing is put into a block or beside it. What is
//! added to each call is counting down its bytes from a number that was drawn ([`local`]); when
//! that runs out, a stack is recorded, and the block is followed until it is freed ([`sampled`]).
//!
//! A call inside of another one, such as the `malloc` that `operator new` makes, is part of that
//! one: the outermost counts.

pub mod counting;
pub mod ends;
pub mod entry;
pub mod exact;
pub mod local;
mod mapped;
pub mod next_symbols;
mod python;
mod rows;
pub mod sampled;
mod search;
mod spare;
mod stacks;
pub mod state;
mod tables;

/// In a copy of the process, which shares its counters: nothing is counted any more.
pub fn forget_in_copy() {
    local::local().take();
}

pub use exact::{abandon, count_new, enter_child};
/// The calling thread ends.
pub fn end_thread() {
    exact::end_thread();
    sampled::end_thread();
}

/// The calling thread ends after the agent has left. Its memory is kept for another one.
pub fn end_thread_of_before() {
    exact::put_away();
    sampled::put_away();
}

pub use python::{begin_inside, end_inside, found as watch_python};
pub use search::search_unreachable;
pub use state::{begin, forget, is_on, is_wanted, leave, note_hidden_allocator};
