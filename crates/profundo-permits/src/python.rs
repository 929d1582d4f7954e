//! The interpreters on this machine, and which of them can be read. They are inspected, not run.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

use profundo_cpython::{Refusal, version};
use profundo_process::reading::version_in_file;

use super::gap::{Finding, Gap, Verdict};
use super::symbol_files::files_of;

const TOPIC: &str = "Python";

/// The reason why the stacks of an interpreter are not read.
pub fn why_not(refusal: Refusal) -> Cow<'static, str> {
    let why = match refusal {
        Refusal::Version => {
            return format!("its version is not one from {}", version::STACKS).into();
        }
        Refusal::FreeThreaded => "it is a free-threaded build",
        Refusal::Offsets => "it does not tell its own layout as its version should",
        Refusal::Symbol => "its symbols were removed",
        Refusal::Late => "it was loaded too late",
        Refusal::File => "its file cannot be opened",
    };
    why.into()
}

/// The finding about a process whose interpreter cannot be read.
pub fn unread(pid: u32, version: &str, refusal: Option<Refusal>) -> String {
    let why = refusal.map_or("nobody knows why".into(), why_not);
    let space = if version.is_empty() { "" } else { " " };
    format!(
        "process {pid}: the stacks of its Python{space}{version} are not read, but its native ones are: {why}"
    )
}

/// An interpreter's version, and why it cannot be read, if so.
type Found = (String, Option<Refusal>);

/// The interpreters on the path, and those of pyenv.
pub(super) fn check() -> Vec<Finding> {
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
        let text = format!("the stacks of {} are read", read.join(", "));
        found.push(Finding::works(TOPIC, text));
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

/// The library directory of the first interpreter that has one, as `/usr/lib/python3.12`.
pub fn first_library() -> Option<PathBuf> {
    executables().into_iter().find_map(|file| {
        let name = file.file_name()?;
        let library = file.parent()?.parent()?.join("lib").join(name);
        library.is_dir().then_some(library)
    })
}

/// The interpreter of a process.
pub(super) fn check_interpreter_of(pid: u32) -> Option<Finding> {
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

/// The numbers of a version, by which a list is sorted.
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
        .is_some_and(|rest| {
            rest.chars()
                .all(|letter| letter.is_ascii_digit() || letter == '.')
        })
}

/// The interpreter in an executable, or in the library that it loads.
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
