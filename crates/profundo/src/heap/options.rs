//! Options of a snapshot: its content and its destination.

use std::io::Write;
use std::path::Path;

use super::place::{Place, new_name};
use super::snapshot::{Snapshot, take};
use crate::error::Result;

/// Options of a snapshot to take.
#[derive(Debug, Clone)]
#[must_use = "nothing happens until `take` or `write` is called"]
pub struct Options {
    pub(super) all_one: bool,
    pub(super) redact: bool,
    pub(super) is_streaming: bool,
    place: Place,
}

/// The default options.
pub fn options() -> Options {
    Options {
        all_one: false,
        redact: true,
        is_streaming: false,
        place: Place::Current,
    }
}

impl Options {
    /// Counts each object as one byte, so that viewers show numbers of objects where they show
    /// sizes.
    pub fn all_one(mut self, all_one: bool) -> Self {
        self.all_one = all_one;
        self
    }

    /// Whether the contents of strings are left out, the default. Otherwise blocks of strings are
    /// named by their first 1024 bytes.
    pub fn redact(mut self, redact: bool) -> Self {
        self.redact = redact;
        self
    }

    /// Leaves the four part files, which are written as the heap is traversed.
    /// [`assemble`](super::assemble) makes them one file, wherever there is memory for that.
    pub fn streaming(mut self, is_streaming: bool) -> Self {
        self.is_streaming = is_streaming;
        self
    }

    /// Writes to this path; an existing file is replaced when the snapshot is complete. Of a
    /// streamed snapshot, the prefix of the part files' names.
    pub fn to(mut self, path: impl AsRef<Path>) -> Self {
        self.place = Place::Path(path.as_ref().to_owned());
        self
    }

    /// Writes to a new file in this directory. A leading `~` is the home directory.
    pub fn dir(mut self, dir: impl AsRef<Path>) -> Self {
        self.place = Place::Folder(dir.as_ref().to_owned());
        self
    }

    /// Takes the snapshot.
    pub fn take(self) -> Result<Snapshot> {
        let path = self.place.path();
        take(&self, path)
    }

    /// Takes the snapshot and writes it to `out`.
    pub fn write(self, out: &mut dyn Write) -> Result<Snapshot> {
        let path = std::env::temp_dir().join(new_name());
        let whole = Self {
            is_streaming: false,
            ..self
        };
        let snapshot = take(&whole, path)?;
        let copied =
            std::fs::File::open(snapshot.path()).and_then(|mut file| std::io::copy(&mut file, out));
        let removed = std::fs::remove_file(snapshot.path());
        copied?;
        removed?;
        Ok(snapshot.without_path())
    }
}
