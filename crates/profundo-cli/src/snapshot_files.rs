//! Recognizes heap snapshots, and the part files of one that was streamed.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use profundo_console::output;
use profundo_formats::heapsnapshot;

/// True for a file with the content of a heap snapshot, whatever its name.
pub fn is_snapshot(path: &Path) -> bool {
    let mut start = Vec::new();
    path.is_file()
        && File::open(path)
            .and_then(|file| file.take(4096).read_to_end(&mut start))
            .is_ok()
        && heapsnapshot::is_heapsnapshot(&start)
}

/// The common prefix of a snapshot's part files, if this is one of them by its name and by the
/// files beside it.
pub fn prefix_of_part(path: &Path) -> Option<PathBuf> {
    let name = path.to_str()?;
    let prefix = (heapsnapshot::parts(Path::new("")).iter())
        .find_map(|ending| name.strip_suffix(ending.to_str()?))?;
    let prefix = PathBuf::from(prefix);
    let [.., last] = heapsnapshot::parts(&prefix);
    is_snapshot(&last).then_some(prefix)
}

/// Checks that part files may be written there: those of an earlier snapshot are replaced, and
/// nothing else that has their names.
pub fn may_replace_parts(prefix: &Path, force: bool) -> Result<(), output::Refused> {
    if output::is_stdout(prefix) {
        return Err(output::Refused::new(
            "four files cannot go to the standard output; name them with -o PREFIX",
        ));
    }
    if force {
        return Ok(());
    }
    // Only the last one says what the files are.
    let parts = heapsnapshot::parts(prefix);
    let [.., last] = &parts;
    let is_snapshot = is_snapshot(last);
    let mut all = parts.iter();
    match all.find(|path| output::is_foreign(path, |_| is_snapshot)) {
        Some(path) => Err(output::Refused::new(&format!(
            "{} is there and is no part of a heap snapshot; name others with -o PREFIX (`--force` replaces it)",
            path.display()
        ))),
        None => Ok(()),
    }
}
