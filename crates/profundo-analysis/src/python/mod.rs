//!
//! Only the outline is read. Strings are emptied and comments are dropped, so no keyword or bracket within them counts.

mod statements;

pub use statements::{Statement, statements};
