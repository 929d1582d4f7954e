//! The destination of a snapshot.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

/// The destination of a snapshot.
#[derive(Debug, Clone)]
pub(super) enum Place {
    /// A new file in the current directory, or else in the temporary one.
    Current,
    /// A new file in this directory.
    Folder(PathBuf),
    /// This path.
    Path(PathBuf),
}

impl Place {
    pub(super) fn path(&self) -> PathBuf {
        match self {
            Self::Path(path) => path.clone(),
            Self::Folder(folder) => expanded(folder).join(new_name()),
            Self::Current => {
                let current = std::env::current_dir().unwrap_or_default();
                let path = current.join(new_name());
                if is_writable(&current) {
                    return path;
                }
                let other = std::env::temp_dir();
                warn_once(&current, &other);
                other.join(new_name())
            }
        }
    }
}

/// A unique file name: the process's number and the time in nanoseconds.
pub(super) fn new_name() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanoseconds = now.map_or(0, |now| now.as_nanos());
    format!("{}_{nanoseconds}.heapsnapshot", std::process::id())
}

fn expanded(folder: &Path) -> PathBuf {
    match (folder.strip_prefix("~"), std::env::home_dir()) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => folder.to_owned(),
    }
}

fn is_writable(folder: &Path) -> bool {
    use std::os::unix::ffi::OsStrExt;
    let Ok(path) = std::ffi::CString::new(folder.as_os_str().as_bytes()) else {
        return false;
    };
    // SAFETY: a string that ends in a NUL; the call changes nothing.
    unsafe { libc::access(path.as_ptr(), libc::W_OK | libc::X_OK) == 0 }
}

fn warn_once(folder: &Path, other: &Path) {
    static WARNED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
    let mut warned = WARNED.lock().unwrap_or_else(|error| error.into_inner());
    if !warned.iter().any(|known| known == folder) {
        warned.push(folder.to_owned());
        crate::warn::warn(&format!(
            "{} cannot be written to; heap snapshots go to {}",
            folder.display(),
            other.display()
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        let name = new_name();
        let (pid, rest) = name.split_once('_').unwrap();
        assert_eq!(pid, std::process::id().to_string());
        let time = rest.strip_suffix(".heapsnapshot").unwrap();
        assert!(time.parse::<u64>().unwrap() > 1_600_000_000_000_000_000);
        let home = std::env::home_dir().unwrap();
        assert_eq!(expanded(Path::new("~/a/b")), home.join("a/b"));
        assert_eq!(expanded(Path::new("/x/~")), Path::new("/x/~"));
        assert!(is_writable(&std::env::temp_dir()) && !is_writable(Path::new("/proc/nothing")));
    }
}
