//! The standard input of several runs: a file is read by each from where the first one began. What comes from a pipe
//! or a terminal is there only once.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsFd;

/// The standard input, and where it stood.
#[derive(Debug)]
pub struct Input {
    file: Option<(File, u64)>,
}

impl Input {
    /// As it is now.
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

    /// Puts it back to where it stood: who has the same file open reads there.
    pub fn again(&self) {
        if let Some((file, at)) = &self.file {
            let mut file: &File = file;
            let _ = file.seek(SeekFrom::Start(*at));
        }
    }
}
