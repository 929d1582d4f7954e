//! A session's directory for a process with another root directory, as in a container: it lies in
//! that root, where the process finds it. It is made as the user of the process, and goes like any
//! other.
//!
//! The programs in the container may be anyone's, and may put links into its folders. So no link is
//! followed on the way, and the directory is used by a descriptor afterwards.

use std::ffi::{CStr, CString};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use profundo_linux::container::{AsUser, file_user};

use crate::files::{PREFIX, has_room};

/// The folders in which the directory may lie, as their parts: the best first.
const PLACES: [&[&CStr]; 5] = [
    &[c"dev", c"shm"],
    &[c"tmp"],
    &[c"run"],
    &[c"var", c"tmp"],
    &[c"run", c"shm"],
];

/// A directory in the root of another process.
#[derive(Debug)]
pub(crate) struct Within {
    /// The folder that it lies in, and its name there.
    parent: OwnedFd,
    name: CString,
    /// The directory, open as long as it is used.
    _directory: OwnedFd,
    /// Its path for us, and for the programs.
    pub(crate) ours: PathBuf,
    pub(crate) theirs: PathBuf,
}

/// Whether a process finds our sessions where we have them: in `/dev/shm`, which it may write to.
pub(crate) fn shares_memory_folder(pid: u32) -> bool {
    let its = format!("/proc/{pid}/root/dev/shm");
    let is_same =
        |ours: &fs::Metadata, its: fs::Metadata| (ours.dev(), ours.ino()) == (its.dev(), its.ino());
    match fs::metadata("/dev/shm") {
        Ok(ours) => {
            fs::metadata(&its).is_ok_and(|its| is_same(&ours, its)) && !is_read_only(its.as_ref())
        }
        // Without it, our sessions are among the temporary files.
        Err(_) => {
            let place = std::env::temp_dir();
            let below = place.strip_prefix("/").unwrap_or(&place);
            let its = Path::new(&format!("/proc/{pid}/root")).join(below);
            let its = fs::metadata(its);
            fs::metadata(&place).is_ok_and(|ours| its.is_ok_and(|its| is_same(&ours, its)))
        }
    }
}

fn is_read_only(path: &Path) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_encoded_bytes()) else {
        return false;
    };
    // SAFETY: the path ends in a NUL; zeroed is a valid answer, and it is ours to write.
    unsafe {
        let mut answer: libc::statvfs = std::mem::zeroed();
        libc::statvfs(path.as_ptr(), &mut answer) == 0 && answer.f_flag & libc::ST_RDONLY != 0
    }
}

impl Within {
    /// Makes a directory in the root of a process.
    pub(crate) fn make(pid: u32) -> io::Result<Self> {
        let (user, group) = file_user(pid).ok_or(io::ErrorKind::NotFound)?;
        let root = File::open(format!("/proc/{pid}/root"))?;
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for parts in PLACES {
            let made = folder(&root, parts).and_then(|parent| {
                let path = parts.iter().fold(PathBuf::from("/"), |path, part| {
                    path.join(part.to_string_lossy().as_ref())
                });
                Self::make_in(parent, &path, user, group)
            });
            match made {
                Ok(made) => return Ok(made),
                // A folder that is missing says less than one that is full.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn make_in(parent: OwnedFd, path: &Path, user: u32, group: u32) -> io::Result<Self> {
        let place = path_of(&parent);
        if is_read_only(&place) {
            return Err(io::Error::from_raw_os_error(libc::EROFS));
        }
        if !has_room(&place)? {
            return Err(io::Error::from_raw_os_error(libc::ENOSPC));
        }
        let number = profundo_probe::clock::now() & 0xFFFF_FFFF;
        let name = format!("{PREFIX}{user}-{}-{number:08x}", std::process::id());
        let theirs = path.join(&name);
        let name = CString::new(name)?;
        let _guard = AsUser::of(user, group);
        // SAFETY: the name ends in a NUL.
        if unsafe { libc::mkdirat(parent.as_raw_fd(), name.as_ptr(), 0o700) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let directory = open_at(&parent, &name, libc::O_RDONLY)?;
        let ours = path_of(&directory);
        let data = fs::metadata(&ours)?;
        if data.uid() != user || data.mode() & 0o777 != 0o700 {
            // Something else has taken its place.
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Ok(Self {
            parent,
            name,
            _directory: directory,
            ours,
            theirs,
        })
    }

    /// Removes the directory, which is empty.
    pub(crate) fn remove(&self) {
        let how = libc::AT_REMOVEDIR;
        // SAFETY: the name ends in a NUL. A directory that is not empty stays.
        unsafe { libc::unlinkat(self.parent.as_raw_fd(), self.name.as_ptr(), how) };
    }
}

/// The path by which this process reaches an open folder.
fn path_of(folder: &OwnedFd) -> PathBuf {
    format!("/proc/self/fd/{}", folder.as_raw_fd()).into()
}

/// Opens a folder below a root. No part of the way is a link.
fn folder(root: &File, parts: &[&CStr]) -> io::Result<OwnedFd> {
    let mut folder = OwnedFd::from(root.try_clone()?);
    for part in parts {
        folder = open_at(&folder, part, libc::O_PATH)?;
    }
    Ok(folder)
}

fn open_at(folder: &OwnedFd, name: &CStr, how: i32) -> io::Result<OwnedFd> {
    let flags = how | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    // SAFETY: the name ends in a NUL.
    let opened = unsafe { libc::openat(folder.as_raw_fd(), name.as_ptr(), flags) };
    if opened < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new, and ours alone.
    Ok(unsafe { OwnedFd::from_raw_fd(opened) })
}

/// Whether a process reaches the session whose control file this is, by the path for programs.
pub(crate) fn reaches(pid: u32, control: &File, theirs: &Path) -> bool {
    let below = theirs.strip_prefix("/").unwrap_or(theirs);
    let its = fs::metadata(Path::new(&format!("/proc/{pid}/root")).join(below));
    let both = control.metadata().and_then(|ours| Ok((ours, its?)));
    both.is_ok_and(|(ours, its)| (ours.dev(), ours.ino()) == (its.dev(), its.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::Directory;
    use profundo_probe::shared::file;

    #[test]
    fn a_directory_in_a_root_is_found_there_and_removed() {
        // Our own root is one, too.
        let own = std::process::id();
        let within = Within::make(own).unwrap();
        let control = within.ours.join(file::CONTROL);
        fs::write(&control, "x").unwrap();
        assert_eq!(fs::read(within.theirs.join(file::CONTROL)).unwrap(), b"x");
        let open = File::open(&control).unwrap();
        assert!(reaches(own, &open, &within.theirs.join(file::CONTROL)));
        assert!(!reaches(own, &open, Path::new("/dev/null")));
        fs::remove_file(&control).unwrap();
        within.remove();
        assert!(!within.theirs.exists());
        let directory = Directory::create_for(own, None).unwrap();
        assert_eq!(directory.path(), directory.path_for_programs());
    }

    #[test]
    fn no_link_is_followed() {
        let base = std::env::temp_dir().join(format!("profundo-within-{}", std::process::id()));
        fs::create_dir(&base).unwrap();
        std::os::unix::fs::symlink("/tmp", base.join("tmp")).unwrap();
        let root = File::open(&base).unwrap();
        assert!(folder(&root, &[c"tmp"]).is_err());
        fs::remove_dir_all(&base).unwrap();
    }
}
