//! Finds the recording that a word means: a file, the newest one where none is named, or `@2`, the
//! one before.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use profundo_console::output::is_foreign;
use profundo_formats::{Holds, begun_file, is_profundo, overview_file};

use crate::fleet;

use super::folder::{ENDING, Folder};

/// The file of a typed recording.
pub fn meant(typed: Option<&Path>) -> Result<PathBuf> {
    let number = match typed {
        None => 1,
        Some(path) if fleet::query(path).is_some() => return Ok(path.to_owned()),
        Some(path) => match number(path.as_os_str()) {
            Some(number) => number,
            None => return Ok(by_name(path).unwrap_or_else(|| path.to_owned())),
        },
    };
    let folder = Folder::here();
    let newest_first = newest_first(&folder);
    let shown = folder.path().display();
    match number
        .checked_sub(1)
        .and_then(|index| newest_first.get(index))
    {
        Some(path) => Ok(path.clone()),
        None if newest_first.is_empty() => {
            bail!("there are no recordings in {shown}; `profundo run CMD` makes one")
        }
        None => {
            let count = match newest_first.len() {
                1 => "is 1 recording".to_owned(),
                some => format!("are {some} recordings"),
            };
            bail!("there {count} in {shown}, and no @{number}; `profundo list` shows them")
        }
    }
}

/// A recording and the words that name it.
#[derive(Debug)]
pub struct Other {
    /// Its number, as `@2`.
    pub number: String,
    /// Its file's name, without the extension.
    pub name: String,
}

/// The newest recording that fulfils a condition.
pub fn newest_with(is_wanted: impl Fn(&Holds) -> bool) -> Option<Other> {
    let files = newest_first(&Folder::here());
    let has_it =
        |path: &PathBuf| overview_file(path).is_ok_and(|overview| is_wanted(&overview.holds));
    let at = files.iter().position(has_it)?;
    Some(Other {
        number: format!("@{}", at + 1),
        name: files[at].file_stem()?.to_string_lossy().into_owned(),
    })
}

/// The recordings of a folder, the latest first.
pub fn newest_first(folder: &Folder) -> Vec<PathBuf> {
    let mut files: Vec<(u64, PathBuf)> = (folder.files().into_iter())
        .filter_map(|path| Some((begun_file(&path)?, path)))
        .collect();
    files.sort_unstable_by(|a, b| b.cmp(a));
    files.into_iter().map(|(_, path)| path).collect()
}

/// A recording of the folder by its name, with or without the ending; or the newest one of a
/// program of that name. What is there as a file is that file.
fn by_name(typed: &Path) -> Option<PathBuf> {
    let is_there = typed.exists() && !is_foreign(typed, is_profundo);
    let is_bare = typed.components().count() == 1 && !is_there;
    let name = typed.to_str().filter(|_| is_bare)?;
    let files = newest_first(&Folder::here());
    let stem = |path: &PathBuf| path.file_stem().and_then(OsStr::to_str).map(str::to_owned);
    let wanted = name.strip_suffix(&format!(".{ENDING}")).unwrap_or(name);
    let is_it = |path: &&PathBuf| stem(path).is_some_and(|stem| stem == wanted);
    let begins = |path: &&PathBuf| stem(path).is_some_and(|stem| is_of_program(&stem, wanted));
    let found = files.iter().find(is_it);
    found.or_else(|| files.iter().find(begins)).cloned()
}

/// True if a recording's name is that of a program and a time. The day comes next: `app-2` is
/// another program than `app`.
fn is_of_program(stem: &str, program: &str) -> bool {
    let rest = stem
        .strip_prefix(program)
        .and_then(|rest| rest.strip_prefix('-'));
    let day = rest.and_then(|rest| rest.split('-').next());
    day.is_some_and(|day| day.len() == 8 && day.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The number in `@3`.
fn number(typed: &OsStr) -> Option<usize> {
    let digits = typed.to_str()?.strip_prefix('@')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(usize::MAX))
}

/// True if a word names a recording, and not something else that may stand beside one.
pub fn is_meant_as_file(word: &OsStr) -> bool {
    let path = Path::new(word);
    number(word).is_some()
        || fleet::query(path).is_some()
        || path.extension() == Some(OsStr::new(ENDING))
        || word.as_encoded_bytes().contains(&b'/')
        || path.is_file() && !is_foreign(path, is_profundo)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_known_by_its_whole_name() {
        assert!(is_of_program("app-20260304-0506", "app"));
        assert!(is_of_program("app-2-20260304-0506-3", "app-2"));
        assert!(!is_of_program("app-2-20260304-0506", "app"));
        assert!(!is_of_program("apple-20260304-0506", "app"));
        assert!(!is_of_program("app", "app"));
    }

    #[test]
    fn a_sign_and_a_number_are_no_file() {
        assert_eq!(number(OsStr::new("@1")), Some(1));
        assert_eq!(number(OsStr::new("@")), None);
        assert_eq!(number(OsStr::new("@app")), None);
        for file in ["@12", "a.profundo", "./lines"] {
            assert!(is_meant_as_file(OsStr::new(file)), "{file}");
        }
        assert!(!is_meant_as_file(OsStr::new("no-such-file")));
    }
}
