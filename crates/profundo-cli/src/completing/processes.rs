//! Processes that may be looked at: the user's own, the newest first.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt as _;

use clap_complete::CompletionCandidate;

use super::recordings::starting_with;

/// So much of a command line is shown.
const LONGEST: usize = 60;

/// Processes with their command lines.
pub fn processes(current: &OsStr) -> Vec<CompletionCandidate> {
    let own = fs::metadata("/proc/self").map(|it| it.uid()).unwrap_or(0);
    let mut pids: Vec<u32> = (fs::read_dir("/proc").into_iter().flatten().flatten())
        .filter(|entry| own == 0 || entry.metadata().is_ok_and(|it| it.uid() == own))
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|&pid| pid != std::process::id())
        .collect();
    pids.sort_unstable_by(|a, b| b.cmp(a));
    let candidates = pids.into_iter().enumerate().filter_map(|(at, pid)| {
        let command = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        // The kernel's threads have none.
        let command = command.trim();
        let shown: String = command
            .chars()
            .filter(|it| !it.is_control())
            .take(LONGEST)
            .collect();
        let candidate = CompletionCandidate::new(pid.to_string()).display_order(Some(at));
        (!command.is_empty()).then(|| candidate.help(Some(shown.into())))
    });
    starting_with(candidates, current).collect()
}
