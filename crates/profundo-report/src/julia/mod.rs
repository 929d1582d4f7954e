//! The reports after Julia's Profile: a call tree, a flat table, a table of functions, and the
//! callers of a function. [`Report`] has the options of all of them.

mod callers;
mod flat;
mod functions;
mod json;
mod order;
mod printer;
mod report;
mod section;
mod table;
mod tree;

pub use report::Report;
