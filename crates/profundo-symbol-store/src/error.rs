//! The reasons why symbols cannot be kept or read.

use std::io;
use std::path::PathBuf;

/// Symbols that cannot be kept or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be read or written.
    #[error("cannot {verb} {path}")]
    File {
        /// The action.
        verb: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        source: io::Error,
    },
    /// A file is no program.
    #[error("{path} is no ELF file")]
    NotElf {
        /// The file.
        path: PathBuf,
    },
    /// A file cannot be found by its build id.
    #[error("{path} has no build id; link it with --build-id")]
    NoBuildId {
        /// The file.
        path: PathBuf,
    },
    /// A file has no names.
    #[error("{path} has no symbols: it is stripped")]
    NoSymbols {
        /// The file.
        path: PathBuf,
    },
    /// A file of the store is not what its name says.
    #[error("{path} in the store is damaged: {why}")]
    Damaged {
        /// The file.
        path: String,
        /// The fault.
        why: &'static str,
    },
    /// The store.
    #[error(transparent)]
    Store(#[from] profundo_store::Error),
}
