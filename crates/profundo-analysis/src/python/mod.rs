//! What the text of a Python file says, without an interpreter: its statements, and the scopes that they are in.
//!
//! Only the outline is read. Strings are emptied and comments are dropped, so no keyword or bracket within them counts.

mod scopes;
mod statements;

pub use scopes::Scopes;
pub use statements::{Statement, statements};
