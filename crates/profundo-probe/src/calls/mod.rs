//! Counting calls: a tree of them in a file, and for each thread where in it the thread is.
//!
//! Everything in here is called with the interpreter's lock held, or by the one thread that a tree is for, so that there is one
//! caller at a time. What is asked for
//! most often is kept nearest: each node remembers the child that was called last, a table knows all others, and only a
//! function that was never met before in that place takes any time.

mod index;
mod lines;
mod native;
mod pile;
mod stack;
mod tree;

#[cfg(test)]
mod tests;

pub use lines::{Looked, Run};
pub use pile::Pile;
pub use stack::{Open, Stack};
pub use tree::{Described, Memory, Tree};
