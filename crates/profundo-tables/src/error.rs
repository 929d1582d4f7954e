//! Tables that cannot be made or written.

use std::io;

/// A table that cannot be made or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The report is no JSON.
    #[error("the report cannot be read as JSON")]
    Json(#[from] serde_json::Error),
    /// The report has no table of this name.
    #[error("the report has no table {name}; it has {choices}")]
    NoTable {
        /// The wanted name.
        name: String,
        /// The names of its tables.
        choices: String,
    },
    /// The report has no table at all.
    #[error("the report has no table with rows")]
    Nothing,
    /// The writer failed.
    #[error("cannot write the table")]
    Write(#[from] io::Error),
    /// CSV could not be written.
    #[error("cannot write the table as CSV")]
    Csv(#[from] csv::Error),
    /// Parquet could not be written.
    #[error("cannot write the table as Parquet")]
    Parquet(#[from] parquet::errors::ParquetError),
}
