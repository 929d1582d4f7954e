//! The interpreter's half of a sample.
//!
//! A thread that runs Python has two stacks: the machine's, where the interpreter's evaluation loop
//! stands, and the interpreter's own chain of frames. A sample takes both, and says for each run of
//! the loop which native frame it is. Code objects are copied when they are met for the first time:
//! at that instant one of their frames is alive, so they are too.
//!
//! Nothing of the interpreter's is called but the look at a thread-local pointer. Its memory is read
//! by plain loads, but only from pages that were seen to be mapped a moment ago: see [`PageCache`].

mod chain;
mod interpreter;
mod merge;
mod name;
mod pages;
pub(crate) mod record;
mod table;
mod task;

pub(crate) use merge::{Merge, pair_again};
pub(crate) use record::Sampled;

pub use interpreter::{Found, Interpreter, Interpreters, Range};
pub use pages::{PAGES, PageCache};
pub use record::MAX_PYTHON;
pub use table::{CodeEntry, CodeTable};
