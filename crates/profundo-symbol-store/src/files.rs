//! Files of symbols in a store.

use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use object::{Object, ObjectSection, ObjectSymbol};
use profundo_store::Store;

use crate::Error;

/// The folder of a store.
pub(crate) const FOLDER: &str = "symbols/";
/// The shortest and the longest build id that linkers write, in digits.
const DIGITS: std::ops::RangeInclusive<usize> = 8..=128;

/// A file of symbols in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// The build id, in hexadecimal digits.
    pub build_id: String,
    /// The name of the program or library.
    pub name: String,
    /// Its bytes as they lie in the store, packed.
    pub size: u64,
    /// Its path in the store.
    pub path: String,
}

/// What came of adding a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Added {
    /// The file.
    pub file: File,
    /// Whether the store had it before.
    pub was_there: bool,
    /// Whether it has files and lines, and not only the names of functions.
    pub has_lines: bool,
}

/// Puts the symbols of a program or library into a store.
pub fn add(store: &dyn Store, path: &Path) -> Result<Added, Error> {
    let failed = |source| Error::File {
        verb: "read",
        path: path.to_owned(),
        source,
    };
    let bytes = std::fs::read(path).map_err(failed)?;
    let (build_id, has_lines) = facts(&bytes, path)?;
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let name = plain(&name.unwrap_or_default());
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(&bytes).map_err(failed)?;
    let packed = packed.finish().map_err(failed)?;
    let place = format!("{FOLDER}{build_id}/{name}.gz");
    // Two files of one build id may be a program and its debug file; they have two names.
    let was_there = !store.put_new(&place, &packed)?;
    Ok(Added {
        file: File {
            build_id,
            name,
            size: packed.len() as u64,
            path: place,
        },
        was_there,
        has_lines,
    })
}

/// The files of symbols in a store, by name.
pub fn list(store: &dyn Store) -> Result<Vec<File>, Error> {
    let mut files: Vec<File> = (store.list(FOLDER)?.into_iter())
        .filter_map(|entry| file_of(&entry.path, entry.size))
        .collect();
    files.sort_by(|one, other| (&one.name, &one.build_id).cmp(&(&other.name, &other.build_id)));
    Ok(files)
}

/// The file of symbols with this path, if it is one.
pub(crate) fn file_of(path: &str, size: u64) -> Option<File> {
    let (build_id, name) = path.strip_prefix(FOLDER)?.split_once('/')?;
    let name = name.strip_suffix(".gz")?;
    (is_build_id(build_id) && !name.contains('/')).then(|| File {
        build_id: build_id.to_owned(),
        name: name.to_owned(),
        size,
        path: path.to_owned(),
    })
}

pub(crate) fn is_build_id(text: &str) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    DIGITS.contains(&text.len()) && text.len().is_multiple_of(2) && text.bytes().all(is_digit)
}

pub(crate) fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The build id of a file, and whether it has lines. A file without names is refused.
fn facts(bytes: &[u8], path: &Path) -> Result<(String, bool), Error> {
    let path = || path.to_owned();
    let file = object::File::parse(bytes).map_err(|_| Error::NotElf { path: path() })?;
    let build_id = file.build_id().ok().flatten().map(digits);
    let build_id = build_id.filter(|id| is_build_id(id));
    let build_id = build_id.ok_or_else(|| Error::NoBuildId { path: path() })?;
    let has_lines = file
        .section_by_name(".debug_info")
        .is_some_and(|section| section.size() > 0);
    let has_names = file
        .symbols()
        .any(|symbol| symbol.is_definition() && symbol.kind() == object::SymbolKind::Text);
    let has_packed = file.section_by_name(".gnu_debugdata").is_some();
    match has_lines || has_names || has_packed {
        true => Ok((build_id, has_lines)),
        false => Err(Error::NoSymbols { path: path() }),
    }
}

/// A name that every store and file system takes.
fn plain(name: &str) -> String {
    let letter = |one: char| match one {
        '.' | '-' | '_' | '+' => one,
        one if one.is_ascii_alphanumeric() => one,
        _ => '_',
    };
    let name: String = name.chars().take(100).map(letter).collect();
    match name.trim_start_matches('.') {
        "" => "program".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_of_symbols() {
        let file = file_of("symbols/0123abcd/api.gz", 7).unwrap();
        assert_eq!((&file.build_id[..], &file.name[..]), ("0123abcd", "api"));
        for wrong in [
            "symbols/0123ABCD/api.gz",
            "symbols/0123abcd/api",
            "symbols/0123abcd/a/b.gz",
            "samples/0123abcd/api.gz",
            "symbols/../api.gz",
        ] {
            assert_eq!(file_of(wrong, 7), None, "{wrong}");
        }
        assert_eq!(plain("../a b"), "_a_b");
        assert_eq!(plain("."), "program");
    }

    #[test]
    fn a_text_is_no_program() {
        let folder = profundo_testing::Folder::new("symbol-text");
        let path = folder.write("a.txt", "text");
        let store = profundo_store::Folder::new(folder.join("store"));
        assert!(matches!(add(&store, &path), Err(Error::NotElf { .. })));
        assert_eq!(list(&store).unwrap(), []);
    }
}
