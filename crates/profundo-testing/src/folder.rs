//! A folder for one test, which is removed with the test.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicUsize, Ordering};

/// An empty folder that no other test has. It is removed with all that is in it when it is dropped.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// A folder among the temporary files of this machine. The name is for readers of that folder.
    #[track_caller]
    pub fn new(name: &str) -> Self {
        Self::within(std::env::temp_dir(), name)
    }

    /// A folder below another one, such as `CARGO_TARGET_TMPDIR`, which lies on the disk that the
    /// tests were built on and is writable by this user only.
    #[track_caller]
    pub fn within(parent: impl AsRef<Path>, name: &str) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        // Relaxed: a number for each, no more.
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("profundo-{name}-{}-{number}", process::id());
        let path = parent.as_ref().join(name);
        // A process of this id that was killed may have left one.
        let _ = fs::remove_dir_all(&path);
        let made = fs::create_dir_all(&path).and_then(|()| path.canonicalize());
        // The real path: it is what compilers and the kernel write down.
        match made {
            Ok(path) => Self(path),
            Err(error) => panic!("cannot make {}: {error}", path.display()),
        }
    }

    /// The folder's path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A path in the folder.
    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file, and the folders that it lies in.
    #[track_caller]
    pub fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap_or(&self.0)).unwrap();
        fs::write(&path, contents).unwrap();
        path
    }

    /// The sorted names of the folder's entries.
    #[track_caller]
    pub fn names(&self) -> Vec<String> {
        let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
        let names = fs::read_dir(&self.0).unwrap().map(name);
        let mut names: Vec<String> = names
            .map(|name| name.to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

impl AsRef<Path> for Folder {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

/// All files below a folder, in the order of their names.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for path in entries.map(|entry| entry.expect("an entry").path()) {
        match path.is_dir() {
            true => found.extend(files_below(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A test may have removed it.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_goes_with_all_that_is_in_it() {
        let folder = Folder::new("folder");
        let file = folder.write("a/b", "text");
        folder.write("c", [1]);
        assert_eq!(fs::read_to_string(&file).unwrap(), "text");
        assert_eq!(folder.names(), ["a", "c"]);
        let path = folder.path().to_owned();
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn folders_of_one_name_are_two() {
        let (one, two) = (Folder::new("twice"), Folder::new("twice"));
        assert_ne!(one.path(), two.path());
        assert_eq!(two.names(), [""; 0]);
    }
}
