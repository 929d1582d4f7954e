//! The table file of a session: one in the user's cache that all sessions add to, because compiling
//! the interpreter's tables takes a tenth of a second and gives the same result tomorrow; or else
//! one of its own.
//!
//! Programs map the file itself. So it is never truncated or overwritten while a program may have
//! it mapped: a file that has grown large is left alone, and the next session begins another.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use profundo_linux::sys;
use profundo_probe::shared::file;

use super::tables::Tables;

/// The folder's name holds the version of the compiler of tables.
const FOLDER: &str = concat!("profundo/unwind/", env!("CARGO_PKG_VERSION"));
/// The start of a file's name, before its number.
const PREFIX: &str = "tables-";
/// A session begins another file rather than use one that is this full. A program of little memory
/// maps the first half.
const FULL_PERCENT: u64 = 40;
/// The space that the file system must have.
const ROOM: u64 = 128 << 20;
/// The number of files tried: other sessions may create and remove some meanwhile.
const TRIES: usize = 4;

/// The table file of a session in `directory`, where its programs find it. `place`: the cache; by
/// default the user's.
pub fn open(directory: &Path, place: Option<&Path>) -> io::Result<Tables> {
    let path = directory.join(file::TABLES);
    let shared = shared(place).filter(|(_, kept)| std::os::unix::fs::symlink(kept, &path).is_ok());
    match shared {
        Some((tables, _)) => Ok(tables),
        None => begin_apart(directory),
    }
}

/// A table file of this session alone.
pub fn begin_apart(directory: &Path) -> io::Result<Tables> {
    let file = options()
        .create_new(true)
        .open(directory.join(file::TABLES))?;
    Tables::begin(file)
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
    // If it is missing, its parents may be as well.
    let data = fs::metadata(&folder).or_else(|_| {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700).create(&folder)?;
        fs::metadata(&folder)
    });
    // Rows written by another user would mislead handlers.
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
                // Held as long as the session lasts: the lock shows that the file is in use.
                .filter(|file| file.try_lock_shared().is_ok())
                // Another session may have removed it before the lock was taken.
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

/// Makes the file of that number, and removes unused ones before it. `None`: it cannot be made.
fn begin(folder: &Path, number: u64) -> Option<()> {
    let draft = folder.join(format!("draft-{}-{number}", std::process::id()));
    let made = options()
        .create_new(true)
        .open(&draft)
        .and_then(Tables::begin)
        // The file is complete when it gets its name. If another session was faster, its file is
        // used.
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
        // The lock is held until it is removed: another session that gets the lock then sees that.
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

/// Whether several processes can map files there coherently, which a local disk permits and a
/// network or FUSE file system may not, and whether there is room.
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
    sys::file_system(folder).is_ok_and(|system| LOCAL.contains(&system.kind) && system.free >= ROOM)
}

/// The cache folder; `place` if it is given.
pub fn folder(place: Option<&Path>) -> Option<PathBuf> {
    place.map(Path::to_owned).or_else(user_cache)
}

/// The user's cache, whether it exists or not.
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
    use profundo_session::Directory;

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
        // The old file is in use, and stays. Then it is unused.
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
        let tables = fs::symlink_metadata(directory.path().join(file::TABLES)).unwrap();
        assert!(tables.is_file());
        fs::remove_dir_all(cache).unwrap();
    }
}
