//! Removes what killed commands left behind: it is kept for `recover`, but only for a time and up
//! to a number, since it takes memory.
//!
//! Every command does this when it begins, so nothing is opened unless something may have to go.

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use profundo_linux::sys::{self, FileSystem};
use profundo_probe::shared::file;

use crate::files::{PREFIX, remove};

/// The time for which the directory of a killed command is kept.
const KEPT: Duration = Duration::from_secs(24 * 3600);
/// A command has made its files after this time. A directory without them is unused.
const BEGUN: Duration = Duration::from_secs(60);

/// The number of directories that may be left behind, and the number of newest ones that stay when
/// there are more. The two differ, so that a program that is killed over and over causes a sweep
/// only now and then.
#[derive(Debug, Clone, Copy)]
struct Bound {
    most: usize,
    newest: usize,
}

const ROOMY: Bound = Bound {
    most: 16,
    newest: 8,
};
/// The bound where less memory is free than `PLENTY`.
const SCARCE: Bound = Bound { most: 4, newest: 4 };
const PLENTY: u64 = 256 << 20;
/// The bound where less than half of a file system in memory is free: what was left behind may be
/// gigabytes of a storm of processes, and programs need the memory.
const HALF_FULL: Bound = Bound { most: 1, newest: 1 };
const IN_MEMORY: i64 = libc::TMPFS_MAGIC;

impl Bound {
    fn of(system: FileSystem) -> Self {
        match system {
            FileSystem {
                kind: IN_MEMORY,
                free,
                size,
            } if free < size / 2 => HALF_FULL,
            FileSystem { free, .. } if free < PLENTY => SCARCE,
            _ => ROOMY,
        }
    }
}

/// A session's directory, in use or not.
#[derive(Debug)]
struct Found {
    path: PathBuf,
    /// The time of the last creation or removal of a file in it, which is never before the session
    /// began.
    changed: SystemTime,
}

/// The counts of a sweep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Swept {
    found: usize,
    opened: usize,
    removed: usize,
}

/// Removes directories left behind a day ago or more, and all but the newest where there are too
/// many.
pub(super) fn remove_stale(place: &Path) {
    sweep(place, sys::file_system(place).map_or(SCARCE, Bound::of));
}

/// The directories of this user's sessions, in use or not.
pub(super) fn list(place: &Path) -> Vec<PathBuf> {
    find(place).into_iter().map(|found| found.path).collect()
}

fn find(place: &Path) -> Vec<Found> {
    let user = sys::user();
    let ours = format!("{PREFIX}{user}-");
    let Ok(entries) = place.read_dir() else {
        return Vec::new();
    };
    // Another user may make a directory of any name.
    let is_ours = |data: &Metadata| data.is_dir() && data.uid() == user;
    entries
        .filter_map(Result::ok)
        .filter(|entry| {
            entry
                .file_name()
                .as_encoded_bytes()
                .starts_with(ours.as_bytes())
        })
        .filter_map(|entry| {
            let data = entry.metadata().ok().filter(is_ours)?;
            let changed = data.modified().ok()?;
            let path = entry.path();
            Some(Found { path, changed })
        })
        .collect()
}

