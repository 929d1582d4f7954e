//! A folder of the file system. A file is written under a name that no reader looks at, and then
//! renamed.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use bytes::Bytes;

use super::{Entry, Store};
use crate::Error;

/// The folder of files that are being written.
const UNFINISHED: &str = ".unfinished";
/// Files that have not been finished for so long never will be.
const ABANDONED: Duration = Duration::from_secs(3600);

/// A folder.
#[derive(Debug)]
pub struct Folder {
    root: PathBuf,
}

impl Folder {
    /// The store in this folder, which is made when something is written.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Removes what writers that were killed have left unfinished. Returns the number of files.
    pub fn remove_abandoned(&self, now: SystemTime) -> Result<usize, Error> {
        let folder = self.root.join(UNFINISHED);
        let mut removed = 0;
        for entry in entries(&folder).map_err(|error| failed("list", &folder, error))? {
            let age = entry.metadata().and_then(|of| of.modified());
            let age = age
                .ok()
                .and_then(|modified| now.duration_since(modified).ok());
            if age.is_some_and(|age| age >= ABANDONED) {
                fs::remove_file(entry.path()).map_err(|error| failed("delete", &folder, error))?;
                removed += 1;
            }
        }
        Ok(removed)
    }

    /// Writes an unfinished file with these bytes.
    fn unfinished(&self, bytes: &[u8]) -> io::Result<PathBuf> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        // Relaxed: a number for each, no more.
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = self.root.join(UNFINISHED);
        fs::create_dir_all(&folder)?;
        let path = folder.join(format!("{}-{number}", std::process::id()));
        let written = File::create(&path).and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_data()
        });
        if written.is_err() {
            // On a full disk, what is there already is no use.
            let _ = fs::remove_file(&path);
        }
        written.map(|()| path)
    }

    /// Writes a file by `finish`, which gives an unfinished one its name.
    fn write(
        &self,
        path: &str,
        bytes: &[u8],
        finish: impl Fn(&Path, &Path) -> io::Result<()>,
    ) -> io::Result<()> {
        let whole = self.root.join(path);
        let unfinished = self.unfinished(bytes)?;
        let folder = whole.parent().unwrap_or(&self.root);
        // Retention removes folders that are empty, perhaps just now.
        let finished = fs::create_dir_all(folder)
            .and_then(|()| finish(&unfinished, &whole))
            .or_else(|error| match error.kind() {
                ErrorKind::NotFound => {
                    fs::create_dir_all(folder).and_then(|()| finish(&unfinished, &whole))
                }
                _ => Err(error),
            });
        if finished.is_err() {
            let _ = fs::remove_file(&unfinished);
            return finished;
        }
        // The name must survive a power cut too.
        File::open(folder).and_then(|folder| folder.sync_all())
    }
}

impl Store for Folder {
    fn list(&self, folder: &str) -> Result<Vec<Entry>, Error> {
        let mut found = Vec::new();
        let path = self.root.join(folder);
        walk(&path, folder, &mut found).map_err(|error| failed("list", &path, error))?;
        found.sort();
        Ok(found)
    }

    fn read(&self, path: &str, range: Range<u64>) -> Result<Bytes, Error> {
        let whole = self.root.join(path);
        let mut bytes = Vec::new();
        let read = File::open(&whole).and_then(|mut file| {
            file.seek(SeekFrom::Start(range.start))?;
            let length = range.end.saturating_sub(range.start);
            bytes.reserve_exact(length.min(file.metadata()?.len()) as usize);
            file.take(length).read_to_end(&mut bytes)
        });
        match read {
            Ok(_) => Ok(bytes.into()),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(Error::Gone {
                path: whole.display().to_string(),
            }),
            Err(error) => Err(failed("read", &whole, error)),
        }
    }

    fn put(&self, path: &str, bytes: &[u8]) -> Result<(), Error> {
        let written = self.write(path, bytes, |from, to| fs::rename(from, to));
        written.map_err(|error| failed("write", &self.root.join(path), error))
    }

    fn put_new(&self, path: &str, bytes: &[u8]) -> Result<bool, Error> {
        // A link, unlike a rename, does not replace what is there.
        let written = self.write(path, bytes, |from, to| {
            fs::hard_link(from, to).and_then(|()| fs::remove_file(from))
        });
        match written {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(failed("write", &self.root.join(path), error)),
        }
    }

    fn delete(&self, path: &str) -> Result<(), Error> {
        let whole = self.root.join(path);
        match fs::remove_file(&whole) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(failed("delete", &whole, error));
            }
            _ => {}
        }
        // The folders of an hour go with its last file; others are not empty.
        let above = whole.ancestors().skip(1);
        for folder in above.take_while(|folder| *folder != self.root) {
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
        Ok(())
    }
}

fn entries(folder: &Path) -> io::Result<Vec<fs::DirEntry>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.collect(),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Finds all files below a folder. Hidden ones and links are none.
fn walk(folder: &Path, name: &str, found: &mut Vec<Entry>) -> io::Result<()> {
    for entry in entries(folder)? {
        let of = entry.file_name();
        let Some(of) = of.to_str().filter(|of| !of.starts_with('.')) else {
            continue;
        };
        let kind = entry.file_type()?;
        if kind.is_dir() {
            walk(&entry.path(), &format!("{name}{of}/"), found)?;
        } else if kind.is_file() {
            match entry.metadata() {
                Ok(metadata) => found.push(Entry {
                    path: format!("{name}{of}"),
                    size: metadata.len(),
                }),
                // It was deleted just now.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

fn failed(verb: &'static str, path: &Path, source: io::Error) -> Error {
    Error::Store {
        verb,
        path: path.display().to_string(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_there_whole_or_not_at_all() {
        let folder = profundo_testing::Folder::new("store-folder");
        let store = Folder::new(folder.path());
        assert_eq!(store.list("").unwrap(), []);
        store.put("a/b/one", b"12345").unwrap();
        store.put("a/b/one", b"123").unwrap();
        assert!(store.put_new("a/two", b"x").unwrap());
        assert!(!store.put_new("a/two", b"yy").unwrap());
        let entry = |path: &str, size| Entry {
            path: path.to_owned(),
            size,
        };
        assert_eq!(
            store.list("").unwrap(),
            [entry("a/b/one", 3), entry("a/two", 1)]
        );
        assert_eq!(store.list("a/b/").unwrap(), [entry("a/b/one", 3)]);
        assert_eq!(&store.read("a/b/one", 1..3).unwrap()[..], b"23");
        assert_eq!(&store.read("a/b/one", 1..u64::MAX).unwrap()[..], b"23");
        assert!(matches!(
            store.read("a/none", 0..1),
            Err(Error::Gone { .. })
        ));
        store.delete("a/b/one").unwrap();
        store.delete("a/b/one").unwrap();
        assert!(!folder.join("a/b").exists() && folder.join("a").exists());
        assert_eq!(fs::read_dir(folder.join(UNFINISHED)).unwrap().count(), 0);
    }

    #[test]
    fn unfinished_files_are_no_files_and_go_after_an_hour() {
        let folder = profundo_testing::Folder::new("store-unfinished");
        let store = Folder::new(folder.path());
        folder.write(".unfinished/1-0", "half of it");
        assert_eq!(store.list("").unwrap(), []);
        assert_eq!(store.remove_abandoned(SystemTime::now()).unwrap(), 0);
        let later = SystemTime::now() + ABANDONED + Duration::from_secs(1);
        assert_eq!(store.remove_abandoned(later).unwrap(), 1);
        assert_eq!(store.remove_abandoned(later).unwrap(), 0);
    }
}
