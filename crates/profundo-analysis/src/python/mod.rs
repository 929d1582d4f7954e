//! The contents of a Python file, without an interpreter: its statements and their scopes.
//!
//! Only the outline is read. Strings are emptied and comments are dropped, so no keyword or bracket
//! within them counts.

mod scopes;
mod statements;

pub use scopes::Scopes;
pub use statements::{Statement, statements};
