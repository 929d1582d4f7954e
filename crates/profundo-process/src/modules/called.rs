//! The name by which a program was started: `redis-server` is a symbolic link to `redis-check-rdb`,
//! and all commands of busybox are links to one file.
//!
//! The kernel reports the file's own name. The first word of the command line is used if it leads
//! to the same file.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use profundo_linux::proc;
use profundo_scan::MapLine;

/// The path by which the program of a process was started, if its file at `line` has another name.
pub(super) fn path(pid: u32, line: &MapLine<'_>) -> Option<String> {
    let file = Path::new(OsStr::from_bytes(line.plain_path()));
    let file_name = file.file_name()?.as_bytes();
    let words = proc::read(pid, "cmdline");
    let word = words.split(|&byte| byte == 0).next()?;
    let word = word.strip_prefix(b"-").unwrap_or(word);
    let name = word.rsplit(|&byte| byte == b'/').next()?;
    // Interpreters of Python are known by the names of their files.
    if name.is_empty() || name == file_name || file_name.starts_with(b"python") {
        return None;
    }
    let word = Path::new(OsStr::from_bytes(word));
    let data = fs::metadata(format!("/proc/{pid}/exe")).ok()?;
    // A library that was mapped before the program's own file.
    if data.ino() != line.inode {
        return None;
    }
    let is_same = |path: &PathBuf| {
        let found = fs::metadata(in_root(pid, path));
        found.is_ok_and(|found| (found.dev(), found.ino()) == (data.dev(), data.ino()))
    };
    let candidates = candidates(pid, word, file.parent()?);
    let found = candidates.into_iter().find(is_same)?;
    found.to_str().map(str::to_owned)
}

/// The possible paths of a command line's first word.
fn candidates(pid: u32, word: &Path, folder: &Path) -> Vec<PathBuf> {
    if word.is_absolute() {
        return vec![word.to_owned()];
    }
    if word.components().count() > 1 {
        let here = fs::read_link(format!("/proc/{pid}/cwd"));
        return here
            .map(|here| plain(&here.join(word)))
            .into_iter()
            .collect();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let searched = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    let mut found = vec![folder.join(word)];
    found.extend(searched.map(|folder| folder.join(word)));
    found
}

/// A path without `.` in it.
fn plain(path: &Path) -> PathBuf {
    path.components().collect()
}

/// The path in our namespace of a path of the process.
fn in_root(pid: u32, path: &Path) -> PathBuf {
    let root = PathBuf::from(format!("/proc/{pid}/root"));
    match path.strip_prefix("/") {
        Ok(below) => root.join(below),
        Err(_) => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use profundo_scan::executable;
    use profundo_session::Directory;
    use std::io::{Read, Write};
    use std::os::unix::fs::symlink;
    use std::process::{Child, Command, Stdio};

    /// Starts the command, and returns the path found for its process.
    fn started(command: &mut Command) -> (Child, Option<String>) {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // The answer shows that the program runs.
        let mut answer = [0];
        child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
        child
            .stdout
            .as_mut()
            .unwrap()
            .read_exact(&mut answer)
            .unwrap();
        let pid = child.id();
        let maps = proc::read(pid, "maps");
        let exe = fs::metadata(format!("/proc/{pid}/exe")).unwrap().ino();
        let line = executable(&maps).find(|line| line.inode == exe).unwrap();
        let found = path(pid, &line);
        (child, found)
    }

    fn check(command: &mut Command, expected: Option<&Path>) {
        let (mut child, found) = started(command);
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(found.as_deref().map(Path::new), expected, "{command:?}");
    }

    #[test]
    fn a_program_is_called_as_it_was_started() {
        let directory = Directory::create(None).unwrap();
        let link = directory.path().join("another-name");
        let cat = fs::canonicalize("/bin/cat").unwrap();
        symlink(&cat, &link).unwrap();
        check(&mut Command::new(&link), Some(&link));
        check(&mut Command::new(&cat), None);
        let mut relative = Command::new("./another-name");
        check(relative.current_dir(directory.path()), Some(&link));
        // The name that a program gives itself is not a file's.
        use std::os::unix::process::CommandExt;
        check(Command::new(&cat).arg0("cat: worker"), None);
    }
}
