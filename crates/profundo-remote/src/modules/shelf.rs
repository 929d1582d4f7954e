//! Which file of tables a session has: one in the user's cache that all sessions add to, because
//! compiling the interpreter's takes a tenth of a second, and it is the same one tomorrow; or else
//! one of its own.
//!
//! Programs map the file itself. So it is never cut or written over while anybody may have it: one
//! that has grown large is left to those who have it, and the next session begins another.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use profundo_probe::shared::file;

use super::tables::Tables;
use crate::sys;

/// The folder's name holds the version of the compiler of tables.
const FOLDER: &str = concat!("profundo/unwind/", env!("CARGO_PKG_VERSION"));
/// What a file is called, before its number.
const PREFIX: &str = "tables-";
/// A session begins another file rather than go on with one that is so full. A program of little
/// memory maps the first half.
const FULL_PERCENT: u64 = 40;
/// So much room the file system is to have.
const ROOM: u64 = 128 << 20;
/// How many files are tried: their number changes while others begin and remove some.
const TRIES: usize = 4;

/// The file of a session in `directory`, in which its programs find it. `place` is the cache; the
/// user's, if none is said.
pub(crate) fn open(directory: &Path, place: Option<&Path>) -> io::Result<Tables> {
    let path = directory.join(file::TABLES);
    let shared = shared(place).filter(|(_, kept)| std::os::unix::fs::symlink(kept, &path).is_ok());
    match shared {
        Some((tables, _)) => Ok(tables),
        None => {
            let file = options().create_new(true).open(&path)?;
            Tables::begin(file)
        }
    }
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW);
    options
}

fn shared(place: Option<&Path>) -> Option<(Tables, PathBuf)> {
    let folder = folder(place)?.join(FOLDER);
    // Where it is missing, so may be all above.
    let data = fs::metadata(&folder).or_else(|_| {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700).create(&folder)?;
        fs::metadata(&folder)
    });
    // Rows of another user's making would lead handlers astray.
    let is_ours = |data: &fs::Metadata| data.uid() == sys::user() && data.mode() & 0o022 == 0;
    if !data.is_ok_and(|data| data.is_dir() && is_ours(&data)) || !is_fit(&folder) {
        return None;
    }
    for _ in 0..TRIES {
        let newest = numbers(&folder).into_iter().max();
        if let Some(number) = newest {
            let path = path_of(&folder, number);
            let tables = options()
                .open(&path)
                .ok()
                .filter(|file| file.metadata().is_ok_and(|data| is_ours(&data)))
                // Held as long as the session lasts: it says that the file is in use.
                .filter(|file| file.try_lock_shared().is_ok())
                // Between the two it may have been removed by somebody who held it.
                .filter(|file| file.metadata().is_ok_and(|data| data.nlink() > 0))
                .and_then(Tables::open);
            if let Some(tables) = tables.filter(|tables| tables.percent_used() < FULL_PERCENT) {
                return Some((tables, path));
            }
        }
        begin(&folder, newest.unwrap_or(0) + 1)?;
    }
    None
}

/// Makes the file of that number, and removes those before it that nobody has. `None`: it cannot
/// be made.
fn begin(folder: &Path, number: u64) -> Option<()> {
    let draft = folder.join(format!("draft-{}-{number}", std::process::id()));
    let made = options()
        .create_new(true)
        .open(&draft)
        .and_then(Tables::begin)
        // Whole when it gets its name; and should somebody be faster, theirs is as good.
        .and_then(|_| fs::hard_link(&draft, path_of(folder, number)));
    let _ = fs::remove_file(&draft);
    let is_there = match made {
        Ok(()) => true,
        Err(error) => error.kind() == io::ErrorKind::AlreadyExists,
    };
    if !is_there {
        return None;
    }
    for old in numbers(folder).into_iter().filter(|&old| old < number) {
        let path = path_of(folder, old);
        // The lock is held until it is gone: who gets it afterwards sees that.
        if let Ok(file) = options().open(&path)
            && file.try_lock().is_ok()
        {
            let _ = fs::remove_file(&path);
        }
    }
    Some(())
}

fn path_of(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{PREFIX}{number}"))
}

/// The numbers of the files in a folder.
fn numbers(folder: &Path) -> Vec<u64> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            entry
                .file_name()
                .to_str()?
                .strip_prefix(PREFIX)?
                .parse()
                .ok()
        })
        .collect()
}

/// Whether files there can be mapped by several processes that all see the same: on a disk of this
/// machine, that is, and not by way of a network or a program. And whether there is room.
fn is_fit(folder: &Path) -> bool {
    const BTRFS: i64 = 0x9123_683E;
    const F2FS: i64 = 0xF2F5_2010;
    const OVERLAY: i64 = 0x794C_7630;
    const XFS: i64 = 0x5846_5342;
    const LOCAL: [i64; 6] = [
        libc::EXT4_SUPER_MAGIC,
        libc::TMPFS_MAGIC,
        BTRFS,
        F2FS,
        OVERLAY,
        XFS,
    ];
    sys::file_system(folder).is_ok_and(|(kind, free)| LOCAL.contains(&kind) && free >= ROOM)
}

/// Where what is worth keeping is kept; `place` if it is said.
pub(crate) fn folder(place: Option<&Path>) -> Option<PathBuf> {
    place.map(Path::to_owned).or_else(user_cache)
}

/// The user's cache, whether it is there or not.
pub fn user_cache() -> Option<PathBuf> {
    let absolute = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::file::Compiled;
    use crate::session::Directory;

    #[test]
    fn sessions_share_a_file_until_it_is_large() {
        let (first, second) = (
            Directory::create(None).unwrap(),
            Directory::create(None).unwrap(),
        );
        let cache = first.path().join("cache");
        let mut tables = open(first.path(), Some(&cache)).unwrap();
        let folder = cache.join(FOLDER);
        if !is_fit(&folder) {
            return;
        }
        tables.add(b"name", Compiled::default(), &[], &[]);
        let other = open(second.path(), Some(&cache)).unwrap();
        assert!(other.find(b"name").is_some());
        let link = fs::read_link(first.path().join(file::TABLES)).unwrap();
        assert_eq!(link, path_of(&folder, 1));
        // Somebody has the old one: it stays. Then nobody has.
        begin(&folder, 2).unwrap();
        assert_eq!(numbers(&folder).len(), 2);
        drop((tables, other));
        begin(&folder, 3).unwrap();
        assert_eq!(numbers(&folder), [3]);
        let third = Directory::create(None).unwrap();
        let tables = open(third.path(), Some(&cache)).unwrap();
        assert!(tables.find(b"name").is_none());
        fs::remove_dir_all(cache).unwrap();
    }

    #[test]
    fn a_folder_that_others_may_write_is_not_used() {
        use std::os::unix::fs::PermissionsExt;
        let directory = Directory::create(None).unwrap();
        let cache = directory.path().join("cache");
        let folder = cache.join(FOLDER);
        fs::create_dir_all(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(shared(Some(&cache)).is_none());
        drop(open(directory.path(), Some(&cache)).unwrap());
        let own = fs::symlink_metadata(directory.path().join(file::TABLES)).unwrap();
        assert!(own.is_file());
        fs::remove_dir_all(cache).unwrap();
    }
}
