//! Recordings, by their numbers and by their files.

use std::ffi::OsStr;

use clap_complete::CompletionCandidate;
use clap_complete::engine::{PathCompleter, ValueCompleter};
use profundo_console::completing::starting_with;

use crate::recordings::{ENDING, Folder, newest_first};

/// The number of recordings that are offered as `@1`, `@2` ….
const NUMBERED: usize = 9;

/// Candidates: the recordings in their folder as `@1`, `@2` …, and files here.
pub fn recordings(current: &OsStr) -> Vec<CompletionCandidate> {
    let newest = newest_first(&Folder::here());
    let numbered = newest.iter().take(NUMBERED).enumerate().map(|(at, path)| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        CompletionCandidate::new(format!("@{}", at + 1)).help(Some(name.into_owned().into()))
    });
    let files = PathCompleter::file()
        .filter(|path| path.is_dir() || path.extension().is_some_and(|ending| ending == ENDING));
    starting_with(numbered, current)
        .chain(files.complete(current))
        .collect()
}
