//! Out to other tools: the same numbers in the files that they read.
//!
//! | format | for | what it holds |
//! |---|---|---|
//! | [`pprof`] | `go tool pprof`, Pyroscope, Parca, … | stacks with lines and inlined calls, labels |
//! | [`collapsed`] | `flamegraph.pl`, inferno, grep | stacks of names, one a line |
//! | [`speedscope`] | <https://www.speedscope.app> | each thread's stacks in the order of time |
//! | [`flame`] | any browser | a picture that answers to the mouse |
//! | [`pstats`] | Python's `pstats`, SnakeViz, gprof2dot, … | how often each function was called, and by whom |
//! | [`callgrind`] | KCachegrind, `callgrind_annotate` | the same |
//! | [`lprof`] | `python -m line_profiler` | how often each line was run |
//!
//! The last three are of profiles whose calls or lines were counted, and hold all of these. The others look at a profile through one `View`, which decides what is shown, so that a
//! function has the same time of its own in each of them and in our reports. Nothing is left out
//! in silence: a sample of which every frame is hidden stands under `[runtime]`, or `[libraries]`
//! where those are hidden too.
//!
//! ```
//! use profundo_formats::export::{Format, Options, write};
//! use profundo_model::Profile;
//!
//! let profile = Profile::from_folded("main;work 3\nmain;idle 1").unwrap();
//! let mut text = Vec::new();
//! write(&profile, Format::Collapsed, &Options::default(), &mut text)?;
//! assert_eq!(text, b"main;idle 1\nmain;work 3\n");
//! # Ok::<(), profundo_formats::Error>(())
//! ```

pub mod callgrind;
mod calls;
pub mod collapsed;
pub mod flame;
mod json;
pub mod lprof;
mod marshal;
mod measured;
mod owner;
mod path;
mod pickle;
pub mod pprof;
pub mod pstats;
mod sniff;
pub mod speedscope;
mod view;

use std::fmt;
use std::io::Write;
use std::path::Path;
use std::str::FromStr;

use profundo_analysis::calls_by_sample;
use profundo_model::{Measure, Profile, Sample};

use crate::Error;

pub use path::to_path;

/// A format that is written for others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// See [`pprof`].
    Pprof,
    /// See [`collapsed`].
    Collapsed,
    /// See [`speedscope`].
    Speedscope,
    /// See [`flame`].
    Flame,
    /// See [`pstats`].
    Pstats,
    /// See [`callgrind`].
    Callgrind,
    /// See [`lprof`].
    Lprof,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 7] = [
        Format::Pprof,
        Format::Collapsed,
        Format::Speedscope,
        Format::Flame,
        Format::Pstats,
        Format::Callgrind,
        Format::Lprof,
    ];

    /// Whether it is a format of calls or lines that were counted, which knows no samples.
    pub fn is_counted(self) -> bool {
        matches!(self, Self::Pstats | Self::Callgrind | Self::Lprof)
    }

    /// The name by which it is asked for.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pprof => "pprof",
            Self::Collapsed => "collapsed",
            Self::Speedscope => "speedscope",
            Self::Flame => "flame",
            Self::Pstats => "pstats",
            Self::Callgrind => "callgrind",
            Self::Lprof => "lprof",
        }
    }

    /// What the name of such a file ends in.
    pub fn extension(self) -> &'static str {
        self.extensions()[0]
    }

    fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Pprof => &["pb.gz", "pprof", "pprof.gz"],
            Self::Collapsed => &["folded", "collapsed", "txt"],
            Self::Speedscope => &["speedscope.json", "json", "speedscope"],
            Self::Flame => &["svg"],
            Self::Pstats => &["pstats", "prof"],
            Self::Callgrind => &["callgrind"],
            Self::Lprof => &["lprof"],
        }
    }

    /// The format that a file of this name is taken to be of.
    pub fn of_path(path: &Path) -> Option<Format> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let ends = |extension: &&'static str| {
            name.strip_suffix(extension)
                .is_some_and(|stem| stem.ends_with('.'))
        };
        Self::ALL
            .into_iter()
            .find(|format| format.extensions().iter().any(ends))
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
        let known = match name.to_ascii_lowercase().as_str() {
            "pprof" | "pb" => Self::Pprof,
            "collapsed" | "folded" => Self::Collapsed,
            "speedscope" => Self::Speedscope,
            "flame" | "flamegraph" | "svg" => Self::Flame,
            "pstats" | "cprofile" => Self::Pstats,
            "callgrind" => Self::Callgrind,
            "lprof" | "line_profiler" => Self::Lprof,
            _ => {
                return Err(Error::UnknownChoice {
                    name: name.into(),
                    choices: "pprof, collapsed, speedscope, flame, pstats, callgrind or lprof",
                });
            }
        };
        Ok(known)
    }
}

