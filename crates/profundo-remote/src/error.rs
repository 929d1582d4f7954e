//! What can keep a recorder from starting, and what would mend it.

use std::io;
use std::path::PathBuf;

use crate::permits::Gap;

/// Why nothing is recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The machine does not permit it.
    #[error("{0}")]
    Refused(Gap),
    /// Something in the session's directory failed.
    #[error("{}: {source}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The directory holds no session of ours.
    #[error("{} holds no session", .0.display())]
    NoSession(PathBuf),
    /// The command of that session still records.
    #[error("the session in {} is still being recorded", .0.display())]
    StillRecording(PathBuf),
}
