//! The session's directory, and the two files that it has from the start.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use profundo_linux::map::SharedMap;
use profundo_linux::sys;
use profundo_probe::shared::{Control, MAGIC, MAX_RINGS, file};

use crate::error::Error;
use crate::files::{KEYS, PREFIX, has_room, make_file, remove};
use crate::stale::remove_stale;
use crate::within::{Within, reaches, shares_memory_folder};

/// The keys of the programs that have the rings.
#[derive(Debug)]
#[repr(C)]
pub struct Keys(pub [AtomicU32; MAX_RINGS]);

/// A session's directory. It is removed with its owner.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    control: SharedMap,
    keys: SharedMap,
    /// The lock that shows that the command is alive. Children close it at `exec`.
    lock: File,
    /// Where it is, if it lies in the root directory of another process.
    within: Option<Within>,
    /// Whether the directory is removed when this is dropped.
    pub temporary: bool,
}

impl Directory {
    /// Makes a directory in memory, or on disk where memory has no room.
    pub fn create(place: Option<&Path>) -> Result<Self, Error> {
        let fallback = std::env::temp_dir();
        let mut places = match place {
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
        Err(Error::NoRoom {
            fallback: places.pop().unwrap_or(fallback),
            source: last,
        })
    }

    /// Makes a directory in this place.
    pub fn create_in(place: &Path) -> io::Result<Self> {
        if !has_room(place)? {
            return Err(io::Error::from_raw_os_error(libc::ENOSPC));
        }
        let path = make_unique(place)?;
        let made = Self::fill(&path);
        if made.is_err() {
            remove(&path);
        }
        made
    }

    /// Makes a directory that a process which runs already can reach: in its own root directory, if
    /// it has another one than we have.
    pub fn create_for(pid: u32, place: Option<&Path>) -> Result<Self, Error> {
        if shares_memory_folder(pid) {
            return Self::create(place);
        }
        let failed = |source| Error::Elsewhere { pid, source };
        let within = Within::make(pid).map_err(failed)?;
        let made = Self::fill(&within.ours);
        if made.is_err() {
            remove(&within.ours);
            within.remove();
        }
        let mut made = made.map_err(failed)?;
        made.within = Some(within);
        Ok(made)
    }

    fn fill(path: &Path) -> io::Result<Self> {
        let lock = make_file(&path.join(file::CONTROL), size_of::<Control>())?;
        // Waits for commands that are testing the lock at this moment.
        lock.lock()?;
        let control = SharedMap::new(&lock, size_of::<Control>())?;
        let keys = make_file(&path.join(KEYS), size_of::<Keys>())?;
        let keys = SharedMap::new(&keys, size_of::<Keys>())?;
        let directory = Self {
            path: path.to_owned(),
            control,
            keys,
            lock,
            within: None,
            temporary: true,
        };
        let control = directory.control();
        control.command.store(std::process::id(), Ordering::Relaxed);
        // Release: a reader of the magic finds the rest of the file initialised.
        control.magic.store(MAGIC, Ordering::Release);
        Ok(directory)
    }

    /// The directory's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory's path, as the recorded programs have it.
    pub fn path_for_programs(&self) -> &Path {
        self.within
            .as_ref()
            .map_or(&self.path, |within| &within.theirs)
    }

    /// Whether it lies in the root directory of another process, whose programs may be anyone's.
    pub fn is_elsewhere(&self) -> bool {
        self.within.is_some()
    }

    /// Whether a process reaches it by the path for programs.
    pub fn is_reached_by(&self, pid: u32) -> bool {
        let control = self.path_for_programs().join(file::CONTROL);
        self.within.is_none() && shares_memory_folder(pid) || reaches(pid, &self.lock, &control)
    }

    /// The words that all programs share with the recorder.
    pub fn control(&self) -> &Control {
        // SAFETY: it is made of atomics.
        unsafe { self.control.as_ref() }
    }

    /// The keys of the rings' programs, for a recovery.
    pub fn keys(&self) -> &Keys {
        // SAFETY: it is made of atomics.
        unsafe { self.keys.as_ref() }
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if self.temporary {
            remove(&self.path);
            if let Some(within) = &self.within {
                within.remove();
            }
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

/// Opens a session's control file, if it is one of this version.
pub fn open_control(path: &Path) -> io::Result<(File, SharedMap)> {
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
pub fn is_recorded(control: &File) -> bool {
    match control.try_lock() {
        Ok(()) => {
            let _ = control.unlock();
            false
        }
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stale::list;
    use std::fs;
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
    fn a_missing_place_is_an_error() {
        let error = Directory::create(Some(Path::new("/nowhere/at/all"))).unwrap_err();
        assert!(error.to_string().contains("/nowhere/at/all"), "{error}");
    }
}
