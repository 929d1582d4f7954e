//! Out to other tools: the same numbers in the files that they read.
//!
//! | format | for | what it holds |
//! |---|---|---|
//! | [`pprof`] | `go tool pprof`, Pyroscope, Parca, … | stacks with lines and inlined calls, labels |
//! | [`chrome`] | <https://ui.perfetto.dev>, `chrome://tracing` | calls, spans and memory in the order of time |
//! | [`collapsed`] | `flamegraph.pl`, inferno, grep | stacks of names, one a line |
//! | [`speedscope`] | <https://www.speedscope.app> | each thread's stacks in the order of time |
//! | [`cpuprofile`] | Chrome's DevTools, VS Code | a thread in the order of time, ticks by line |
//! | [`firefox`] | <https://profiler.firefox.com> | threads in the order of time, markers, memory |
//! | [`heapprofile`] | Chrome's DevTools, VS Code | memory by stack |
//! | [`perf_script`] | `stackcollapse-perf.pl`, inferno, speedscope | each sample with its time, as text |
//! | [`flame`] | any browser | a picture that answers to the mouse |
//! | [`graph`] | any browser, Graphviz | the functions and who calls whom |
//! | [`square`] | any browser | the call tree as boxes in boxes |
//! | [`heatmap`] | any browser | time against the offset within each second |
//! | [`vega_lite`] | notebooks, the Vega editor | a flame graph as a chart |
//! | [`massif`] | `ms_print`, massif-visualizer | memory over time, and what held it at the peak |
//! | [`dhat`] | Valgrind's `dh_view.html` | allocations by stack, with their lifetimes |
//! | [`jlprof`] | Julia's ProfileView, FlameGraphs.jl | samples with lines and inlined calls |
//! | [`otlp`] | OpenTelemetry's collectors, Pyroscope, … | samples with times, lines, attributes |
//! | [`pstats`] | Python's `pstats`, SnakeViz, gprof2dot, … | how often each function was called, and by whom |
//! | [`callgrind`] | KCachegrind, `callgrind_annotate` | the same, or samples by line and call |
//! | [`lprof`] | `python -m line_profiler` | how often each line was run |
//!
//! The last three take profiles whose calls or lines were counted, and hold all of these;
//! callgrind takes others, too. The others look at a profile through one `View`, which decides
//! what is shown, so that a function has the same time of its own in each of them and in our
//! reports. Nothing is left out in silence: a sample of which every frame is hidden stands under
//! `[runtime]`, or `[libraries]` where those are hidden too.
//!
//! ```
//! use profundo_formats::export::{Format, Options, write};
//! use profundo_model::Profile;
//!
//! let profile = Profile::from_folded("main;work 3\nmain;idle 1").unwrap();
//! let mut text = Vec::new();
//! write(&profile, Format::COLLAPSED, &Options::default(), &mut text)?;
//! assert_eq!(text, b"main;idle 1\nmain;work 3\n");
//! # Ok::<(), profundo_formats::Error>(())
//! ```

pub mod callgrind;
mod calls;
pub mod chrome;
pub mod collapsed;
pub mod cpuprofile;
pub mod dhat;
pub mod firefox;
pub mod flame;
mod format;
pub mod graph;
mod head;
pub mod heapprofile;
pub mod heatmap;
pub mod jlprof;
mod json;
pub mod lprof;
mod marshal;
pub mod massif;
mod measured;
pub mod otlp;
mod owner;
mod path;
pub mod perf_script;
mod pickle;
pub mod pprof;
mod protobuf;
pub mod pstats;
pub mod recording;
pub mod speedscope;
pub mod square;
mod stretches;
mod text;
pub mod vega_lite;
mod view;

use std::io::Write;
use std::str::FromStr;

use profundo_analysis::calls_by_sample;
use profundo_model::{Measure, Profile, Sample, SampleKind};

use crate::Error;

pub use format::{Format, Holds, listed};
pub use path::to_path;

