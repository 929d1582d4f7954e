//! Agents of other builds that are no longer used. Each command marks its agent as used, at most
//! once a day, by the file's time; an agent that was not marked for a month is removed.
//!
//! Two commands may do so at once, so marking and removing hold the file's lock: a command that has
//! marked its agent can rely on it, and one that comes too late writes the agent anew. An agent
//! that a living process has mapped stays, because the programs that it starts will load it too.

use std::ffi::OsStr;
use std::fs::{self, File, FileTimes};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::PREFIX;

const DAY: Duration = Duration::from_secs(24 * 3600);
const OLD: Duration = Duration::from_secs(30 * 24 * 3600);

/// Marks an agent as used. False if it was removed meanwhile.
pub fn is_kept(path: &Path) -> bool {
    let Ok(file) = File::open(path) else {
        return false;
    };
    if age(&file).is_none_or(|age| age < DAY) {
        return true;
    }
    // Without permission to lock or mark it, this user cannot remove it either.
    let _ = file.lock_shared();
    let times = FileTimes::new().set_modified(SystemTime::now());
    let _ = file.set_times(times);
    if file.metadata().is_ok_and(|metadata| metadata.nlink() == 0) {
        return false;
    }
    // Unlocked here: otherwise the removal, which cannot lock it, would take it for used.
    drop(file);
    if let Some(folder) = path.parent() {
        remove(folder);
    }
    true
}

/// Removes unused agents from a folder.
pub fn remove(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        // The name of an incomplete file begins with a dot.
        let name = name.as_bytes();
        let name = name.strip_prefix(b".").unwrap_or(name);
        if name.starts_with(PREFIX.as_bytes()) {
            // The next command tries again.
            let _ = remove_if_unused(&entry.path());
        }
    }
}

fn remove_if_unused(path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    if age(&file).is_none_or(|age| age < OLD) || file.try_lock().is_err() {
        return Ok(());
    }
    // Another command may have marked it before we had the lock.
    if age(&file).is_none_or(|age| age < OLD) || is_mapped(path) {
        return Ok(());
    }
    fs::remove_file(path)
}

/// The time since it was marked or written; `None` if that is in the future.
fn age(file: &File) -> Option<Duration> {
    let marked = file.metadata().and_then(|metadata| metadata.modified());
    marked.ok()?.elapsed().ok()
}

/// True if a process that we may examine has mapped the file.
fn is_mapped(path: &Path) -> bool {
    let Some(name) = path.file_name() else {
        return true;
    };
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let maps = processes
        .filter(|entry| entry.file_name().as_bytes().iter().all(u8::is_ascii_digit))
        .filter_map(|entry| fs::read(entry.path().join("maps")).ok());
    maps.into_iter().any(|maps| has_line_with(&maps, name))
}

fn has_line_with(maps: &[u8], name: &OsStr) -> bool {
    let mut lines = maps.split(|&byte| byte == b'\n');
    lines.any(|line| line.ends_with(name.as_bytes()))
}
