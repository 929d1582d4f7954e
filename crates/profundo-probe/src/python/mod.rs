//! The interpreter's half of a sample.
//!
//! A thread that runs Python has two stacks: the machine's, where the interpreter's evaluation loop
//! stands, and the interpreter's own chain of frames. A sample takes both, and records the native
//! frame of each run of the loop. A code object is copied at its first sample: at that instant one
//! of its frames is alive, so it is, too.
//!
//! Nothing of the interpreter is called but the function that reads a thread-local pointer. Its
//! memory is read by plain loads, but only from pages that were found mapped a moment ago: see
//! [`PageCache`].

mod chain;
mod interpreter;
mod merge;
mod met_pages;
mod name;
mod page;
mod pages;
pub(crate) mod record;
mod spans;
mod table;
mod task;
mod text;

pub(crate) use merge::{close_again, pair_again};
pub(crate) use page::Page;
pub(crate) use record::Sampled;

// The steps in common with a reader of another process's stacks.
pub use chain::{code_head, copy_code};
pub use interpreter::{Ranges, start_of};
pub use merge::{Merge, close, entry_at, is_open, pair};
pub use name::write_thread_name;
pub use task::{Outermost, Task};

pub use interpreter::{Found, Interpreter, Interpreters, Range};
pub use pages::{PAGES, PageCache};
pub use record::MAX_PYTHON;
pub use spans::{Places, SPANS, SpanPlaces, context as context_object, span_object};
pub use table::{CodeEntry, CodeTable};
