//! Questions on a heap: what holds what, and how much would go with it.
//!
//! All of them follow DevTools where it has an answer, so that a snapshot says the same in both:
//! which references keep an object alive ([`Alive`]), what dominates it ([`dominators()`]), of which
//! type it is ([`Types`]), and how much a type retains ([`by_type()`]). Beyond that: the ways by which the
//! objects of a type are held ([`paths()`]), the texts that are there more than once ([`duplicates()`]),
//! whose a container of Python's is ([`Owners`]), the Python expression that leads to an object ([`expression()`]),
//! and what came and went between two snapshots ([`difference()`]).

mod alive;
mod biggest;
mod by_type;
mod difference;
mod dominators;
mod duplicates;
mod expression;
mod owners;
mod paths;
mod python;
mod types;

#[cfg(test)]
mod tests;

pub use alive::Alive;
pub use biggest::{Branch, biggest, tree};
pub use by_type::{TypeRow, by_type};
pub use difference::{Difference, TypeChange, difference, difference_by_owner};
pub use dominators::{Dominators, dominators};
pub use duplicates::{Duplicate, Duplicates, duplicates};
pub use expression::expression;
pub use owners::{OwnerId, Owners};
pub use paths::{Held, Paths, Step, Target, paths};
pub use types::{SplitTypes, TypeId, Types};
