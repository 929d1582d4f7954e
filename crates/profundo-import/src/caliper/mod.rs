//! Profiles of Caliper: its own `.cali` text, and the JSON of `json-split`.
//!
//! Both have a tree of nodes, each with an attribute and a value, and records that refer to nodes
//! and have numbers. Nested attributes (`function`, `loop`, `region`, …) make the path of a record.
//! Which numbers there are is up to the configuration: elapsed time by default, of a region alone
//! or with what it calls, and the number of its calls where that was asked for.

mod json;
mod metric;
mod records;
mod text;

use crate::reader::{Reader, Table};

pub(crate) const TEXT: Reader = Reader(&Table {
    name: "caliper",
    writers: "Caliper (.cali)",
    is_start: text::is_start,
    fill: text::fill,
});

pub(crate) const JSON: Reader = Reader(&Table {
    name: "caliper-json",
    writers: "Caliper's output.format=json-split",
    is_start: json::is_start,
    fill: json::fill,
});
