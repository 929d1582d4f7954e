//! A format in one row: its name, its purpose, its contents, the options that it refuses, the start
//! of its files, and its writer. Each format's file has its
//! row, and [`Format::ALL`] lists them. Options, help, completions and refusals are made from
//! these rows.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::io::Write;
use std::path::Path;
use std::str::FromStr;
use std::sync::LazyLock;

use profundo_analysis::has_allocations;
use profundo_model::Profile;

use super::Options;
use crate::Error;

/// A format that is written for others: one row of [`Format::ALL`].
#[derive(Clone, Copy)]
pub struct Format(pub(super) &'static Row);

/// The contents of a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// The stacks of samples.
    Samples,
    /// Calls that were counted.
    Calls,
    /// Lines that were counted.
    Lines,
    /// Spans and marks.
    Spans,
    /// Samples, or spans and marks.
    SamplesOrSpans,
    /// Allocations.
    Allocations,
    /// The memory of processes over time, or allocations.
    Memory,
}

/// The row of a format.
pub(super) struct Row {
    /// The name by which it is asked for.
    pub name: &'static str,
    /// Other names that the library takes.
    pub aliases: &'static [&'static str],
    /// The endings of file names, the usual one first.
    pub extensions: &'static [&'static str],
    /// Its purpose, in the words of the command's help.
    pub about: &'static str,
    /// Its file in a sentence.
    pub file: &'static str,
    pub holds: Holds,
    /// Whether a file has a title.
    pub has_title: bool,
    /// Whether each sample has its place in time.
    pub is_in_order: bool,
    /// Whether a file has time and memory beside each other.
    pub has_memory_too: bool,
    /// Why options do not go with it: those that no other format refuses.
    pub misfit: fn(&Options) -> Option<&'static str>,
    /// Whether a file that begins like this is of this format. Text formats without a mark of
    /// their own are known by the shape of all lines that are there.
    pub is_start: fn(&[u8]) -> bool,
    pub write: fn(&Profile, &Options, &mut dyn Write) -> Result<(), Error>,
}

impl Holds {
    /// The contents in a sentence.
    pub fn name(self) -> &'static str {
        match self {
            Self::Samples => "samples",
            Self::Calls => "calls",
            Self::Lines => "lines",
            Self::Spans => "spans",
            Self::SamplesOrSpans => "samples and no spans",
            Self::Allocations => "allocations",
            Self::Memory => "allocations and no readings of memory",
        }
    }

    /// Whether a profile has any of these.
    pub fn any_in(self, profile: &Profile) -> bool {
        match self {
            Self::Samples => !profile.samples.is_empty(),
            Self::Calls => !profile.traced.calls.is_empty(),
            Self::Lines => !profile.traced.lines.is_empty(),
            Self::Spans => !profile.spans.is_empty(),
            Self::SamplesOrSpans => !profile.samples.is_empty() || !profile.spans.is_empty(),
            Self::Allocations => has_allocations(profile),
            Self::Memory => has_allocations(profile) || !profile.heap.gauges.is_empty(),
        }
    }
}

