//! Where a recording comes from. The page asks for it again when its file has changed.

use std::fs;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use profundo_analysis::Filter;
use profundo_model::{Nanos, Profile};
use profundo_report::Listing;

/// A recording that can be read again and again.
pub trait Source: Send + Sync {
    /// Its file.
    fn path(&self) -> &Path;

    /// Reads it. Where there are too many samples for the memory, those of this stretch of time are
    /// told from the others. The error is a sentence for the reader.
    fn read(&self, within: Range<Nanos>) -> Result<Profile, String>;

    /// Whether the file is being written, so that there will be more of it.
    fn is_growing(&self) -> bool {
        false
    }

    /// The instructions of the functions with this name, the hottest first. They become locations
    /// of the profile. The error is a sentence for the reader.
    fn listings(
        &self,
        profile: &mut Profile,
        filter: &Filter,
        name: &str,
    ) -> Result<Vec<Listing>, String>;

    /// The state of the file.
    fn version(&self) -> Version {
        Version::of(self.path())
    }
}

/// The state of a file: another one is another content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Version {
    file: u64,
    size: u64,
    changed: (i64, i64),
}

impl Version {
    /// The state of a file now.
    pub fn of(path: &Path) -> Self {
        fs::metadata(path).map_or(Self::default(), |file| Self {
            file: file.ino(),
            size: file.len(),
            changed: (file.mtime(), file.mtime_nsec()),
        })
    }
}
