//! The qualified names of Python functions, from the text of their files. CPython before 3.11 keeps
//! only bare names.

use std::fs;
use std::path::Path;

use profundo_analysis::python::Scopes;
use profundo_ingest::QualifiedNames;
use rustc_hash::FxHashMap;

/// Larger files are taken for data.
const LARGEST_FILE: u64 = 8 << 20;
/// The number of files whose functions are kept.
const MOST_FILES: usize = 10_000;

/// Reads each file once. A file that was replaced has no function of this name on the line, or the
/// same one.
pub fn by_source() -> QualifiedNames {
    let mut files: FxHashMap<String, Option<Scopes>> = FxHashMap::default();
    Box::new(move |path, name, line| {
        if name == "<module>" || path.starts_with('<') {
            return None;
        }
        if files.len() > MOST_FILES {
            files.clear();
        }
        let scopes = match files.get(path) {
            Some(scopes) => scopes,
            None => files
                .entry(path.to_owned())
                .or_insert(read(Path::new(path))),
        };
        scopes.as_ref()?.qualified(name, line)
    })
}

fn read(path: &Path) -> Option<Scopes> {
    let metadata = fs::metadata(path).ok()?;
    if !metadata.is_file() || metadata.len() > LARGEST_FILE {
        return None;
    }
    let bytes = fs::read(path).ok()?;
    Some(Scopes::new(&String::from_utf8_lossy(&bytes)))
}
