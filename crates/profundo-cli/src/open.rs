//! Reads a recording for a report or an export: Profundo's own file, another tool's, or the answer
//! of a store to a query.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;

use anyhow::{Result, anyhow, bail};
use profundo_analysis::Filter;
use profundo_console::progress::Progress;
use profundo_console::stderr;
use profundo_formats::{Error, Warning};
use profundo_model::{Nanos, Profile};
use profundo_save::{naming, raw};

use crate::snapshot_files::is_snapshot;
use crate::{fleet, foreign};

/// The error for a report on memory that was not recorded.
pub const NO_MEMORY: &str =
    "what is allocated was not recorded: `profundo run --memory` and `record --memory` do";

/// The precision of a recording's samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Samples {
    /// Each sample.
    Each,
    /// The sums for a stretch of time: of many millions, equal samples are one row.
    Within(Range<Nanos>),
}

impl Samples {
    /// The precision that a report with this filter needs.
    pub fn of(filter: &Filter) -> Self {
        let from = filter.from.unwrap_or_default();
        Self::Within(from..filter.to.unwrap_or(Nanos(u64::MAX)))
    }
}

/// Reads a recording, and prints warnings of what it lacks. Missing names are looked up on this
/// machine. Of another tool's file that has several values, samples weigh by the one of the name
/// `value`.
pub fn open(path: &Path, samples: Samples, value: Option<&str>) -> Result<Profile> {
    let (profile, warnings) = read(path, samples, value)?;
    warnings.iter().for_each(|warning| stderr::note(warning));
    Ok(profile)
}

/// Like [`open`], for a recording whose warnings have been printed already.
pub fn open_without_warnings(
    path: &Path,
    samples: Samples,
    value: Option<&str>,
) -> Result<Profile> {
    read(path, samples, value).map(|(profile, _)| profile)
}

/// Reads a recording with each sample and its weight as recorded, to merge it with others.
pub fn open_unsettled(path: &Path, value: Option<&str>) -> Result<Profile> {
    let (profile, warnings) = read_named(path, Samples::Each, value)?;
    warnings.iter().for_each(|warning| stderr::note(warning));
    Ok(profile)
}

fn read(path: &Path, samples: Samples, value: Option<&str>) -> Result<(Profile, Vec<String>)> {
    let (mut profile, warnings) = read_named(path, samples, value)?;
    profundo_analysis::time_lines(&mut profile);
    profundo_analysis::settle(&mut profile);
    Ok((profile, warnings))
}

/// Reads a recording, and looks up missing names.
fn read_named(
    path: &Path,
    samples: Samples,
    value: Option<&str>,
) -> Result<(Profile, Vec<String>)> {
    if let Some(query) = fleet::query(path) {
        if value.is_some() {
            bail!("a query has one value, which its `type=` chooses: cpu, wall or alloc");
        }
        return Ok((fleet::read(query)?, Vec::new()));
    }
    if let Some(reader) = foreign::reader(path) {
        return foreign::read(path, reader, value);
    }
    let has_one_value = || match value {
        Some(_) => bail!(
            "{} is a recording, whose samples have one value: `--of` looks at its memory",
            path.display()
        ),
        None => Ok(()),
    };
    if raw::is_raw(path) {
        has_one_value()?;
        return Ok((raw::read_file(path)?, Vec::new()));
    }
    let progress = Progress::start(format!("reading {}", path.display()));
    let read = match samples {
        Samples::Each => profundo_formats::read_file(path),
        Samples::Within(time) => profundo_formats::gather_file(path, time),
    };
    drop(progress);
    let (mut profile, warnings) = read.map_err(|error| why(path, error))?;
    has_one_value()?;
    let samples = profile.samples.len();
    naming::complete(&mut profile, samples);
    let warnings = warnings.iter().map(|warning| words(path, warning));
    Ok((profile, warnings.collect()))
}

/// The error for a file that cannot be read, in the words of a user.
pub fn why(path: &Path, error: Error) -> anyhow::Error {
    let shown = path.display();
    match error {
        Error::File { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            anyhow!("there is no recording {shown}; `profundo list` shows those that there are")
        }
        Error::File { .. } if fleet::is_folder(path) => {
            fleet::without_query(path).map_or_else(|error| error, anyhow::Error::msg)
        }
        Error::File { source, .. } => {
            anyhow!("cannot read {shown}: {}", stderr::reason(&source))
        }
        Error::Content { source, .. } => why(path, *source),
        Error::NotAProfile if is_snapshot(path) => anyhow!(
            "{shown} is a heap snapshot and no recording; `profundo heap {shown}` prints what it says"
        ),
        Error::NotAProfile if raw::is_raw(path) => anyhow!(
            "{shown} is what a program has recorded of itself; `profundo export {shown} --to profundo -o FILE` \
             makes a whole recording of it"
        ),
        Error::NotAProfile
            if path
                .metadata()
                .is_ok_and(|file| file.len() == 0 && file.is_file()) =>
        {
            anyhow!("{shown} is empty")
        }
        Error::NotAProfile if is_program(path) => anyhow!(
            "{shown} is not a recording but a program; `profundo run {shown}` records it, and `run --view` opens its page"
        ),
        Error::NotAProfile => match foreign::refusal(path) {
            Some(refusal) => anyhow!("cannot read {shown}: {refusal}"),
            None => anyhow!(
                "{shown} is neither a recording of profundo's nor a profile in a format that it knows; \
                 `profundo record -o FILE -- CMD` makes one"
            ),
        },
        Error::UnknownVersion { version, newest } => anyhow!(
            "{shown} is of format version {version} and this profundo reads up to {newest}; a newer profundo reads it"
        ),
        other => anyhow::Error::new(other).context(format!("cannot read {shown}")),
    }
}

/// Whether a file is something to run: a Python program, a script, an executable.
fn is_program(path: &Path) -> bool {
    // A pipe is not read a second time.
    if !path.is_file() {
        return false;
    }
    let mut head = [0; 4];
    let read = File::open(path).and_then(|file| file.take(4).read(&mut head));
    let is_marked = read.is_ok() && (head.starts_with(b"#!") || head == *b"\x7fELF");
    is_marked || path.extension().is_some_and(|ending| ending == "py")
}

/// A warning in a sentence.
fn words(path: &Path, warning: &Warning) -> String {
    let shown = path.display();
    match warning {
        Warning::Cut { samples, .. } if profundo_formats::is_being_written(path) => {
            format!("{shown} is still being recorded: this is what it has now, {samples} samples")
        }
        Warning::Cut { samples, .. } => format!(
            "{shown} has no end: its writer was stopped, or it was cut; {samples} samples were read \
             (`profundo recover {shown}` may find more)"
        ),
        other => format!("{shown}: {other}"),
    }
}
