//! The place of a new recording: the file that was named, the standard output, or the folder of
//! recordings.

use std::path::Path;

use anyhow::{Context, Result};
use profundo_console::output::{self, Detour};
use profundo_save::recording_writer::UNBEGUN;

use super::keep::Keep;
use super::name::{Reserved, reserve};

/// The file of a recording in the making.
#[derive(Debug)]
pub enum Destination {
    /// A file that the user named.
    Named(Detour),
    /// A file with a name by program and time.
    Reserved(Reserved),
}

impl Destination {
    /// The file that was named, or one that is named after this program. With `force` it may
    /// replace another file.
    pub fn new(named: Option<&Path>, force: bool, program: &str) -> Result<Self> {
        let Some(path) = named else {
            return Ok(Self::Reserved(reserve(program).context(UNBEGUN)?));
        };
        output::check(path, output::Kind::Recording, &[], force).context(UNBEGUN)?;
        let detour = Detour::of(path, "recording").context(UNBEGUN)?;
        Ok(Self::Named(detour))
    }

    /// The path to write to.
    pub fn path(&self) -> &Path {
        match self {
            Self::Named(detour) => detour.path(),
            Self::Reserved(reserved) => reserved.path(),
        }
    }

    /// True if the recording is sent to the standard output when it is whole.
    pub fn is_stdout(&self) -> bool {
        matches!(self, Self::Named(detour) if detour.is_stdout())
    }

    /// Removes old recordings above the limit, once this one is whole.
    pub fn tidy(&self, keep: Option<Keep>) {
        if let Self::Reserved(reserved) = self {
            keep.unwrap_or_default().tidy(reserved.path());
        }
    }

    /// Brings the recording to its place, once nothing more is to be read from it.
    pub fn arrive(self) -> Result<()> {
        match self {
            Self::Named(detour) => detour.arrive(),
            Self::Reserved(_) => Ok(()),
        }
    }
}
