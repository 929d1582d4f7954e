//! The text of a file on the disk, and whether it is the one that ran.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use profundo_model::{Fingerprint, SourceFile};

use super::zipped;

/// A larger file is data, or generated.
pub(super) const LARGEST_FILE: u64 = 8 << 20;

/// The state of a file on disk.
#[derive(Debug, Clone, Default)]
pub(super) struct OnDisk {
    /// Its text, if that is the one that ran.
    pub(super) text: Option<String>,
    /// The text that ran, if the file is no entry of an archive.
    pub(super) state: Option<SourceFile>,
    /// The file when it was read.
    pub(super) version: Option<Version>,
}

/// Metadata that changes with the text of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Version {
    modified: SystemTime,
    /// Only the kernel sets it, so it changes even if an older text with its old time is put in
    /// place.
    changed: SystemTime,
    size: u64,
}

impl Version {
    /// The present version of a file; `None` if it is no regular file.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        metadata.is_file().then_some(())?;
        let seconds = Duration::from_secs(u64::try_from(metadata.ctime()).ok()?);
        let rest = Duration::from_nanos(u64::try_from(metadata.ctime_nsec()).ok()?);
        Some(Self {
            modified: metadata.modified().ok()?,
            changed: SystemTime::UNIX_EPOCH + seconds + rest,
            size: metadata.len(),
        })
    }

    /// True if the file may have had another text at this instant, in nanoseconds since 1970. A new
    /// hard link to a library's file changes the file and not its text, and package managers often
    /// make such links.
    pub(super) fn is_later(&self, since: u64, is_library: bool) -> bool {
        let since = instant(since);
        self.modified > since || !is_library && self.changed > since
    }
}

impl OnDisk {
    /// Reads a file that has been in use since this instant, in nanoseconds since 1970.
    pub(super) fn read(path: &Path, in_use_since: u64, is_library: bool) -> Self {
        let Some(version) = Version::of(path) else {
            return match path.exists() {
                true => Self::default(),
                false => Self::zipped(path, instant(in_use_since)),
            };
        };
        if version.is_later(in_use_since, is_library) {
            return Self {
                state: Some(SourceFile::Rewritten),
                version: Some(version),
                text: None,
            };
        }
        let Some(bytes) = bytes(path, version) else {
            return Self::default();
        };
        let state = Some(SourceFile::Ran(Fingerprint::of(&bytes)));
        let text = String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        Self {
            text: Some(text),
            state,
            version: Some(version),
        }
    }

    fn zipped(path: &Path, since: SystemTime) -> Self {
        let bytes = zipped::read(path, since, LARGEST_FILE);
        Self {
            text: bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
            ..Self::default()
        }
    }
}

fn instant(since_1970: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_nanos(since_1970)
}

/// The fingerprint of a file of this version.
pub(super) fn fingerprint(path: &Path, version: Version) -> Option<Fingerprint> {
    bytes(path, version).map(|bytes| Fingerprint::of(&bytes))
}

/// The content of a file of this version; `None` if it was written while it was read.
fn bytes(path: &Path, version: Version) -> Option<Vec<u8>> {
    if version.size > LARGEST_FILE {
        return None;
    }
    let bytes = fs::read(path).ok()?;
    let is_whole = bytes.len() as u64 == version.size && Version::of(path) == Some(version);
    is_whole.then_some(bytes)
}
