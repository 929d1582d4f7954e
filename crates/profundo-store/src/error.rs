//! The reasons why a store cannot be read or written.

use std::io;

/// A store that cannot be read or written, or a query that cannot be understood.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The query has a part that cannot be understood.
    #[error("the query {query} is not clear: {why}")]
    Query {
        /// The text as given.
        query: String,
        /// The part and what would be right.
        why: String,
    },
    /// The store cannot be reached, or refuses.
    #[error("cannot {verb} {path}")]
    Store {
        /// The action.
        verb: &'static str,
        /// The place.
        path: String,
        /// The reason.
        #[source]
        source: io::Error,
    },
    /// A file is gone: it was joined with others or is too old. A query begins anew then.
    #[error("{path} is not there any more")]
    Gone {
        /// The file.
        path: String,
    },
    /// A file is no Parquet file, or is damaged.
    #[error("{path} is damaged: {why}")]
    Damaged {
        /// The file.
        path: String,
        /// The reader's words.
        why: String,
    },
    /// A Parquet file lacks a column of its table.
    #[error("{path} is not a table of {table}: the column {column} {lacks}")]
    Foreign {
        /// The file.
        path: String,
        /// The table that it should be.
        table: &'static str,
        /// The column.
        column: &'static str,
        /// The fault.
        lacks: &'static str,
    },
    /// A file is of a version that did not exist yet.
    #[error("{path} is of version {version} of the store; this Profundo reads up to {known}")]
    Version {
        /// The file.
        path: String,
        /// Its version.
        version: String,
        /// The newest known one.
        known: u32,
    },
    /// A profile measures something that the store has no type for.
    #[error(
        "a store holds CPU time, waiting and allocated bytes, and this profile measures {what}"
    )]
    Kind {
        /// The measured quantity.
        what: String,
    },
    /// Parquet could not be written.
    #[error("cannot write Parquet")]
    Parquet(#[from] parquet::errors::ParquetError),
    /// Another process works on the same store.
    #[error("{path} is in use by another process")]
    InUse {
        /// The lock.
        path: String,
    },
    /// Machines that were asked for the sums give no answer.
    #[error("no answer from the cluster {address}: {why}")]
    Cluster {
        /// Its address.
        address: String,
        /// The reason.
        why: String,
    },
    /// Joining a stretch of the store found no definite end, because files came and went.
    #[error("the store changed {times} times while it was read")]
    Unsteady {
        /// The number of attempts.
        times: u32,
    },
}

impl Error {
    /// Whether a file is to blame, so that others can still be read.
    pub fn is_of_a_file(&self) -> bool {
        matches!(
            self,
            Self::Damaged { .. } | Self::Foreign { .. } | Self::Version { .. }
        )
    }

    /// Whether a later attempt may succeed: the store could not be reached.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Store { .. })
    }
}
