//! Where a recording goes: to the file that was named, to the standard output, or into the folder of recordings.

use std::path::Path;

use anyhow::{Context, Result};

use super::{Keep, Reserved, reserve};
use crate::output::{self, Detour};
use crate::run::UNBEGUN;

/// The file of a recording in the making.
#[derive(Debug)]
pub enum Destination {
    /// It was named.
    Named(Detour),
    /// It got a name by program and time.
    Reserved(Reserved),
}

impl Destination {
    /// The file that was named, or one with a name of this program's. `force` is the user's word that another file may go.
    pub fn new(named: Option<&Path>, force: bool, program: &str) -> Result<Self> {
        let Some(path) = named else {
            return Ok(Self::Reserved(reserve(program).context(UNBEGUN)?));
        };
        output::check(path, output::Kind::Recording, &[], force).context(UNBEGUN)?;
        let detour = Detour::of(path, "recording").context(UNBEGUN)?;
        Ok(Self::Named(detour))
    }

    /// Where it is written.
    pub fn path(&self) -> &Path {
        match self {
            Self::Named(detour) => detour.path(),
            Self::Reserved(reserved) => reserved.path(),
        }
    }

    /// Whether it is sent to the standard output when it is whole.
    pub fn is_stdout(&self) -> bool {
        matches!(self, Self::Named(detour) if detour.is_stdout())
    }

    /// It is whole: old recordings that are too many go.
    pub fn tidy(&self, keep: Option<Keep>) {
        if let Self::Reserved(reserved) = self {
            keep.unwrap_or_default().tidy(reserved.path());
        }
    }

    /// Nothing more is to be read of it: brings it to where it was to go.
    pub fn arrive(self) -> Result<()> {
        match self {
            Self::Named(detour) => detour.arrive(),
            Self::Reserved(_) => Ok(()),
        }
    }
}
