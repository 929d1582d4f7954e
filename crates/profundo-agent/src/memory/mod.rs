//! What the program allocates.
//!
//! The agent stands before `malloc` and its family, C++'s operators, `mmap`, and the interpreter's allocators.
//! **Whoever asked for memory gets it as if nobody stood there**: the real function is always called, with the
//! same arguments, and nothing is put into a block or beside it. What is added to each call is counting down
//! its bytes from a number that was drawn ([`local`]); when that runs out, a stack is told of, and the block is
//! followed until it is freed ([`sampled`]).
//!
//! A call inside of another one, such as the `malloc` that `operator new` makes, is part of that one: the
//! outermost counts.
//!
//! These functions are exported by the agent only where memory is recorded: the command takes their names out
//! of the file that it loads into other programs.

mod calls;
mod copies;
mod cpp;
mod ends;
mod entry;
mod exact;
mod local;
mod mapped;
mod maps;
mod next_symbols;
mod python;
mod rows;
mod sampled;
mod search;
mod stacks;
mod state;

/// In a copy of the process, which shares with it what allocations are counted in: nothing is counted any more.
pub fn forget_in_copy() {
    local::local().take();
}

pub use exact::{abandon, enter_child};
/// The calling thread ends.
pub fn end_thread() {
    exact::end_thread();
    sampled::end_thread();
}

pub use python::install as watch_python;
pub use search::look_for_the_unreachable;
pub use state::{begin, is_on, leave, look_for_allocator};
