//! Recordings, by their numbers and by their files.

use std::ffi::OsStr;

use clap::ValueEnum;
use clap_complete::CompletionCandidate;
use clap_complete::engine::{PathCompleter, ValueCompleter};

use super::names::functions;
use super::typed;
use crate::options::What;
use crate::recordings::{ENDING, Folder, newest_first};

/// So many have a number that is offered.
const NUMBERED: usize = 9;

/// Those in the folder of recordings as `@1`, `@2` …, and files here.
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

/// What may stand behind `report`: a recording, the name of a report, or the function that it is about.
pub fn report_words(current: &OsStr) -> Vec<CompletionCandidate> {
    let typed = typed();
    let mut what = typed
        .iter()
        .filter_map(|word| What::from_str(word.to_str()?, false).ok());
    let mut words = Vec::new();
    match what.next_back() {
        Some(what) if what.wants_name() => words.extend(functions(current)),
        Some(_) => {}
        None => {
            let names = What::value_variants()
                .iter()
                .filter_map(ValueEnum::to_possible_value);
            let names = names
                .filter(|it| !it.is_hide_set())
                .map(|it| CompletionCandidate::new(it.get_name()).help(it.get_help().cloned()));
            words.extend(starting_with(names, current));
        }
    }
    words.extend(recordings(current));
    words
}

/// Those that begin with what was typed of the word.
pub(super) fn starting_with(
    candidates: impl Iterator<Item = CompletionCandidate>,
    current: &OsStr,
) -> impl Iterator<Item = CompletionCandidate> {
    let start = current.as_encoded_bytes();
    candidates.filter(move |it| it.get_value().as_encoded_bytes().starts_with(start))
}
