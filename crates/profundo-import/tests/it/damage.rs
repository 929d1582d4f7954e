//! Every file of `testdata`, cut anywhere and with changed bytes: no reader panics, and none makes
//! a profile that cannot be reported.

use std::fs;
use std::path::{Path, PathBuf};

use profundo_analysis::{Filter, Selection};
use profundo_import::Options;

use crate::support::testdata;

/// All files below a folder.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => files(&path, found),
            false => found.push(path),
        }
    }
}

#[test]
fn a_damaged_file_is_no_reason_to_panic() {
    /// Larger files take too long.
    const LARGEST: usize = 300_000;
    let mut found = Vec::new();
    files(&testdata(""), &mut found);
    for path in found {
        let bytes = fs::read(&path).expect("a file");
        if bytes.len() > LARGEST {
            continue;
        }
        let whole = profundo_import::read(&bytes, &Options::default());
        if whole.is_err() {
            // What the tool itself prints.
            continue;
        }
        for part in 1..24 {
            check(&bytes[..bytes.len() * part / 24], &path);
            let mut changed = bytes.clone();
            let at = changed.len() * part / 24;
            let end = changed.len().min(at + 4);
            changed[at..end].iter_mut().for_each(|byte| *byte ^= 0xff);
            check(&changed, &path);
        }
    }
}

fn check(bytes: &[u8], path: &Path) {
    let Ok(imported) = profundo_import::read(bytes, &Options::default()) else {
        return;
    };
    let profile = &imported.profile;
    let all = Selection::new(profile, &Filter::default());
    assert!(all.len() <= profile.samples.len(), "{}", path.display());
    let mut file = Vec::new();
    profundo_formats::write(profile, &mut file).expect("what was read can be saved");
}
