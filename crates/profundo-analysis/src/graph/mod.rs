//! Questions on a heap: what holds what, and how much would go with it.
//!
//! All of them follow DevTools where it has an answer, so that a snapshot says the same in both.

mod alive;
mod dominators;

#[cfg(test)]
mod tests;

pub use alive::Alive;
pub use dominators::{Dominators, dominators};
