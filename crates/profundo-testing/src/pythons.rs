//! The CPythons of this machine: those that pyenv has installed, the system's, and those that the
//! environment names.

use std::env;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::skip;

/// A version, as `(3, 12)`.
pub type Version = (u32, u32);

/// The supported versions.
const SUPPORTED: Range<Version> = (3, 8)..(3, 16);

/// A CPython that runs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Python {
    /// The version.
    pub version: Version,
    /// Its executable.
    pub path: PathBuf,
}

impl Python {
    /// The interpreter at a path, if it is one that is supported.
    pub fn at(path: impl Into<PathBuf>) -> Option<Self> {
        let path = path.into();
        let question = "import sys; print(sys.implementation.name, *sys.version_info[:2])";
        let output = Command::new(&path).args(["-c", question]).output().ok()?;
        let answer = String::from_utf8_lossy(&output.stdout).into_owned();
        let words: Vec<&str> = answer.split_whitespace().collect();
        let &["cpython", major, minor] = &words[..] else {
            return None;
        };
        let version = (major.parse().ok()?, minor.parse().ok()?);
        SUPPORTED
            .contains(&version)
            .then_some(Self { version, path })
    }

    /// True if code objects know columns.
    pub fn has_columns(&self) -> bool {
        self.version >= (3, 11)
    }

    /// True if it was built with CPython's own assertions, where parts of the evaluation loop are
    /// functions of their own.
    pub fn is_debug(&self) -> bool {
        self.answers("hasattr(sys, 'gettotalrefcount')")
    }

    /// True if one thread at a time runs Python, which a free-threaded build does not want.
    pub fn has_lock(&self) -> bool {
        self.answers("getattr(sys, '_is_gil_enabled', lambda: True)()")
    }

    /// True if an expression is true in the interpreter, which has imported `sys`.
    pub fn answers(&self, expression: &str) -> bool {
        let question = format!("import sys; sys.exit(not ({expression}))");
        let mut command = Command::new(&self.path);
        command.args(["-c", &question]);
        command.output().is_ok_and(|output| output.status.success())
    }

    /// True if the interpreter can import a module.
    pub fn has(&self, module: &str) -> bool {
        self.answers(&format!("__import__('{module}')"))
    }
}

/// Every CPython from 3.8 to 3.15 that is present, oldest first: pyenv's, the system's and the one
/// that `PROFUNDO_PYTHON_314` names; or, in place of all of them, those that `PROFUNDO_E2E_PYTHONS`
/// names, with colons between.
pub fn pythons() -> &'static [Python] {
    static PRESENT: OnceLock<Vec<Python>> = OnceLock::new();
    PRESENT.get_or_init(|| {
        let mut present: Vec<Python> = candidates().into_iter().filter_map(Python::at).collect();
        present.sort();
        present
    })
}

fn candidates() -> Vec<PathBuf> {
    if let Some(named) = env::var_os("PROFUNDO_E2E_PYTHONS") {
        return env::split_paths(&named).collect();
    }
    let pyenv = pyenv_folders().into_iter();
    let mut found: Vec<PathBuf> = pyenv
        .map(|(_, folder)| folder.join("bin/python3"))
        .collect();
    found.extend(env::var_os("PROFUNDO_PYTHON_314").map(PathBuf::from));
    found.extend((8..=20).map(|minor| format!("/usr/bin/python3.{minor}").into()));
    found.retain(|path| path.exists());
    found
}

/// The Pythons that one test is run on: [`choose`] among all that are present.
pub fn pythons_for(test: &str) -> Vec<Python> {
    choose(pythons(), test)
}

/// The Pythons, of these, that one test is run on. All of them would take too long for every day.
/// So each test has one, chosen by the test's name, and all tests together have every version.
/// Where [`wants_all_pythons`], each test has all of them.
pub fn choose<T: Clone>(present: &[T], test: &str) -> Vec<T> {
    if present.is_empty() {
        skip("there is no CPython from 3.8 to 3.15");
        return Vec::new();
    }
    if wants_all_pythons() {
        return present.to_vec();
    }
    let number: usize = test.bytes().map(usize::from).sum();
    vec![present[number % present.len()].clone()]
}

/// True if each test is to be run on every Python: `PROFUNDO_E2E_ALL` is in the environment, as
/// `cargo xtask test --long` sets it.
pub fn wants_all_pythons() -> bool {
    env::var_os("PROFUNDO_E2E_ALL").is_some()
}

/// The Python that a test uses that needs any: pyenv's 3.12, or else the newest; `None`, and
/// skipped, where there is none.
#[track_caller]
pub fn python() -> Option<PathBuf> {
    let present = pythons();
    let usual = present.iter().find(|python| python.version == (3, 12));
    let found = usual.or(present.last()).map(|python| python.path.clone());
    if found.is_none() {
        skip("there is no Python");
    }
    found
}

/// The folders of the versions that pyenv has installed, oldest first, those that are not supported
/// among them.
pub fn pyenv_folders() -> Vec<(Version, PathBuf)> {
    let home = env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let versions = fs::read_dir(home.join(".pyenv/versions"));
    let folders = versions.into_iter().flatten().flatten();
    let mut found: Vec<(Version, PathBuf)> = folders
        .filter_map(|entry| Some((version_of(&entry.path())?, entry.path())))
        .collect();
    found.sort();
    found
}

/// The 3 and the 8 of a folder `3.8.18`; no version, where it is not CPython's.
fn version_of(folder: &Path) -> Option<Version> {
    let name = folder.file_name()?.to_str()?;
    let mut numbers = name.split('.').map(|part| part.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_the_names_of_folders() {
        let of = |name| version_of(Path::new("/home/u/.pyenv/versions").join(name).as_path());
        assert_eq!(of("3.8.18"), Some((3, 8)));
        assert_eq!(of("3.13.0t"), Some((3, 13)));
        assert_eq!(of("2.7.18"), Some((2, 7)));
        assert_eq!(of("pypy3.9-7.3.9"), None);
        assert!(of("3.9.1") < of("3.10.1"));
    }

    #[test]
    fn every_python_is_what_it_says() {
        for python in pythons() {
            assert!(SUPPORTED.contains(&python.version), "{python:?}");
            assert!(python.has("sys") && !python.has("no_such_module"));
        }
        assert!(pythons().is_sorted());
    }
}
