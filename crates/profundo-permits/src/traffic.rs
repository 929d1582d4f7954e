//! The kernel's counts of the bytes that a thread reads and writes, if it has them.

use std::fs::File;
use std::io;

use profundo_linux::io_counters::read as read_counters;

use super::gap::{Finding, Gap, Verdict, error_text};

/// The gap for counts of bytes that were refused with this error.
pub fn refused(error: &io::Error) -> Gap {
    let why = |rest: &str| {
        format!(
            "/proc/PID/task/TID/io cannot be read ({}): {rest}",
            error_text(error)
        )
    };
    match error.kind() {
        io::ErrorKind::NotFound => Gap::of(why(
            "this kernel does not count bytes (CONFIG_TASK_IO_ACCOUNTING is not set)",
        )),
        io::ErrorKind::PermissionDenied => Gap::advice(
            why("the process is another user's, or closed to its own"),
            "run profundo as root",
        ),
        _ => Gap::of(why("nobody knows why")),
    }
}

/// Tries it on this process.
pub(super) fn check() -> Finding {
    const TOPIC: &str = "I/O";
    match try_counts() {
        Ok(()) => Finding::works(
            TOPIC,
            "the kernel counts the bytes that each thread reads and writes (recorded with --wall)",
        ),
        Err(error) => Finding::gap(TOPIC, Verdict::Partly, refused(&error)),
    }
}

/// Reads the counts of this thread once: an error where there are none.
pub fn try_counts() -> io::Result<()> {
    File::open("/proc/thread-self/io").and_then(|file| read_counters(&file).map(drop))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_has_its_reason() {
        let of = |code| refused(&io::Error::from_raw_os_error(code));
        let missing = of(libc::ENOENT);
        assert!(
            missing.why.contains("CONFIG_TASK_IO_ACCOUNTING"),
            "{missing}"
        );
        assert_eq!(missing.mend, None);
        for code in [libc::EACCES, libc::EPERM] {
            let closed = of(code);
            assert!(
                closed.to_string().ends_with("; run profundo as root"),
                "{closed}"
            );
        }
        assert_ne!(of(libc::EMFILE).why, missing.why);
    }
}
