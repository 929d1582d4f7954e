//! Which interpreters there are, and which of them are read. They are looked at, not run.

use std::fs;
use std::path::{Path, PathBuf};

use profundo_cpython::Refusal;

use super::gap::{Finding, Gap, Verdict};
use super::target::files_of;
use crate::reading::version_in_file;

const TOPIC: &str = "Python";

/// Why the stacks of an interpreter are not read.
pub(crate) fn why_not(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::Version => "its version is not one from 3.8 to 3.14",
        Refusal::FreeThreaded => "it is a build without the global lock",
        Refusal::Offsets => "it does not tell its own layout as its version should",
        Refusal::Symbol => "its symbols were removed",
        Refusal::Late => "it was loaded too late",
        Refusal::File => "its file cannot be opened",
    }
}

/// What is said of a process whose interpreter's stacks are not read.
pub(crate) fn unread(pid: u32, version: &str, refusal: Option<Refusal>) -> String {
    let why = refusal.map_or("nobody knows why", why_not);
    let space = if version.is_empty() { "" } else { " " };
    format!(
        "process {pid}: the stacks of its Python{space}{version} are not read, but its native ones are: {why}"
    )
}

/// An interpreter, and why it is not read if it is not.
type Found = (String, Option<Refusal>);

/// Those that can be typed, and those of pyenv.
pub(super) fn look() -> Vec<Finding> {
    let mut read: Vec<String> = Vec::new();
    let mut unread: Vec<(String, PathBuf, Refusal)> = Vec::new();
    for file in executables() {
        match in_executable(&file) {
            Some((version, None)) => read.push(version),
            Some((version, Some(refusal))) => unread.push((version, file, refusal)),
            None => {}
        }
    }
    read.sort_by_key(|version| numbers(version));
    read.dedup();
    let mut found = Vec::new();
    if !read.is_empty() {
        let says = format!("the stacks of {} are read", read.join(", "));
        found.push(Finding::works(TOPIC, says));
    }
    for (version, file, refusal) in unread {
        let why = format!(
            "{version} ({}): its native stacks alone are read: {}",
            file.display(),
            why_not(refusal)
        );
        found.push(Finding::gap(TOPIC, Verdict::Partly, Gap::of(why)));
    }
    if found.is_empty() {
        found.push(Finding::fact(TOPIC, "no interpreter was found in PATH"));
    }
    found
}

/// The library of the first interpreter that has one beside it, as `/usr/lib/python3.12`.
pub fn first_library() -> Option<PathBuf> {
    executables().into_iter().find_map(|file| {
        let name = file.file_name()?;
        let library = file.parent()?.parent()?.join("lib").join(name);
        library.is_dir().then_some(library)
    })
}

/// The interpreter of a process.
pub(super) fn look_in(pid: u32) -> Option<Finding> {
    let files = files_of(pid);
    let inside = |path: &PathBuf| {
        let below_root = path.strip_prefix("/").unwrap_or(path);
        let path = Path::new("/proc")
            .join(format!("{pid}/root"))
            .join(below_root);
        version_in_file(&path)
    };
    let (version, refusal) = files.iter().find_map(inside)?;
    Some(match refusal {
        None => Finding::works(TOPIC, format!("{version}, whose stacks are read")),
        Some(refusal) => {
            let why = format!(
                "{version}: its native stacks alone are read: {}",
                why_not(refusal)
            );
            Finding::gap(TOPIC, Verdict::Partly, Gap::of(why))
        }
    })
}

/// The numbers of a version, for its place in a list.
fn numbers(version: &str) -> Vec<u32> {
    let parts = version.split(|letter: char| !letter.is_ascii_digit());
    parts.filter_map(|part| part.parse().ok()).collect()
}

fn executables() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.extend(["/usr/bin", "/usr/local/bin"].map(PathBuf::from));
    if let Some(home) = std::env::var_os("HOME") {
        let versions = fs::read_dir(Path::new(&home).join(".pyenv/versions"));
        let versions = versions.into_iter().flatten().flatten();
        folders.extend(versions.map(|entry| entry.path().join("bin")));
    }
    let mut found: Vec<PathBuf> = Vec::new();
    for folder in folders {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let is_one = name.to_str().is_some_and(is_interpreter);
            // Many names are links to one file.
            if is_one
                && let Ok(file) = entry.path().canonicalize()
                && !found.contains(&file)
            {
                found.push(file);
            }
        }
    }
    found
}

/// `python`, `python3`, `python3.12`, `python3.13t`.
fn is_interpreter(name: &str) -> bool {
    name.strip_prefix("python")
        .map(|rest| rest.strip_suffix('t').unwrap_or(rest))
        .is_some_and(|rest| rest.chars().all(|it| it.is_ascii_digit() || it == '.'))
}

/// What an executable is, or the library that it is made of.
fn in_executable(file: &Path) -> Option<Found> {
    version_in_file(file).or_else(|| {
        let name = file.file_name()?.to_str()?;
        let wanted = format!("lib{name}");
        let beside = file.parent()?.parent()?.join("lib");
        let system = [
            "/usr/lib/x86_64-linux-gnu",
            "/usr/lib/aarch64-linux-gnu",
            "/usr/lib64",
            "/usr/lib",
        ];
        let folders = std::iter::once(beside).chain(system.map(PathBuf::from));
        let mut libraries = folders.flat_map(|folder| {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(|entry| entry.path())
        });
        libraries.find_map(|path| {
            let name = path.file_name()?.to_str()?;
            let is_its = name.strip_prefix(&wanted)?.starts_with(".so");
            is_its.then(|| version_in_file(&path))?
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpreters_are_known_by_their_names() {
        for name in ["python", "python3", "python3.12", "python3.13t"] {
            assert!(is_interpreter(name), "{name}");
        }
        for name in ["python3-config", "python3.12-gdb.py", "pythonw", "ipython"] {
            assert!(!is_interpreter(name), "{name}");
        }
        let mut versions = ["3.10.1", "3.9.18", "3.12.1"];
        versions.sort_by_key(|version| numbers(version));
        assert_eq!(versions, ["3.9.18", "3.10.1", "3.12.1"]);
    }
}
