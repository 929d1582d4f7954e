//! The names of things in a report: places in the code, the unit of weights, and signals; and the
//! source at a place.

pub(crate) mod label;
mod names;
pub(crate) mod origins;
pub(crate) mod signals;
pub(crate) mod source;
pub(crate) mod statements;
pub(crate) mod weighs;

pub use names::Names;
pub use source::SourceText;
