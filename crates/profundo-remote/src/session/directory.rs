//! Making the directory and its two files that are there from the beginning.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use profundo_probe::shared::{Control, MAGIC, MAX_RINGS, STACKS_FILE, SUMS_FILE, file};

use super::stale::remove_stale;
use crate::error::Error;
use crate::map::{SharedMap, allocate};
use crate::permits::no_room;
use crate::sys;

/// Which number in the recording a ring's program has, for whoever has to read the rings after
/// the command was killed. The file is ours; agents do not look at it.
pub(crate) const KEYS: &str = "keys";

/// Which file is recorded into: see `remains`.
pub(crate) const RECORDING: &str = "recording";

/// The keys of the programs that have the rings.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Keys(pub(crate) [AtomicU32; MAX_RINGS]);

/// What a session's directory is called, before its user, its command and a number.
pub(super) const PREFIX: &str = "profundo-";

/// A ring or two, and tables for a program with a few libraries.
const NEEDED: u64 = 8 << 20;

/// A session's directory, which goes with its owner.
#[derive(Debug)]
pub(crate) struct Directory {
    path: PathBuf,
    control: SharedMap,
    keys: SharedMap,
    /// Holds the lock that says that the command is alive. Children close it when they execute.
    _lock: File,
    /// Whether the directory is removed when this is dropped.
    pub(crate) temporary: bool,
}

impl Directory {
    /// Makes a directory in memory, or else on disk.
    pub(crate) fn create(place: Option<&Path>) -> Result<Self, Error> {
        let fallback = std::env::temp_dir();
        let places = match place {
            Some(place) => vec![place.to_owned()],
            None => vec![PathBuf::from("/dev/shm"), fallback.clone()],
        };
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for place in &places {
            remove_stale(place);
            match Self::create_in(place) {
                Ok(directory) => return Ok(directory),
                Err(error) => last = error,
            }
        }
        let fallback = places.last().unwrap_or(&fallback);
        Err(Error::Refused(no_room(fallback, &last)))
    }

    pub(crate) fn create_in(place: &Path) -> io::Result<Self> {
        if sys::free_space(place)? < NEEDED {
            return Err(io::Error::from_raw_os_error(libc::ENOSPC));
        }
        let path = make_unique(place)?;
        let made = Self::fill(&path);
        if made.is_err() {
            remove(&path);
        }
        made
    }

    fn fill(path: &Path) -> io::Result<Self> {
        let lock = make_file(&path.join(file::CONTROL), size_of::<Control>())?;
        // Waits for those who look at this very moment whether it is in use.
        lock.lock()?;
        let control = SharedMap::new(&lock, size_of::<Control>())?;
        let keys = make_file(&path.join(KEYS), size_of::<Keys>())?;
        let keys = SharedMap::new(&keys, size_of::<Keys>())?;
        let directory = Self {
            path: path.to_owned(),
            control,
            keys,
            _lock: lock,
            temporary: true,
        };
        let control = directory.control();
        control.command.store(std::process::id(), Ordering::Relaxed);
        // Release: whoever finds the magic finds the rest of the file as it should be.
        control.magic.store(MAGIC, Ordering::Release);
        Ok(directory)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn control(&self) -> &Control {
        // SAFETY: it is made of atomics.
        unsafe { self.control.as_ref() }
    }

    pub(crate) fn keys(&self) -> &Keys {
        // SAFETY: it is made of atomics.
        unsafe { self.keys.as_ref() }
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if self.temporary {
            remove(&self.path);
        }
    }
}

/// A new directory that only its owner may enter.
fn make_unique(place: &Path) -> io::Result<PathBuf> {
    let user = sys::user();
    let process = std::process::id();
    for attempt in 0..64_u64 {
        let number = profundo_probe::clock::now().wrapping_add(attempt << 20) & 0xFFFF_FFFF;
        let path = place.join(format!("{PREFIX}{user}-{process}-{number:08x}"));
        match DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(()) => return Ok(path),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// A new file of zeros with its memory allocated.
pub(crate) fn make_file(path: &Path, bytes: usize) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    allocate(&file, 0, bytes)?;
    Ok(file)
}

/// Opens a session's control file, if it is one of this version.
pub(crate) fn open_control(path: &Path) -> io::Result<(File, SharedMap)> {
    let control = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NOFOLLOW)
        .open(path.join(file::CONTROL))?;
    let map = SharedMap::new(&control, size_of::<Control>())?;
    // SAFETY: it is made of atomics.
    let found: &Control = unsafe { map.as_ref() };
    if found.magic.load(Ordering::Acquire) != MAGIC {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok((control, map))
}

/// Whether the command that made this control file is alive.
pub(crate) fn is_recorded(control: &File) -> bool {
    match control.try_lock() {
        Ok(()) => {
            let _ = control.unlock();
            false
        }
        Err(_) => true,
    }
}

/// Removes a session's directory, and in it only what is a session's.
pub(crate) fn remove(path: &Path) {
    let Ok(entries) = fs::read_dir(path) else {
        return;
    };
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_ours = [file::CONTROL, file::TABLES, KEYS, RECORDING].contains(&name.as_ref())
            || name.starts_with(file::RING)
            || name.starts_with(SUMS_FILE)
            || name.starts_with(STACKS_FILE);
        if is_ours {
            let _ = fs::remove_file(entry.path());
        }
    }
    // It stays if anybody put something else there.
    let _ = fs::remove_dir(path);
}

#[cfg(test)]
mod tests {
    use super::super::stale::list;
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_directory_is_private_and_goes_with_its_owner() {
        let place = std::env::temp_dir();
        let directory = Directory::create(Some(&place)).unwrap();
        let path = directory.path().to_owned();
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o700
        );
        let control = fs::metadata(path.join(file::CONTROL)).unwrap();
        assert_eq!(control.permissions().mode() & 0o777, 0o600);
        assert!(list(&place).contains(&path));
        let (control, _map) = open_control(&path).unwrap();
        assert!(is_recorded(&control));
        drop(directory);
        assert!(!path.exists());
        assert!(!is_recorded(&control));
    }

    #[test]
    fn a_place_that_is_not_there_is_told() {
        let error = Directory::create(Some(Path::new("/nowhere/at/all"))).unwrap_err();
        assert!(error.to_string().contains("/nowhere/at/all"), "{error}");
    }
}
