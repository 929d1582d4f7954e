//! The names in the recording that the command line is about: functions, files and threads, the
//! hottest first.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use clap_complete::CompletionCandidate;
use profundo_analysis::{Filter, Operation, Place, Selection, Shown, shares, totals};
use profundo_console::completing::starting_with;
use profundo_model::{Nanos, Profile};
use rustc_hash::FxHashSet;

use super::typed;
use crate::recordings::{is_meant_as_file, meant};

/// The largest recording, in bytes, that is read while the user types.
const LARGEST: u64 = 32 << 20;
/// The largest number of candidates.
const MOST: usize = 60;

/// Candidates: names of functions.
pub fn functions(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(profile) = profile() else {
        return Vec::new();
    };
    let names = hottest(&profile).filter_map(|place| match place {
        Place::Frame(frame) => Some(profile.strings.get(profile.frames.get(frame).function)),
        _ => None,
    });
    // A filter takes a part of a name, and the last one is what a shell can hold in a word.
    offer(
        names.map(|name| name.rsplit("::").next().unwrap_or(name)),
        current,
    )
}

/// Candidates: the names of transforms, and functions behind one of them.
pub fn transforms(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some((name, typed)) = current.to_str().and_then(|text| text.split_once(':')) else {
        let names = Operation::NAMES.iter();
        let names = names.map(|(name, operation)| match operation.has_expression() {
            Some(false) => CompletionCandidate::new(*name),
            _ => CompletionCandidate::new(format!("{name}:")),
        });
        return starting_with(names, current).collect();
    };
    let functions = functions(OsStr::new(typed)).into_iter();
    functions
        .map(|candidate| candidate.add_prefix(format!("{name}:")))
        .collect()
}

/// Candidates: names of source files.
pub fn files(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(profile) = profile() else {
        return Vec::new();
    };
    let paths = hottest(&profile).filter_map(|place| match place {
        Place::Frame(frame) => Some(profile.file_path(frame)),
        _ => None,
    });
    let names = paths.filter_map(|path| Path::new(path).file_name()?.to_str());
    offer(names, current)
}

/// Candidates: names of threads.
pub fn threads(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(profile) = profile() else {
        return Vec::new();
    };
    let selection = Selection::new(&profile, &Filter::default());
    let totals = totals(&profile, &selection);
    let threads = totals
        .threads
        .iter()
        .map(|row| profile.threads.get(row.thread).name);
    offer(threads.map(|name| profile.strings.get(name)), current)
}

/// Places, the hottest first.
fn hottest(profile: &Profile) -> impl Iterator<Item = Place> {
    let selection = Selection::new(profile, &Filter::default());
    let mut rows = shares(profile, &selection, Shown::default());
    rows.sort_by_key(|row| std::cmp::Reverse(row.total_amount.weight));
    rows.into_iter().map(|row| row.place)
}

/// Each name once, if it needs no quotes.
fn offer<'a>(names: impl Iterator<Item = &'a str>, current: &OsStr) -> Vec<CompletionCandidate> {
    let is_plain = |character: char| character.is_alphanumeric() || "_.-/+".contains(character);
    let mut known = FxHashSet::default();
    let names = names.filter(|name| !name.is_empty() && name.chars().all(is_plain));
    let once = names.filter(move |name| known.insert(*name));
    let candidates = once.map(CompletionCandidate::new);
    let ordered = starting_with(candidates, current).take(MOST).enumerate();
    ordered
        .map(|(at, candidate)| candidate.display_order(Some(at)))
        .collect()
}

/// The recording that the command line names, or the newest.
fn profile() -> Option<Profile> {
    let typed = typed();
    let named = typed.iter().skip(1).find(|word| is_meant_as_file(word));
    let path = meant(named.map(PathBuf::from).as_deref()).ok()?;
    let size = fs::metadata(&path).ok()?.len();
    if size > LARGEST {
        return None;
    }
    // Names that the recording lacks are not looked for, and nothing is said: the shell's line is
    // being typed.
    let (profile, _) = profundo_formats::gather_file(&path, Nanos(0)..Nanos(u64::MAX)).ok()?;
    Some(profile)
}