impl Format {
    /// The name by which it is asked for.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// Its purpose, in a few words.
    pub fn about(self) -> &'static str {
        self.0.about
    }

    /// A file of this format in a sentence.
    pub fn file(self) -> &'static str {
        self.0.file
    }

    /// Its contents.
    pub fn holds(self) -> Holds {
        self.0.holds
    }

    /// True for a format of counted calls or lines, or of spans, which has no samples.
    pub fn is_counted(self) -> bool {
        matches!(self.0.holds, Holds::Calls | Holds::Lines | Holds::Spans)
    }

    /// True for a format of memory alone.
    pub fn is_of_memory(self) -> bool {
        matches!(self.0.holds, Holds::Allocations | Holds::Memory)
    }

    /// Whether each sample has its place in time.
    pub fn is_in_order(self) -> bool {
        self.0.is_in_order
    }

    /// Whether a file has time and memory beside each other.
    pub fn has_memory_too(self) -> bool {
        self.0.has_memory_too
    }

    /// The usual ending of its file names.
    pub fn extension(self) -> &'static str {
        self.0.extensions[0]
    }

    /// Whether it is a picture in SVG.
    pub fn is_picture(self) -> bool {
        self.extension().ends_with("svg")
    }

    /// True if a file that begins with these bytes is of this format: files are recognised by their
    /// first bytes, never by their names.
    pub fn is_start_of(self, start: &[u8]) -> bool {
        (self.0.is_start)(start)
    }

    /// The format that a file of this name is taken to be of.
    pub fn of_path(path: &Path) -> Option<Format> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let ends = |extension: &&'static str| {
            name.strip_suffix(extension)
                .is_some_and(|stem| stem.ends_with('.'))
        };
        // The longest ending fits best: `x.graph.svg` is more than an SVG.
        let longest = |format: &Format| {
            let endings = format.0.extensions.iter().filter(|ending| ends(ending));
            endings.map(|ending| ending.len()).max()
        };
        let formats = Self::ALL.iter().copied();
        let fitting = formats.filter(|format| longest(format).is_some());
        fitting.max_by_key(longest)
    }

    /// Why options do not go with this format, if they do not, in the words of the command.
    /// An option that changes nothing misleads.
    pub fn misfit(self, options: &Options) -> Option<String> {
        let Options {
            weights, measure, ..
        } = *options;
        let is_drawn = options.merge.is_some()
            || options.processes
            || options.threads
            || options.tasks
            || options.kinds
            || options.title.is_some();
        let is_chosen =
            weights.is_some() || measure.is_some() || options.include_runtime || options.only_mine;
        if self.is_counted() && (is_drawn || is_chosen) {
            let counted = Self::ALL.iter().filter(|format| format.is_counted());
            return Some(format!(
                "{} have every call, line or span of what passes: of the options they take those that choose threads, processes, files and functions",
                listed(counted, "and")
            ));
        }
        if weights.is_some() && measure.is_some() {
            return Some(
                "--weights is about samples of time, and --of about memory: give one of them"
                    .into(),
            );
        }
        if let Some(why) = (self.0.misfit)(options) {
            return Some(why.into());
        }
        (options.title.is_some() && !self.0.has_title).then(|| {
            let titled = Self::ALL.iter().filter(|format| format.0.has_title);
            format!("only {} have a --title", listed(titled, "and"))
        })
    }
}

/// The names of formats in a sentence, the last one behind `word`.
pub fn listed<'a>(formats: impl Iterator<Item = &'a Format>, word: &str) -> String {
    let names: Vec<&str> = formats.map(|format| format.name()).collect();
    match &names[..] {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [names @ .., last] => format!("{} {word} {last}", names.join(", ")),
    }
}

/// Whether a part is in the first bytes of a file.
pub(super) fn has(start: &[u8], part: &[u8]) -> bool {
    start.windows(part.len()).any(|window| window == part)
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Format {}

impl Hash for Format {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Format").field(&self.name()).finish()
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        static CHOICES: LazyLock<String> = LazyLock::new(|| listed(Format::ALL.iter(), "or"));
        let lower = name.to_ascii_lowercase();
        let is_meant =
            |format: &&Format| format.name() == lower || format.0.aliases.contains(&&lower[..]);
        (Self::ALL.iter().find(is_meant).copied()).ok_or_else(|| Error::UnknownChoice {
            name: name.into(),
            choices: &CHOICES,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_known_by_each_of_its_names() {
        for (at, format) in Format::ALL.iter().enumerate() {
            for name in format.0.aliases.iter().chain([&format.name()]) {
                assert_eq!(name.parse::<Format>().unwrap(), *format, "{name}");
            }
            for other in &Format::ALL[..at] {
                assert_ne!(format, other);
                let shared = |extension: &&&str| other.0.extensions.contains(*extension);
                assert_eq!(format.0.extensions.iter().find(shared), None, "{format}");
            }
        }
    }

    #[test]
    fn other_files_are_of_no_format() {
        let others: [&[u8]; 7] = [
            b"",
            b"{\"a\": 1}",
            b"<?xml version=\"1.0\"?>\n<svg width=\"3\"></svg>",
            b"import os\n",
            b"\x1f\x8b\x08\0\0\0\0\0",
            b"# callgrind\n",
            b"\x80\x04\x95",
        ];
        for other in others {
            for format in Format::ALL {
                assert!(!format.is_start_of(other), "{format}: {other:?}");
            }
        }
    }
}
