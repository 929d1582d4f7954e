//! What can keep a recorder from starting, and what would mend it.

use std::io;
use std::path::PathBuf;

/// Why nothing is recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no place for the memory that the program shares with us.
    #[error(
        "no room for the session's shared memory in /dev/shm or {}: {source}; \
         free some, or set TMPDIR to a directory that has 8 MB",
        fallback.display()
    )]
    NoRoom {
        /// Where it was tried last.
        fallback: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Something in the session's directory failed.
    #[error("{}: {source}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The engine that was asked for is refused.
    #[error("perf_event_open: {source}; {remedy}")]
    Perf {
        /// What the system said.
        source: io::Error,
        /// What would mend it.
        remedy: &'static str,
    },
    /// No such process, or one that may not be looked at.
    #[error("process {pid}: {source}")]
    Process {
        /// Which one.
        pid: u32,
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

/// What to do about a refused perf event.
pub(crate) fn perf_remedy(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => {
            "it is permitted by `sysctl kernel.perf_event_paranoid=2`, CAP_PERFMON, or a seccomp \
             profile that allows the call; the engine `cpu-timer` does without"
        }
        Some(libc::EMFILE | libc::ENFILE) => {
            "raise the limit of open files (`ulimit -n`), or use the engine `cpu-timer`"
        }
        Some(libc::ENOSYS) => "this kernel has no perf events; use the engine `cpu-timer`",
        _ => "the engine `cpu-timer` does without",
    }
}
