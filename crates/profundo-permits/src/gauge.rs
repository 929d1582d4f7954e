//! Whether the kernel reports a process's memory.

use std::io;

use profundo_linux::memory::{MemoryReader, shared_bytes};

use super::gap::{Finding, Gap, Verdict, error_text};

/// The gap for a file of a process's memory that was refused with this error.
pub fn refused(file: &str, error: &io::Error) -> Gap {
    let what = match file {
        SHARES | "smaps" => "what processes share of their memory is not known",
        _ => "the memory of a process is not looked at",
    };
    let why = |rest: &str| {
        let error = error_text(error);
        format!("{what}: /proc/PID/{file} cannot be read ({error}): {rest}")
    };
    match error.kind() {
        io::ErrorKind::NotFound => Gap::of(why(
            "this kernel does not have it (Linux 4.14 does, with CONFIG_PROC_PAGE_MONITOR)",
        )),
        io::ErrorKind::PermissionDenied => Gap::advice(
            why("the process is another user's, or closed to its own"),
            "run profundo as root",
        ),
        _ => Gap::of(why("nobody knows why")),
    }
}

/// The file with the proportional share.
const SHARES: &str = "smaps_rollup";

/// Tries it on this process.
pub(super) fn check() -> Finding {
    const TOPIC: &str = "--memory";
    let this_process = std::process::id();
    if let Err(error) = MemoryReader::new(this_process).read_sizes(false) {
        return Finding::gap(TOPIC, Verdict::Fails, refused("status", &error));
    }
    match shared_bytes(this_process) {
        Ok(_) => Finding::works(
            TOPIC,
            "the kernel tells what processes have in memory, with their part of what they share (recorded \
             with --memory)",
        ),
        Err(error) => Finding::gap(TOPIC, Verdict::Partly, refused(SHARES, &error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_has_its_reason() {
        let of = |file, code| refused(file, &io::Error::from_raw_os_error(code));
        let missing = of(SHARES, libc::ENOENT);
        assert!(
            missing.why.contains("CONFIG_PROC_PAGE_MONITOR"),
            "{missing}"
        );
        assert_eq!(missing.mend, None);
        let closed = of("status", libc::EACCES).to_string();
        assert!(closed.starts_with("the memory of a process"), "{closed}");
        assert!(closed.ends_with("; run profundo as root"), "{closed}");
        assert_ne!(of(SHARES, libc::EMFILE).why, missing.why);
    }
}
