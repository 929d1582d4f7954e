//! Questions about a heap: what holds what, and how much would go with it.
//!
//! All of them follow DevTools where it has an answer, so that a snapshot gives the same in both:
//! the references that keep an object alive ([`Alive`]), its dominator ([`dominators()`]), its type
//! ([`Types`]), and the bytes that a type retains ([`by_type()`]). Beyond that: the paths by which
//! the objects of a type are held ([`paths()`]), the texts with several copies ([`duplicates()`]),
//! the owner of a Python container ([`Owners`]), the Python expression for an object
//! ([`expression()`]), and the changes between two snapshots ([`difference()`]).

mod alive;
mod below;
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
pub use below::below;
pub use biggest::{Branch, biggest, tree};
pub use by_type::{TypeRow, by_type};
pub use difference::{Difference, TypeChange, difference, difference_by_owner};
pub use dominators::{Dominators, dominators};
pub use duplicates::{Duplicate, Duplicates, duplicates};
pub use expression::expression;
pub use owners::{OwnerId, Owners};
pub use paths::{Held, Paths, Step, Target, paths};
pub use types::{SplitTypes, TypeId, Types};
