//! A page of the interpreter's memory that a thread found mapped.

/// A page's number, and the cycle counter of the walk that found it mapped.
pub(crate) type Page = (u64, u64);
