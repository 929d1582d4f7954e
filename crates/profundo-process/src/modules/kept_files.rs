//! Files of modules that are not where their names say: a container or a mount namespace has its
//! own under that name, or the file was removed. They are kept open, so that names can be looked up
//! when the program has ended and its container is gone.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use profundo_linux::sys;

/// By build id: by nothing else is a file known to be the one that was mapped.
static KEPT: Mutex<BTreeMap<Vec<u8>, File>> = Mutex::new(BTreeMap::new());

fn kept() -> MutexGuard<'static, BTreeMap<Vec<u8>, File>> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps a file that was mapped under a name, if another file or none has that name here.
pub(super) fn keep(name: &Path, build_id: &[u8], file: &File) {
    /// Each takes a descriptor, of which clocks and rings need most.
    const MOST: u64 = 512;
    const PART: u64 = 4;
    let (limit, _) = sys::limit(libc::RLIMIT_NOFILE).unwrap_or((u64::MAX, 0));
    let most = usize::try_from(MOST.min(limit / PART)).unwrap_or(0);
    let identity = |data: fs::Metadata| (data.dev(), data.ino());
    let is_here = || {
        let here = fs::metadata(name).map(identity).ok();
        here.is_some() && here == file.metadata().map(identity).ok()
    };
    if build_id.is_empty() || is_here() {
        return;
    }
    let mut kept = kept();
    if kept.len() < most && !kept.contains_key(build_id) {
        // Without it, the names of this file are missing.
        let _ = file
            .try_clone()
            .map(|file| kept.insert(build_id.to_vec(), file));
    }
}

/// The kept files by their build ids, as paths that are valid in this process.
pub fn paths() -> BTreeMap<Vec<u8>, PathBuf> {
    let path = |file: &File| PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    kept()
        .iter()
        .map(|(build_id, file)| (build_id.clone(), path(file)))
        .collect()
}

#[cfg(test)]
mod tests {
    use profundo_testing::Folder;

    use super::*;

    #[test]
    fn a_file_that_is_removed_can_be_read() {
        let folder = Folder::new("kept-files");
        let (there, gone) = (folder.write("there", "a"), folder.write("gone", "b"));
        let files = [&there, &gone].map(|path| File::open(path).unwrap());
        fs::remove_file(&gone).unwrap();
        keep(&there, b"there", &files[0]);
        keep(&gone, b"gone", &files[1]);
        keep(&gone, b"", &files[1]);
        drop(files);
        let paths = paths();
        assert!(!paths.contains_key(&b"there"[..]) && !paths.contains_key(&b""[..]));
        assert_eq!(fs::read(&paths[&b"gone"[..]]).unwrap(), b"b");
    }
}
