//! Functions that Cython has compiled to C: their names and lines are those of the `.pyx` file.
//!
//! A comment before the C code of each line names it (`/* "app.pyx":12`), so the module's build
//! needs no option. Only code that was inlined from elsewhere keeps the lines of C.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustc_hash::FxHashMap;

/// The prefixes of the program's functions and methods; the rest is Cython's own.
const FUNCTIONS: [&str; 2] = ["__pyx_pf_", "__pyx_f_"];
/// The largest file that is read.
const LARGEST: u64 = 64 << 20;

/// A line of a `.pyx` file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PyxLine {
    pub(crate) file: String,
    pub(crate) line: u32,
}

/// The C files of one module.
#[derive(Debug, Default)]
pub(crate) struct Cython {
    /// For each file, the lines from which on a line of a `.pyx` file is at work.
    files: FxHashMap<String, BTreeMap<u32, PyxLine>>,
    /// The time when the module was built. A newer file is another one.
    built: Option<SystemTime>,
}

impl Cython {
    /// The C files of the module at `path`.
    pub(crate) fn of(path: &Path) -> Self {
        let built = fs::metadata(path).and_then(|data| data.modified());
        Self {
            files: FxHashMap::default(),
            built: built.ok(),
        }
    }

    /// The line of the `.pyx` file for a line of the C code.
    pub(crate) fn line(&mut self, file: &str, line: u32) -> Option<PyxLine> {
        if !self.files.contains_key(file) {
            let lines = self.read(Path::new(file)).unwrap_or_default();
            self.files.insert(file.to_owned(), lines);
        }
        let (_, found) = self.files.get(file)?.range(..=line).next_back()?;
        Some(found.clone())
    }

    fn read(&self, path: &Path) -> Option<BTreeMap<u32, PyxLine>> {
        let data = fs::metadata(path).ok()?;
        if !data.is_file() || data.len() > LARGEST || data.modified().ok()? > self.built? {
            return None;
        }
        let bytes = fs::read(path).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let mut folders: FxHashMap<String, Option<PathBuf>> = FxHashMap::default();
        let mut found = BTreeMap::new();
        for (number, line) in (1..).zip(text.lines()) {
            let Some((name, line)) = comment(line) else {
                continue;
            };
            let full = folders
                .entry(name.to_owned())
                .or_insert_with(|| place(path, name));
            let file = full.as_deref().unwrap_or(Path::new(name));
            let file = file.to_string_lossy().into_owned();
            found.insert(number, PyxLine { file, line });
        }
        Some(found)
    }
}

/// The file and line of a comment of Cython's.
fn comment(line: &str) -> Option<(&str, u32)> {
    let rest = line.trim_start().strip_prefix("/* \"")?;
    let (name, number) = rest.split_once("\":")?;
    Some((name, number.trim_end().parse().ok()?))
}

/// The path of a file that the C file names relative to Cython's working directory.
fn place(c_file: &Path, name: &str) -> Option<PathBuf> {
    let mut folders = c_file.parent()?.ancestors();
    folders.find_map(|folder| Some(folder.join(name)).filter(|path| path.is_file()))
}

/// The name of a function in the `.pyx` file: `__pyx_pf_4fast_3Box_2sum` is `fast.Box.sum`.
pub(crate) fn name(function: &str) -> Option<String> {
    let mut rest = FUNCTIONS
        .iter()
        .find_map(|prefix| function.strip_prefix(prefix))?;
    let mut parts = Vec::new();
    while let Some((part, after)) = component(rest) {
        parts.push(part);
        rest = after;
    }
    // A number distinguishes methods of one name.
    let last = rest.trim_start_matches(|letter: char| letter.is_ascii_digit());
    if parts.is_empty() || last.is_empty() {
        return None;
    }
    parts.push(last);
    Some(parts.join("."))
}

/// A name with its length before it, and what follows it after an underscore.
fn component(text: &str) -> Option<(&str, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let length: usize = text[..digits].parse().ok()?;
    let (part, after) = text[digits..].split_at_checked(length)?;
    let after = after.strip_prefix('_')?;
    (!part.is_empty() && !after.is_empty()).then_some((part, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mangled_name_has_its_parts() {
        let check = |function: &str, expected| assert_eq!(name(function).as_deref(), expected);
        check("__pyx_pf_4fast_total", Some("fast.total"));
        check("__pyx_pf_4fast_3Box_2sum", Some("fast.Box.sum"));
        check("__pyx_pf_4fast_4Fast_2__init__", Some("fast.Fast.__init__"));
        check("__pyx_f_3pkg_4fast_helper", Some("pkg.fast.helper"));
        check("__pyx_pw_4fast_1total", None);
        check("__Pyx_AddTraceback", None);
        check("main", None);
    }

    #[test]
    fn a_comment_names_a_line() {
        assert_eq!(comment("    /* \"a/b.pyx\":12"), Some(("a/b.pyx", 12)));
        assert_eq!(comment("/* \"Cython\" */"), None);
        assert_eq!(comment("x = 1;"), None);
    }
}
