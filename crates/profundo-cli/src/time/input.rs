//! The standard input of several runs: each reads a file from the first one's start. Input from a
//! pipe or a terminal can be read only once.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsFd;

/// The standard input, and where it stood.
#[derive(Debug)]
pub struct Input {
    file: Option<(File, u64)>,
}

impl Input {
    /// The standard input, from its present position.
    pub fn now() -> Self {
        let file = io::stdin()
            .as_fd()
            .try_clone_to_owned()
            .map(File::from)
            .ok()
            .filter(|file| file.metadata().is_ok_and(|about| about.is_file()));
        let file = file.and_then(|mut file| {
            let at = file.stream_position().ok()?;
            Some((file, at))
        });
        Self { file }
    }

    /// Seeks back to the start. The offset is shared with all processes that have inherited the
    /// file.
    pub fn rewind(&self) {
        if let Some((file, at)) = &self.file {
            let mut file: &File = file;
            let _ = file.seek(SeekFrom::Start(*at));
        }
    }
}
