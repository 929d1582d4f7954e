//! The text of source lines: from the profile, which may carry them, and otherwise from the disk,
//! as long as the file there is the one that ran.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::UNIX_EPOCH;

use profundo_model::{FileId, Fingerprint, Profile, SourceFile};

/// A file that is larger is data, or a trap.
const LARGEST: u64 = 16 << 20;

/// The text of one file.
#[derive(Debug)]
pub(crate) struct Source {
    /// The text on the disk, where it can be trusted.
    lines: Option<Vec<String>>,
    /// The reason why there is no text from the disk.
    pub problem: Option<Problem>,
}

/// The reason why there is no text from the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Problem {
    /// There is no such file.
    Missing,
    /// The file is not the one that ran.
    Changed,
    /// The file was written since the recording, which does not have its text.
    Newer,
    /// The file was written while the program ran.
    Rewritten,
    /// The program ran another file of this name.
    Apart,
}

impl Problem {
    /// The words for the reader.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Missing => "source not found",
            Self::Changed | Self::Newer => "source changed since the recording",
            Self::Rewritten => "source written while the program ran",
            Self::Apart => "another file of this name ran",
        }
    }

    /// The word in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Changed | Self::Newer => "changed",
            Self::Rewritten => "rewritten",
            Self::Apart => "apart",
        }
    }

    /// Advice for a reader who opens the files with this problem; nothing if they are just missing.
    fn advice(self, are_several: bool) -> Option<&'static str> {
        match (self, are_several) {
            (Self::Missing | Self::Newer, _) => None,
            (Self::Changed, false) => Some(
                "has changed since it ran, or is another file: its text here is the one that ran",
            ),
            (Self::Changed, true) => Some(
                "have changed since they ran, or are other files: their text here is the one that ran",
            ),
            (Self::Rewritten, _) => {
                Some("changed while the program ran: lines that may not have run are left out")
            }
            (Self::Apart, false) => Some("on this machine is not the file that ran"),
            (Self::Apart, true) => Some("on this machine are not the files that ran"),
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

    /// The number of lines in the file, where that is known.
    pub(crate) fn len(&self) -> Option<u32> {
        let lines = self.lines.as_ref()?;
        u32::try_from(lines.len()).ok()
    }
}

/// The text of a whole file, for pages that show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceText {
    /// `found`, or why the disk has no text: the word that the report `lines` has in JSON.
    pub state: &'static str,
    /// The lines from the first one on. `None` where a line is not known.
    pub lines: Vec<Option<String>>,
}

impl SourceText {
    /// The text of a file of the profile: as kept with it, and from the disk if the file there is
    /// the one that ran.
    pub fn of(profile: &Profile, file: FileId) -> Self {
        let source = Source::of(profile, file, true);
        let kept = profile.sources.iter().filter(|row| row.0 == file);
        let last = kept.map(|row| row.1).max().max(source.len());
        let text = |line| source.line(profile, file, line).map(str::to_owned);
        Self {
            state: source.problem.map_or("found", Problem::name),
            lines: (1..=last.unwrap_or(0)).map(text).collect(),
        }
    }
}

/// A sentence for each problem of these files.
pub(crate) fn sentences<'a>(files: impl IntoIterator<Item = (&'a Source, String)>) -> Vec<String> {
    let mut names: BTreeMap<Problem, BTreeSet<String>> = BTreeMap::new();
    for (source, name) in files {
        if let Some(problem) = source.problem {
            names.entry(problem).or_default().insert(name);
        }
    }
    let sentences = names.into_iter().filter_map(|(problem, names)| {
        let advice = problem.advice(names.len() > 1)?;
        let names: Vec<String> = names.into_iter().collect();
        let (last, others) = names.split_last()?;
        Some(match others {
            [] => format!("{last} {advice}."),
            others => format!("{} and {last} {advice}.", others.join(", ")),
        })
    });
    sentences.collect()
}

/// The lines of a file on the disk, if they are the ones that ran.
fn read(profile: &Profile, file: FileId, path: &Path) -> Result<Vec<String>, Problem> {
    let metadata = std::fs::metadata(path).map_err(|_| Problem::Missing)?;
    if !metadata.is_file() || metadata.len() > LARGEST {
        return Err(Problem::Missing);
    }
    match profile.source_files.get(&file) {
        Some(SourceFile::Ran(ran)) => {
            if metadata.len() != ran.size {
                return Err(Problem::Changed);
            }
            let bytes = std::fs::read(path).map_err(|_| Problem::Missing)?;
            return match Fingerprint::of(&bytes) == *ran {
                true => Ok(lines_of(&bytes)),
                false => Err(Problem::Changed),
            };
        }
        Some(SourceFile::Rewritten) => return Err(Problem::Rewritten),
        Some(SourceFile::Apart) => return Err(Problem::Apart),
        // Older recordings have no facts on files, and others not on all.
        None => {}
    }
    let started = u128::from(profile.meta.started_at_unix);
    let modified = metadata.modified().ok();
    let modified = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    if started > 0 && modified.is_some_and(|time| time.as_nanos() > started) {
        return Err(Problem::Newer);
    }
    let bytes = std::fs::read(path).map_err(|_| Problem::Missing)?;
    let lines = lines_of(&bytes);
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

fn lines_of(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    text.lines().map(str::to_owned).collect()
}

/// A line as it is shown: tabs as spaces, without what follows the last word.
pub(crate) fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.trim_end().chars() {
        if character == '\t' {
            let to_stop = 4 - shown.chars().count() % 4;
            shown.extend(std::iter::repeat_n(' ', to_stop));
        } else {
            shown.push(character);
        }
    }
    shown
}
