//! Names that were found once are kept in the user's cache, because reading the tables of an
//! interpreter takes longer than a short script runs.
//!
//! The build id is the file's name, so the names of a rebuilt program are read again. The text has
//! one function in a line, and a last line with their number:
//!
//! ```text
//! 1c4f20 list.append
//! 1d0b40 sorted
//! end 2
//! ```

use std::fmt::Write as _;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustc_hash::FxHashMap;

/// The number changes with the contents of the names.
const FOLDER: &str = "profundo/python-names-1";
/// With fewer functions, the tables are read as fast as this file.
const WORTH: usize = 500;
/// Files beyond this number are removed, the oldest ones first.
const MOST_FILES: usize = 50;
/// No module has so many names that its text is longer.
const LONGEST: u64 = 8 << 20;

type Names = FxHashMap<u64, String>;

/// The names kept for a build id.
pub(super) fn read(cache: &Path, build_id: &[u8]) -> Option<Names> {
    let path = path_of(cache, build_id)?;
    // The reader of a pipe would wait for its writer.
    let is_file = fs::symlink_metadata(&path).ok()?.is_file();
    let file = is_file.then(|| File::open(&path))?.ok()?;
    let mut text = String::new();
    file.take(LONGEST).read_to_string(&mut text).ok()?;
    parsed(&text)
}

/// Keeps the names for a build id, if they are worth it. Otherwise the next reader takes as long as
/// this one.
pub(super) fn keep(cache: &Path, build_id: &[u8], names: &Names) {
    if names.len() < WORTH {
        return;
    }
    if let Some(path) = path_of(cache, build_id) {
        let _ = write(&path, &text(names));
    }
}

fn path_of(cache: &Path, build_id: &[u8]) -> Option<PathBuf> {
    const SHORTEST: usize = 8;
    if build_id.len() < SHORTEST {
        return None;
    }
    let mut name = String::new();
    for byte in build_id {
        let _ = write!(name, "{byte:02x}");
    }
    Some(cache.join(FOLDER).join(name))
}

fn text(names: &Names) -> String {
    let mut sorted: Vec<(&u64, &String)> = names.iter().collect();
    sorted.sort_unstable();
    let mut text = String::new();
    for (start, name) in &sorted {
        let _ = writeln!(text, "{start:x} {name}");
    }
    let _ = writeln!(text, "end {}", sorted.len());
    text
}

/// `None` where the text is incomplete.
fn parsed(text: &str) -> Option<Names> {
    let (lines, end) = text.strip_suffix('\n')?.rsplit_once('\n')?;
    let count: usize = end.strip_prefix("end ")?.parse().ok()?;
    let entry = |line: &str| {
        let (start, name) = line.split_once(' ')?;
        Some((u64::from_str_radix(start, 16).ok()?, name.to_owned()))
    };
    let names: Names = lines.lines().map(entry).collect::<Option<_>>()?;
    (names.len() == count).then_some(names)
}

/// Writes a file that is complete when it gets its name, and removes the oldest ones.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let Some(folder) = path.parent() else {
        return Ok(());
    };
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700).create(folder)?;
    let draft = folder.join(format!("draft-{}", std::process::id()));
    let mut options = OpenOptions::new();
    let written = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&draft)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
        return written;
    }
    let mut files: Vec<(SystemTime, PathBuf)> = fs::read_dir(folder)?
        .filter_map(|entry| {
            let entry = entry.ok()?;
            Some((entry.metadata().ok()?.modified().ok()?, entry.path()))
        })
        .collect();
    files.sort_unstable();
    let surplus = files.len().saturating_sub(MOST_FILES);
    for (_, old) in &files[..surplus] {
        let _ = fs::remove_file(old);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(count: u64) -> Names {
        let name = |at| (0x1000 + at * 16, format!("list.method{at}"));
        (0..count).map(name).collect()
    }

    #[test]
    fn names_are_kept_by_build_id() {
        let cache = std::env::temp_dir().join(format!("profundo-kept-{}", std::process::id()));
        let (known, other) = ([1; 20], [2; 20]);
        let many = names(WORTH as u64);
        keep(&cache, &known, &many);
        assert_eq!(read(&cache, &known), Some(many));
        assert_eq!(read(&cache, &other), None);
        keep(&cache, &other, &names(3));
        assert_eq!(read(&cache, &other), None, "not worth it");
        for number in 3..100 {
            keep(&cache, &[number; 20], &names(WORTH as u64));
        }
        let files = fs::read_dir(cache.join(FOLDER)).unwrap().count();
        assert_eq!(files, MOST_FILES);
        assert!(read(&cache, &[99; 20]).is_some(), "the newest stay");
        fs::remove_dir_all(cache).unwrap();
    }

    #[test]
    fn a_part_of_a_text_is_not_taken() {
        let whole = text(&names(3));
        assert_eq!(parsed(&whole), Some(names(3)));
        for cut in 0..whole.len() {
            assert_eq!(parsed(&whole[..cut]), None, "{cut} bytes");
        }
        assert_eq!(parsed("1000 a\n1000 b\nend 2\n"), None, "one address twice");
        assert_eq!(parsed("x y\nend 1\n"), None);
    }
}
