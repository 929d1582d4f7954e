//! Databases of HPCToolkit: a folder with `meta.db` and `profile.db` (version 4), or with
//! `experiment.xml` and files of single threads (versions 2 and 3, which `hpcprof` wrote until
//! 2022).
//!
//! The tree has functions, loops, lines and instructions, one inside the other or one called by the
//! other. A line is that of the function around it; loops and instructions have no frames of their
//! own.

mod database;
mod experiment;
mod metric;
mod place;
mod threads;

use crate::reader::{Reader, Table};

pub(crate) const DATABASE: Reader = Reader(&Table {
    name: "hpctoolkit",
    writers: "hpcprof (meta.db, with the files beside it)",
    is_start: database::is_start,
    fill: database::fill,
});

pub(crate) const EXPERIMENT: Reader = Reader(&Table {
    name: "hpctoolkit-xml",
    writers: "hpcprof until 2022 (experiment.xml)",
    is_start: experiment::is_start,
    fill: experiment::fill,
});

/// Reads a second file of a database, as any that it may be.
pub(crate) fn read_member(bytes: &[u8]) {
    database::read_member(bytes);
    threads::read_member(bytes);
}
