//! The text of source lines: from the profile, which may carry them, and otherwise from the disk,
//! as long as the file there is the one that ran.

use std::path::Path;
use std::time::UNIX_EPOCH;

use profundo_model::{FileId, Profile};

/// A file that is larger is data, or a trap.
const LARGEST: u64 = 16 << 20;

/// The text of one file.
#[derive(Debug)]
pub(crate) struct Source {
    /// What the disk has, where it can be trusted.
    lines: Option<Vec<String>>,
    /// Why the disk was of no help.
    pub problem: Option<Problem>,
}

/// Why there is no text on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Problem {
    /// There is no such file.
    Missing,
    /// The file is not the one that ran.
    Changed,
}

impl Problem {
    /// What the reader is told.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Missing => "source not found",
            Self::Changed => "source changed since the recording",
        }
    }

    /// The word in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Changed => "changed",
        }
    }
}

impl Source {
    /// Looks for a file, on the disk only where that is wanted.
    pub(crate) fn of(profile: &Profile, file: FileId, from_disk: bool) -> Self {
        let path = profile.strings.get(profile.files.get(file).path);
        let found = if from_disk && !path.is_empty() {
            read(profile, file, Path::new(path))
        } else {
            Err(Problem::Missing)
        };
        match found {
            Ok(lines) => Self {
                lines: Some(lines),
                problem: None,
            },
            Err(problem) => Self {
                lines: None,
                problem: Some(problem),
            },
        }
    }

    /// The text of a line, from 1.
    pub(crate) fn line<'a>(
        &'a self,
        profile: &'a Profile,
        file: FileId,
        line: u32,
    ) -> Option<&'a str> {
        if let Some(kept) = profile.sources.get(file, line) {
            return Some(profile.strings.get(kept));
        }
        let index = (line as usize).checked_sub(1)?;
        Some(self.lines.as_ref()?.get(index)?)
    }

    /// How many lines the file has, where that is known.
    pub(crate) fn len(&self) -> Option<u32> {
        let lines = self.lines.as_ref()?;
        u32::try_from(lines.len()).ok()
    }
}

/// The lines of a file on the disk that has not changed since the recording.
fn read(profile: &Profile, file: FileId, path: &Path) -> Result<Vec<String>, Problem> {
    let metadata = std::fs::metadata(path).map_err(|_| Problem::Missing)?;
    if !metadata.is_file() || metadata.len() > LARGEST {
        return Err(Problem::Missing);
    }
    let started = u128::from(profile.meta.started_at_unix);
    let modified = metadata.modified().ok();
    let modified = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    if started > 0 && modified.is_some_and(|time| time.as_nanos() > started) {
        return Err(Problem::Changed);
    }
    let bytes = std::fs::read(path).map_err(|_| Problem::Missing)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut kept = profile.sources.iter().filter(|row| row.0 == file);
    let is_same = kept.all(|(_, number, text)| {
        let index = (number as usize).wrapping_sub(1);
        lines
            .get(index)
            .is_some_and(|line| line.trim_end() == profile.strings.get(text).trim_end())
    });
    if is_same {
        Ok(lines)
    } else {
        Err(Problem::Changed)
    }
}

/// A line as it is shown: tabs as spaces, without what follows the last word.
pub(crate) fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for it in text.trim_end().chars() {
        if it == '\t' {
            let to_stop = 4 - shown.chars().count() % 4;
            shown.extend(std::iter::repeat_n(' ', to_stop));
        } else {
            shown.push(it);
        }
    }
    shown
}