impl Format {
    /// Every format: a new one has a file with its row, and its name here.
    pub const ALL: &'static [Format] = &[
        Format::PPROF,
        Format::COLLAPSED,
        Format::SPEEDSCOPE,
        Format::FLAME,
        Format::GRAPH,
        Format::DOT,
        Format::SQUARE,
        Format::PSTATS,
        Format::CALLGRIND,
        Format::LPROF,
        Format::CHROME,
        Format::FIREFOX,
        Format::CPUPROFILE,
        Format::HEAPPROFILE,
        Format::PERF_SCRIPT,
        Format::MASSIF,
        Format::DHAT,
        Format::VEGA_LITE,
        Format::JLPROF,
        Format::OTLP,
    ];
}

/// The weight of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Weights {
    /// Its count, as in our reports: its time in periods, at least 1. Of calls that were counted,
    /// these.
    Samples,
    /// Its time, in nanoseconds.
    Time,
}

/// The rule by which frames are one and the same.
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

/// Options for writing a profile. A format takes those that it knows: `docs/exports.md` has the
/// table.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Options {
    /// Show the interpreter's own frames and what starts a program or a thread, too.
    pub include_runtime: bool,
    /// Show only the reader's own code: the time of libraries is that of their nearest caller.
    pub only_mine: bool,
    /// The weight of a sample; by default each format's custom.
    pub weights: Option<Weights>,
    /// The rule by which frames are one; by default each format's custom.
    pub merge: Option<Merge>,
    /// Put each process's command under all of its stacks.
    pub processes: bool,
    /// Put each thread's name under all of its stacks.
    pub threads: bool,
    /// Put each task's name under all of its stacks; what runs outside of tasks has none.
    pub tasks: bool,
    /// Mark frames with their kind, in the way of the format: `_[k]` for the kernel's.
    pub kinds: bool,
    /// The title of the picture or the file; by default the command line.
    pub title: Option<String>,
    /// The part of the memory that is shown first, where a file has time and memory beside each
    /// other.
    pub measure: Option<Measure>,
    /// Draw the root at the top.
    pub icicle: bool,
    /// Draw the functions that ran at the root, and their callers on them.
    pub bottom_up: bool,
    /// The least share of the picture's width that is drawn, from 0 to 1.
    pub min_share: Option<f64>,
    /// The options of a call graph.
    pub graph: graph::GraphOptions,
    /// The order of the boxes of a picture, from left to right.
    pub order: Order,
    /// The meaning of the colours of a picture.
    pub colours: Colours,
    /// The time of a heatmap's columns, in nanoseconds.
    pub column: Option<u64>,
    /// The time of a heatmap's rows, in nanoseconds.
    pub row: Option<u64>,
    /// Show the time that threads waited in a heatmap, in place of their time on a CPU.
    pub waiting: bool,
    /// The filter in words, where the profile has only what passes one. Pictures show it.
    pub filter: String,
}

impl Options {
    /// What is not in a picture by the reader's own choice, as a line of its head.
    fn passing(&self) -> Option<String> {
        let filter = match &self.filter[..] {
            "" => None,
            filter => Some(format!("Only what passes the filter: {filter}")),
        };
        match (filter, self.only_mine) {
            (filter, false) => filter,
            (None, true) => {
                Some("Without frames of libraries: their time is that of their callers".into())
            }
            (Some(filter), true) => Some(format!("{filter} · without frames of libraries")),
        }
    }
}

/// The order of boxes with one caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Order {
    /// The widest first.
    #[default]
    Widest,
    /// By name, so that two pictures can be compared.
    Name,
    /// By time, in a lane for each thread.
    Time,
}

/// The meaning of the colours of boxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Colours {
    /// Python, native, system, waiting, …
    #[default]
    Kind,
    /// The package or the library that has the function.
    Package,
    /// The file that has it.
    File,
    /// The function's own time, wherever it runs.
    Heat,
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
    (format.0.write)(profile, options, out)
}

/// Adds up weights. Those of an untrusted file may overflow: then the sum stays at its maximum.
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

    /// The requested weights, or time; counts where no sample stands for a known time.
    fn or_time(asked: Option<Weights>, profile: &Profile) -> Weights {
        asked.unwrap_or_else(|| {
            if profile.meta.kind == SampleKind::Events {
                Weights::Samples
            } else if profile.samples.iter().any(|sample| sample.weight.0 > 0) {
                Weights::Time
            } else {
                Weights::Samples
            }
        })
    }
}
