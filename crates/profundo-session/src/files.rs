//! The files of a session's directory: their names, and how they are made and removed.

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::keep;
use profundo_linux::container::AsUser;
use profundo_linux::map::allocate;
use profundo_linux::sys;
use profundo_probe::shared::{CALLS_FILE, CUT_CALLS_FILE, MAX_RINGS, STACKS_FILE, SUMS_FILE, file};

/// The file of the programs' keys in the recording, by ring, for a recovery after the command was
/// killed. Agents do not read it.
pub const KEYS: &str = "keys";

/// The file that names the recording: see `remains`.
pub const RECORDING: &str = "recording";

/// The start of a directory's name, before its user, its command and a number.
pub(super) const PREFIX: &str = "profundo-";

/// Room for a ring or two, and for tables of a program with a few libraries.
const NEEDED: u64 = 8 << 20;

/// Whether a place has room for a session.
pub(super) fn has_room(place: &Path) -> io::Result<bool> {
    sys::free_space(place).map(|free| free >= NEEDED)
}

/// Opens a file of a session to read and write it. The recorded programs may have written to the
/// directory, so no link is followed.
pub fn open_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true);
    options
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)
}

/// A new file of zeros with its memory allocated. It gets the owner of its folder.
pub fn make_file(path: &Path, bytes: usize) -> io::Result<File> {
    let _guard = path.parent().and_then(AsUser::owning);
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    allocate(&file, 0, bytes)?;
    Ok(file)
}

/// The free bytes of the file system.
pub fn free_bytes(directory: &Path) -> u64 {
    let Ok(path) = CString::new(directory.as_os_str().as_bytes()) else {
        return 0;
    };
    let mut facts = MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: the path is a C string, and the facts are written to a place for them.
    match unsafe { libc::statvfs(path.as_ptr(), facts.as_mut_ptr()) } {
        0 => {
            // SAFETY: it was filled in.
            let facts = unsafe { facts.assume_init() };
            facts.f_bavail.saturating_mul(facts.f_frsize)
        }
        _ => 0,
    }
}

/// The files that a session has once.
const NAMES: [&str; 5] = [file::CONTROL, file::TABLES, file::LINES, KEYS, RECORDING];

/// Removes a session's directory, and in it only what is a session's.
pub fn remove(path: &Path) {
    let listed = fs::read_dir(path).and_then(Iterator::collect);
    match listed {
        Ok(entries) => remove_listed(entries),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return,
        // Without a free descriptor, as in a command that has reached its limit.
        Err(_) => remove_unlisted(path),
    }
    // The directory stays if it has other files.
    let _ = fs::remove_dir(path);
}

fn remove_listed(entries: Vec<fs::DirEntry>) {
    for entry in entries {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_ours = NAMES.contains(&name.as_ref())
            || name.starts_with(file::RING)
            || name.starts_with(SUMS_FILE)
            || name.starts_with(STACKS_FILE)
            || name.starts_with(CALLS_FILE)
            || name.starts_with(CUT_CALLS_FILE)
            || keep::is_one(&name);
        if is_ours {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Removes the files whose names are known without a list: all but parts of the tables of calls,
/// and what `--last` has kept.
fn remove_unlisted(path: &Path) {
    const NUMBERED: [&str; 5] = [
        file::RING,
        SUMS_FILE,
        STACKS_FILE,
        CALLS_FILE,
        CUT_CALLS_FILE,
    ];
    for name in NAMES {
        let _ = fs::remove_file(path.join(name));
    }
    for ring in 0..MAX_RINGS {
        for name in NUMBERED {
            let _ = fs::remove_file(path.join(format!("{name}{ring}")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_goes_with_all_files_of_a_session_and_no_others() {
        let folder = std::env::temp_dir().join(format!("profundo-files-{}", std::process::id()));
        let own = [
            file::CONTROL,
            file::TABLES,
            file::LINES,
            KEYS,
            RECORDING,
            "ring.0",
            "calls.0",
            "calls.0.3",
            "cut-calls.0",
            "keep-7",
            "kept-7",
        ];
        fs::create_dir(&folder).unwrap();
        for name in own.into_iter().chain(["another"]) {
            fs::write(folder.join(name), "").unwrap();
        }
        remove(&folder);
        let left = fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name());
        assert_eq!(Vec::from_iter(left), ["another"]);
        fs::remove_file(folder.join("another")).unwrap();
        remove(&folder);
        assert!(!folder.exists());
    }

    #[test]
    fn files_go_without_a_list_of_them() {
        let folder = std::env::temp_dir().join(format!("profundo-unlisted-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        for name in [file::CONTROL, "ring.0", "ring.1023", "calls.7", "another"] {
            fs::write(folder.join(name), "").unwrap();
        }
        remove_unlisted(&folder);
        let left = fs::read_dir(&folder).unwrap();
        let left = left.map(|entry| entry.unwrap().file_name());
        assert_eq!(Vec::from_iter(left), ["another"]);
        fs::remove_dir_all(folder).unwrap();
    }
}
