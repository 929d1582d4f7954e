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

pub(crate) use merge::{close_again, pair_again};
pub(crate) use pages::Page;
pub(crate) use record::Sampled;

// What whoever reads another process's stacks does in the same way.
pub use chain::{code_head, copy_code};
pub use interpreter::{Ranges, start_of};
pub use merge::{Merge, close, entry_at, is_open, pair};
pub use name::tell_from as tell_thread_name;
pub use task::{Outermost, Task};

pub use interpreter::{Found, Interpreter, Interpreters, Range};
pub use pages::{PAGES, PageCache};
pub use record::MAX_PYTHON;
pub use table::{CodeEntry, CodeTable};
