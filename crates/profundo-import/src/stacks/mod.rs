//! Stacks from files that have none: from callers and callees, and from indented text.

pub(crate) mod call_graph;
pub(crate) mod indented;
