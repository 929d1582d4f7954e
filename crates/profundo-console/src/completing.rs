//! Process ids that a shell completes: the user's own processes, the newest first.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt as _;

use clap_complete::CompletionCandidate;

/// The shown length of a command line.
const LONGEST: usize = 60;

/// Processes with their command lines.
pub fn processes(current: &OsStr) -> Vec<CompletionCandidate> {
    let own_uid = fs::metadata("/proc/self")
        .map(|file| file.uid())
        .unwrap_or(0);
    let mut pids: Vec<u32> = (fs::read_dir("/proc").into_iter().flatten().flatten())
        .filter(|entry| own_uid == 0 || entry.metadata().is_ok_and(|file| file.uid() == own_uid))
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|&pid| pid != std::process::id())
        .collect();
    pids.sort_unstable_by(|a, b| b.cmp(a));
    let candidates = pids.into_iter().enumerate().filter_map(|(at, pid)| {
        let command = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        // Kernel threads have none.
        let command = command.trim();
        let shown: String = command
            .chars()
            .filter(|character| !character.is_control())
            .take(LONGEST)
            .collect();
        let candidate = CompletionCandidate::new(pid.to_string()).display_order(Some(at));
        (!command.is_empty()).then(|| candidate.help(Some(shown.into())))
    });
    starting_with(candidates, current).collect()
}

/// The candidates that begin with the typed part of the word.
pub fn starting_with(
    candidates: impl Iterator<Item = CompletionCandidate>,
    current: &OsStr,
) -> impl Iterator<Item = CompletionCandidate> {
    let start = current.as_encoded_bytes();
    candidates.filter(move |candidate| candidate.get_value().as_encoded_bytes().starts_with(start))
}
