//! Opening a recording to look at it.

use std::io;
use std::ops::Range;
use std::path::Path;

use anyhow::{Result, anyhow};
use profundo_analysis::Filter;
use profundo_formats::{Error, Warning};
use profundo_model::{Nanos, Profile};

use crate::heap;
use crate::naming;
use crate::output;
use crate::progress::Progress;
use crate::stderr;

/// Why there is nothing to say about memory.
pub const NO_MEMORY: &str =
    "what is allocated was not recorded: `profundo run --memory` and `record --memory` do";

/// How much has to be known of a recording's samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Samples {
    /// Each of them.
    Each,
    /// What those of a stretch of time add up to: where there are many millions, those that are alike are one row.
    Within(Range<Nanos>),
}

impl Samples {
    /// All that a report with this filter asks for.
    pub fn of(filter: &Filter) -> Self {
        let from = filter.from.unwrap_or_default();
        Self::Within(from..filter.to.unwrap_or(Nanos(u64::MAX)))
    }
}

/// Reads a recording. What is missing from it is said, and names that it lacks are looked for on
/// this machine.
pub fn open(path: &Path, samples: Samples) -> Result<Profile> {
    let (profile, warnings) = read(path, samples)?;
    for warning in &warnings {
        tell(path, warning);
    }
    Ok(profile)
}

/// As [`open`], where what is missing has been said already.
pub fn open_quietly(path: &Path, samples: Samples) -> Result<Profile> {
    read(path, samples).map(|(profile, _)| profile)
}

fn read(path: &Path, samples: Samples) -> Result<(Profile, Vec<Warning>)> {
    let progress = Progress::start(format!("reading {}", path.display()));
    let read = match samples {
        Samples::Each => profundo_formats::read_file(path),
        Samples::Within(time) => profundo_formats::gather_file(path, time),
    };
    drop(progress);
    let (mut profile, warnings) = read.map_err(|error| why(path, error))?;
    let samples = profile.samples.len();
    naming::complete(&mut profile, samples);
    profundo_analysis::time_lines(&mut profile);
    profundo_analysis::settle(&mut profile);
    Ok((profile, warnings))
}

/// Refuses to put a recording in the place of anything else than nothing or another recording, or where it could
/// not be read again.
pub fn may_replace(path: &Path, force: bool) -> Result<(), output::Refused> {
    if output::is_stdout(path) {
        return Err(output::Refused::new(
            "the page goes to the standard output; name a file for the recording",
        ));
    }
    output::check(path, output::Kind::Recording, &[], force)
}

/// Why a file cannot be written.
pub fn why_not_written(path: &Path, error: Error) -> anyhow::Error {
    match error {
        Error::File { source, .. } if source.kind() == io::ErrorKind::IsADirectory => {
            anyhow!("cannot write {}: it is a folder", path.display())
        }
        Error::File { source, .. } => {
            let folder = match path.parent() {
                Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
                Some(folder) => folder,
                None => Path::new("/"),
            };
            anyhow!(
                "cannot write {} ({}); name a place in a folder other than {} with -o FILE",
                path.display(),
                stderr::reason(&source),
                folder.display()
            )
        }
        other => other.into(),
    }
}

/// Why a file cannot be read, for somebody who did not write this program.
pub fn why(path: &Path, error: Error) -> anyhow::Error {
    let shown = path.display();
    match error {
        Error::File { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            anyhow!("there is no recording {shown}; `profundo list` shows those that there are")
        }
        Error::File { source, .. } => {
            anyhow!("cannot read {shown}: {}", stderr::reason(&source))
        }
        Error::Content { source, .. } => why(path, *source),
        Error::NotAProfile if heap::is_snapshot(path) => anyhow!(
            "{shown} is a heap snapshot and no recording; `profundo heap {shown}` prints what it says"
        ),
        Error::NotAProfile => anyhow!(
            "{shown} is not a recording of profundo's; `profundo record -o FILE -- CMD` makes one"
        ),
        Error::UnknownVersion { version, newest } => anyhow!(
            "{shown} is of format version {version} and this profundo reads up to {newest}; a newer profundo reads it"
        ),
        other => anyhow::Error::new(other).context(format!("cannot read {shown}")),
    }
}

fn tell(path: &Path, warning: &Warning) {
    let shown = path.display();
    match warning {
        Warning::Cut { samples, .. } if profundo_formats::is_being_written(path) => stderr::note(
            &format!("{shown} is still being recorded: this is what it has now, {samples} samples"),
        ),
        Warning::Cut { samples, .. } => stderr::note(&format!(
            "{shown} has no end: its writer was stopped, or it was cut; {samples} samples were read \
             (`profundo recover {shown}` may find more)"
        )),
        other => stderr::note(&format!("{shown}: {other}")),
    }
}
