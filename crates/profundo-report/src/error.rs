//! The reasons why there is no report.

use std::io;
use std::path::PathBuf;

use profundo_analysis::{CallersError, UnknownChoice};

/// The reason why there is no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An option has no such value.
    #[error(transparent)]
    Choice(#[from] UnknownChoice),
    /// Only a tree has recursion to flatten.
    #[error("format {format} only knows recur off, not {recur}")]
    RecurWithoutTree {
        /// The format.
        format: &'static str,
        /// The setting that was asked for.
        recur: &'static str,
    },
    /// A row of the table of functions stands for many addresses.
    #[error("format functions always combines addresses")]
    FunctionsCombine,
    /// The noise floor is a factor.
    #[error("noisefloor {0} is not a number of at least 0")]
    NoiseFloor(f64),
    /// A question about callers was wrong.
    #[error(transparent)]
    Callers(#[from] CallersError),
    /// The file could not be made.
    #[error("cannot create {}", path.display())]
    Create {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// No object of a heap snapshot is of that type.
    #[error("no object is of type {name}{}", if near.is_empty() { String::new() } else { format!("; there are: {near}") })]
    NoType {
        /// The type that was asked for.
        name: String,
        /// Types whose names hold that word.
        near: String,
    },
    /// No object of a heap snapshot has that id.
    #[error("no object has the id {id}")]
    NoObject {
        /// The id that was asked for.
        id: String,
    },
    /// The text could not be written.
    #[error("write the report")]
    Write(#[from] io::Error),
}
