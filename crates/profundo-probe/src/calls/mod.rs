//! Counting calls: a tree of them in a file, and the place of each thread in it.
//!
//! Everything in here is called with the interpreter's lock held, or by the only thread of a tree,
//! so that there is one caller at a time. The most frequent lookup is the fastest: each node
//! remembers the child that was called last, a table knows all others, and only a function that is
//! new in its place takes time.

mod exceptions;
mod index;
mod lines;
mod native;
mod pile;
mod stack;
mod tree;

#[cfg(test)]
mod tests;

pub use exceptions::{Course, End, Site};
pub use lines::{LineTracing, Run};
pub use native::EndlessCall;
pub use pile::Pile;
pub use stack::{Open, Stack};
pub use tree::{Described, Memory, Tree};
