//! The reasons why addresses have no names, or poorer ones than they could have. They are not
//! errors: naming goes on, and the reports list them.

use std::io;
use std::path::PathBuf;

/// A problem of a module's names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The module's file cannot be opened.
    #[error("cannot open {}: {kind}", path.display())]
    FileGone {
        /// The file that was tried.
        path: PathBuf,
        /// The system's error.
        kind: io::ErrorKind,
    },
    /// The file is not an ELF file, or its headers are damaged.
    #[error("{} is not a readable ELF file: {reason}", path.display())]
    NotElf {
        /// The file.
        path: PathBuf,
        /// The parser's message.
        reason: String,
    },
    /// The file at the module's path is not the one that ran; its names would be wrong.
    #[error("{}: build id differs, the file was replaced since", path.display())]
    BuildIdDiffers {
        /// The file.
        path: PathBuf,
        /// The build id found there, empty where there is none.
        found: Vec<u8>,
    },
    /// There is no debug information: functions have names, but no source lines.
    #[error("no debug info")]
    NoDebugInfo,
    /// There are no symbols either.
    #[error("no symbols")]
    NoSymbols,
    /// The file names a separate debug file that was not found or does not match.
    #[error("separate debug file {name} not found")]
    DebugFileMissing {
        /// Its name in the file.
        name: String,
    },
    /// The supplementary debug file, which many files share, was not found.
    #[error("supplementary debug file {name} not found")]
    SupplementMissing {
        /// Its name in the file.
        name: String,
    },
    /// Split debug files were not found: inlined functions are missing there.
    #[error("{count} split debug files not found, the first: {}", first.display())]
    SplitFilesMissing {
        /// The number of missing files.
        count: usize,
        /// The first of them.
        first: PathBuf,
    },
    /// Debug information could not be read.
    #[error("damaged debug info: {reason}")]
    Damaged {
        /// The parser's message.
        reason: String,
    },
}