fn sweep(place: &Path, bound: Bound) -> Swept {
    let mut all = find(place);
    let mut swept = Swept {
        found: all.len(),
        ..Swept::default()
    };
    let now = SystemTime::now();
    let is_older = |found: &Found, than: Duration| {
        now.duration_since(found.changed)
            .is_ok_and(|age| age > than)
    };
    // Directories in use are recognised only by opening them.
    let are_many = all.len() > bound.most;
    all.sort_by_key(|found| std::cmp::Reverse(found.changed));
    let mut kept = 0;
    for found in &all {
        let is_old = is_older(found, KEPT);
        if !is_old && !are_many {
            continue;
        }
        swept.opened += 1;
        // Locked until it is removed, so that `recover` does not read it meanwhile.
        let control = File::open(found.path.join(file::CONTROL));
        let goes = match &control {
            // However old it is, its command is alive.
            Ok(control) if control.try_lock().is_err() => false,
            Ok(_) => {
                kept += 1;
                is_old || kept > bound.newest
            }
            // A command that begins has not made the file yet, or was killed before.
            Err(_) => is_older(found, BEGUN),
        };
        if goes {
            remove(&found.path);
            swept.removed += 1;
        }
    }
    swept
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// A place with directories as commands leave them.
    struct Place(PathBuf);

    impl Place {
        fn new(name: &str) -> Self {
            let place = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
            fs::create_dir(&place).unwrap();
            Self(place)
        }

        /// Leaves a directory of this age, and its control file.
        fn leave(&self, number: u64, age: Duration) -> (PathBuf, File) {
            let path = self
                .0
                .join(format!("{PREFIX}{}-1-{number:08x}", sys::user()));
            fs::create_dir(&path).unwrap();
            let control = File::create(path.join(file::CONTROL)).unwrap();
            grow_old(&path, age).unwrap();
            (path, control)
        }

        fn left(&self) -> Vec<PathBuf> {
            let mut left = list(&self.0);
            left.sort();
            left
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn grow_old(path: &Path, age: Duration) -> io::Result<()> {
        File::open(path)?.set_modified(SystemTime::now() - age)
    }

    #[test]
    fn nothing_is_opened_while_there_is_little() {
        let place = Place::new("little");
        for number in 0..ROOMY.most as u64 {
            place.leave(number, SECOND * 3600);
        }
        // Directories of others, and other files with such names, do not count.
        for number in 0..300 {
            let other = format!("{PREFIX}{}1-1-{number:08x}", sys::user());
            fs::create_dir(place.0.join(other)).unwrap();
            fs::create_dir(place.0.join(format!("other-{number}"))).unwrap();
        }
        fs::write(place.0.join(format!("{PREFIX}{}-file", sys::user())), "").unwrap();
        let expected = Swept {
            found: ROOMY.most,
            opened: 0,
            removed: 0,
        };
        assert_eq!(sweep(&place.0, ROOMY), expected);
    }

    #[test]
    fn of_hundreds_the_newest_stay_and_those_in_use() {
        let place = Place::new("hundreds");
        let all: Vec<_> = (0..300_u32)
            .map(|number| place.leave(number.into(), SECOND * number))
            .collect();
        let used = [0, 5, 299].map(|number: usize| &all[number]);
        for (_, control) in used {
            control.try_lock().unwrap();
        }
        let expected = Swept {
            found: 300,
            opened: 300,
            removed: 300 - 3 - ROOMY.newest,
        };
        assert_eq!(sweep(&place.0, ROOMY), expected);
        let newest = all[..ROOMY.newest + 2].iter().chain([&all[299]]);
        let newest: Vec<PathBuf> = newest.map(|(path, _)| path.clone()).collect();
        assert_eq!(place.left(), newest);
        // The next command has nothing to remove.
        let found = newest.len();
        let nothing = Swept {
            found,
            ..Swept::default()
        };
        assert_eq!(sweep(&place.0, ROOMY), nothing);
        // Where memory is scarce, fewer stay.
        sweep(&place.0, SCARCE);
        assert_eq!(place.left().len(), SCARCE.newest + 3);
    }

    #[test]
    fn a_file_system_in_memory_keeps_less_once_it_is_half_full() {
        const GIGABYTE: u64 = 1 << 30;
        let newest = |kind, free| {
            let size = 10 * GIGABYTE;
            Bound::of(FileSystem { kind, free, size }).newest
        };
        const DISK: i64 = 0xEF53;
        assert_eq!(newest(IN_MEMORY, 6 * GIGABYTE), ROOMY.newest);
        assert_eq!(newest(IN_MEMORY, 4 * GIGABYTE), 1);
        assert_eq!(newest(DISK, 4 * GIGABYTE), ROOMY.newest);
        assert_eq!(newest(DISK, PLENTY - 1), SCARCE.newest);
    }

    #[test]
    fn of_many_those_without_files_go_unless_they_have_just_been_made() {
        let place = Place::new("without-files");
        let ages = (0..20).map(|number| (number, BEGUN + SECOND));
        for (number, age) in ages.chain([(20, Duration::ZERO)]) {
            let (path, _) = place.leave(number, age);
            fs::remove_file(path.join(file::CONTROL)).unwrap();
            grow_old(&path, age).unwrap();
        }
        assert_eq!(sweep(&place.0, ROOMY).removed, 20);
        assert_eq!(place.left().len(), 1);
    }

    #[test]
    fn what_is_a_day_old_goes_unless_it_is_in_use() {
        let place = Place::new("old");
        let (young, _) = place.leave(1, KEPT - SECOND * 60);
        let (used, control) = place.leave(2, KEPT * 9);
        control.try_lock().unwrap();
        let (old, _) = place.leave(3, KEPT + SECOND);
        let (unfinished, _) = place.leave(4, KEPT);
        fs::remove_file(unfinished.join(file::CONTROL)).unwrap();
        grow_old(&unfinished, KEPT * 2).unwrap();
        let expected = Swept {
            found: 4,
            opened: 3,
            removed: 2,
        };
        assert_eq!(sweep(&place.0, ROOMY), expected);
        assert_eq!(place.left(), [young, used]);
        assert!(!old.exists() && !unfinished.exists());
    }
}