/// What a sample weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Weights {
    /// Its count, as in our reports: its time in periods, at least 1. Of calls that were counted, these.
    Samples,
    /// Its time, in nanoseconds.
    Time,
}

/// What is taken for one and the same frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Merge {
    /// A function, at whatever line.
    Function,
    /// A function at a line.
    Line,
}

impl FromStr for Weights {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        match name {
            "samples" => Ok(Self::Samples),
            "time" => Ok(Self::Time),
            _ => Err(Error::UnknownChoice {
                name: name.into(),
                choices: "samples or time",
            }),
        }
    }
}

impl FromStr for Merge {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        match name {
            "function" => Ok(Self::Function),
            "line" => Ok(Self::Line),
            _ => Err(Error::UnknownChoice {
                name: name.into(),
                choices: "function or line",
            }),
        }
    }
}

/// How a profile is written. A format takes what concerns it: `docs/exports.md` has the table.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Options {
    /// Show the interpreter's own frames and what starts a program or a thread, too.
    pub include_runtime: bool,
    /// Show only the reader's own code: the time of libraries is that of their nearest caller.
    pub only_mine: bool,
    /// What a sample weighs; by default each format's own custom.
    pub weights: Option<Weights>,
    /// What is one frame; by default each format's own custom.
    pub merge: Option<Merge>,
    /// Put each process's command under all of its stacks.
    pub processes: bool,
    /// Put each thread's name under all of its stacks.
    pub threads: bool,
    /// Put each task's name under all of its stacks; what runs outside of tasks has none.
    pub tasks: bool,
    /// Mark frames with their kind, in the way of the format: `_[k]` for the kernel's.
    pub kinds: bool,
    /// What the picture or the file is called; by default the command line.
    pub title: Option<String>,
    /// What of the memory is shown first, where a file holds time and memory beside each other.
    pub measure: Option<Measure>,
    /// Draw the root at the top.
    pub icicle: bool,
    /// Draw the functions that ran at the root, and their callers on them.
    pub bottom_up: bool,
    /// The least share of the picture's width that is drawn, from 0 to 1.
    pub min_share: Option<f64>,
}

/// Writes `profile` to `out`.
///
/// Many small writes are made: give it a buffer where they cost something.
pub fn write(
    profile: &Profile,
    format: Format,
    options: &Options,
    out: &mut impl Write,
) -> Result<(), Error> {
    match format {
        Format::Pprof => pprof::write(profile, options, out),
        Format::Collapsed => collapsed::write(profile, options, out),
        Format::Speedscope => speedscope::write(profile, options, out),
        Format::Flame => flame::write(profile, options, out),
        Format::Pstats => pstats::write(profile, out),
        Format::Callgrind => callgrind::write(profile, out),
        Format::Lprof => lprof::write(profile, out),
    }
}

/// Adds up weights; those of a file that nobody trusts may be more than fit.
fn add(sum: &mut u64, weight: u64) {
    *sum = sum.saturating_add(weight);
}

/// The counts of a profile's samples, or of the calls that they stand for.
#[derive(Debug)]
struct Counts<'a> {
    profile: &'a Profile,
    /// By sample, where calls were counted.
    calls: Option<Vec<u64>>,
}

impl<'a> Counts<'a> {
    fn new(profile: &'a Profile) -> Self {
        Self {
            profile,
            calls: calls_by_sample(profile),
        }
    }

    /// The count of the sample in this row.
    fn of(&self, row: usize, sample: &Sample) -> u64 {
        match &self.calls {
            Some(calls) => calls[row],
            None => self.profile.count_of_row(row, sample),
        }
    }
}

impl Weights {
    fn of(self, counts: &Counts<'_>, row: usize, sample: &Sample) -> u64 {
        match self {
            Self::Samples => counts.of(row, sample),
            Self::Time => sample.weight.0,
        }
    }

    /// What was asked for, or time; but counts where no sample says how much time it stands for.
    fn or_time(asked: Option<Weights>, profile: &Profile) -> Weights {
        asked.unwrap_or_else(|| {
            if profile.samples.iter().any(|sample| sample.weight.0 > 0) {
                Weights::Time
            } else {
                Weights::Samples
            }
        })
    }
}
