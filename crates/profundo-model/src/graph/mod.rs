//! A heap as a graph: objects, and who refers to whom.
//!
//! Who finds objects tells them to a [`Sink`] one at a time, in any order, so that a heap larger than
//! what is left of the memory can be told.

mod sink;

pub use sink::{EdgeKindId, Label, NameId, NodeId, NodeKindId, Sink};
