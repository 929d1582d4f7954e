//! Errors of making or finding a session.

use std::io;
use std::path::PathBuf;

/// The reason why there is no session.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Neither place has room for the memory that is shared.
    #[error("no room for the session's shared memory in /dev/shm or {}: {source}", fallback.display())]
    NoRoom {
        /// The second place.
        fallback: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The process has another root directory, and no folder there takes the memory.
    #[error(
        "process {pid} cannot be entered: it has another root directory (a container), and no folder in there \
         takes the recording's memory (/dev/shm, /tmp, /run, /var/tmp): {source}"
    )]
    Elsewhere {
        /// The process.
        pid: u32,
        /// The system's error.
        source: io::Error,
    },
    /// A file of the session's directory failed.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The directory holds no session of ours.
    #[error("{} holds no session", .0.display())]
    NoSession(PathBuf),
    /// The command of that session still records.
    #[error("the session in {} is still being recorded", .0.display())]
    StillRecording(PathBuf),
}
