//! How a recording is written for others. Each format takes some of the options; what it does not
//! take is refused, since an option that changes nothing misleads.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{EnumValueParser, PossibleValue, TypedValueParser};
use clap::{Arg, Args, Command, ValueEnum};
use clap_complete::engine::ArgValueCompleter;
use profundo_formats::export::{Format, Merge, Options, Weights};
use profundo_model::Part;

use super::filters::{Filters, OnlyUntil, Until};
use super::measuring::Measuring;
use super::values::{percent, seconds};
use crate::completing;

/// Formats of other tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// Gzipped protobuf for `pprof` and everything that reads it
    Pprof,
    /// A line for each stack, for flame graph scripts
    Collapsed,
    /// JSON for speedscope.app
    Speedscope,
    /// The table of calls for Python's pstats and what reads its files, where `trace` has counted them
    Pstats,
    /// The same for KCachegrind and callgrind_annotate
    Callgrind,
    /// The table of lines for `python -m line_profiler`, where `trace` has counted lines
    Lprof,
}

impl ExportFormat {
    /// The format in the words of the library.
    pub fn format(self) -> Format {
        match self {
            Self::Pprof => Format::Pprof,
            Self::Collapsed => Format::Collapsed,
            Self::Speedscope => Format::Speedscope,
            Self::Pstats => Format::Pstats,
            Self::Callgrind => Format::Callgrind,
            Self::Lprof => Format::Lprof,
        }
    }
}

/// What `--to` says in `export`: a format, or as everywhere else a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum To {
    Format(ExportFormat),
    Time(Duration),
}

/// Tells numbers from names.
#[derive(Debug, Clone, Copy)]
struct ToParser;

impl TypedValueParser for ToParser {
    type Value = To;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<To, clap::Error> {
        let is_number = value
            .as_encoded_bytes()
            .first()
            .is_some_and(|byte| byte.is_ascii_digit() || b"-.".contains(byte));
        if is_number {
            seconds.parse_ref(command, argument, value).map(To::Time)
        } else {
            EnumValueParser::<ExportFormat>::new()
                .parse_ref(command, argument, value)
                .map(To::Format)
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let formats = ExportFormat::value_variants().iter();
        Some(Box::new(formats.filter_map(ValueEnum::to_possible_value)))
    }
}

/// What one sample weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WeightsChoice {
    /// How often it was counted
    Samples,
    /// The time that it stands for
    Time,
}

/// What is one frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// A function, at whatever line
    Function,
    /// A function at a line
    Line,
}

// What most formats take.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "The file")]
pub struct Drawing {
    /// Count samples, or the time that they stand for [default: as is the format's custom]
    #[arg(long, value_enum, value_name = "WHAT", hide_possible_values = false)]
    pub weights: Option<WeightsChoice>,
    /// Take functions for one frame, or only equal lines of them [default: as is the format's custom]
    #[arg(
        long,
        alias = "by",
        value_enum,
        value_name = "WHAT",
        hide_possible_values = false
    )]
    pub frames: Option<By>,
    /// Put each process below its stacks
    #[arg(long)]
    pub processes: bool,
    /// Put each thread below its stacks
    #[arg(long)]
    pub threads: bool,
    /// Put each task below its stacks
    #[arg(long)]
    pub tasks: bool,
    /// What it is called [default: the command line]
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
}

#[derive(Debug, Args)]
pub struct Export {
    /// The recording; `@2` is the one before the newest [default: the newest]
    #[arg(add = ArgValueCompleter::new(completing::recordings), value_name = "FILE")]
    pub recording: Option<PathBuf>,
    /// The format
    #[arg(long, value_name = "FORMAT", value_parser = ToParser, required = true)]
    pub to: Vec<To>,
    /// Where to write it; `-` is the standard output
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Replace a file of another kind, too
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub filters: Filters,
    #[command(flatten)]
    pub until: OnlyUntil,
    #[command(flatten)]
    pub measuring: Measuring,
    #[command(flatten)]
    pub drawing: Drawing,
    /// Mark frames with what they are: Python, native, the kernel's (collapsed, speedscope)
    #[arg(long, help_heading = "The file")]
    pub kinds: bool,
}

#[derive(Debug, Args)]
pub struct Flame {
    /// The recording; `@2` is the one before the newest [default: the newest]
    #[arg(add = ArgValueCompleter::new(completing::recordings), value_name = "FILE")]
    pub recording: Option<PathBuf>,
    /// Where to write it; `-` is the standard output
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Replace a file of another kind, too
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub filters: Filters,
    #[command(flatten)]
    pub until: Until,
    #[command(flatten)]
    pub measuring: Measuring,
    #[command(flatten)]
    pub drawing: Drawing,
    /// Draw the root at the top
    #[arg(long, help_heading = "The file")]
    pub icicle: bool,
    /// Start from the functions that ran, with their callers on them
    #[arg(long, help_heading = "The file")]
    pub inverted: bool,
    /// Draw nothing narrower than this share of the width, in percent [default: 0.02]
    #[arg(long, value_name = "PERCENT", value_parser = percent, allow_negative_numbers = true, help_heading = "The file")]
    pub min_share: Option<f64>,
}

impl Export {
    /// Why these options do not go together, if they do not.
    pub fn misfit(&self) -> Option<String> {
        let (format, until) = match self.format() {
            Ok(format) => format,
            Err(why) => return Some(why),
        };
        (self.filters.misfit(until))
            .or_else(|| self.measuring.misfit().map(str::to_owned))
            .or_else(|| misfit(format.format(), &self.options()).map(str::to_owned))
    }

    /// The format and the end of the time, or why that is not clear.
    pub fn format(&self) -> Result<(ExportFormat, Option<Duration>), String> {
        let (mut formats, mut times) = (Vec::new(), Vec::from_iter(self.until.until));
        for to in &self.to {
            match *to {
                To::Format(format) => formats.push(format),
                To::Time(time) => times.push(time),
            }
        }
        match (&formats[..], &times[..]) {
            ([], _) => Err(
                "`export` wants a format: --to pprof, collapsed, speedscope, pstats, callgrind or lprof".into(),
            ),
            (_, [_, _, ..]) => Err("the end of the time is given twice".into()),
            ([format], times) => Ok((*format, times.first().copied())),
            _ => Err("`export` writes one format at a time".into()),
        }
    }

    /// The options in the words of the library.
    pub fn options(&self) -> Options {
        Options {
            kinds: self.kinds,
            measure: self.measuring.measure(),
            ..self.drawing.options(&self.filters)
        }
    }
}

impl Flame {
    /// Why these options do not go together, if they do not.
    pub fn misfit(&self) -> Option<String> {
        (self.filters.misfit(self.until.to))
            .or_else(|| self.measuring.misfit().map(str::to_owned))
            .or_else(|| misfit(Format::Flame, &self.options()).map(str::to_owned))
    }

    /// The options in the words of the library.
    pub fn options(&self) -> Options {
        Options {
            icicle: self.icicle,
            bottom_up: self.inverted,
            measure: self.measuring.measure(),
            min_share: self.min_share,
            ..self.drawing.options(&self.filters)
        }
    }
}

impl Drawing {
    fn options(&self, filters: &Filters) -> Options {
        Options {
            include_runtime: filters.c,
            only_mine: filters.only_mine,
            weights: self.weights.map(|weights| match weights {
                WeightsChoice::Samples => Weights::Samples,
                WeightsChoice::Time => Weights::Time,
            }),
            merge: self.frames.map(|by| match by {
                By::Function => Merge::Function,
                By::Line => Merge::Line,
            }),
            processes: self.processes,
            threads: self.threads,
            tasks: self.tasks,
            title: self.title.clone(),
            ..Options::default()
        }
    }
}

/// Why these options do not go with a format, if they do not.
pub fn misfit(format: Format, options: &Options) -> Option<&'static str> {
    let Options {
        merge,
        processes,
        threads,
        tasks,
        kinds,
        weights,
        measure,
        ref title,
        include_runtime,
        only_mine,
        ..
    } = *options;
    let is_drawn = merge.is_some() || processes || threads || tasks || kinds || title.is_some();
    match format {
        _ if format.is_counted()
            && (is_drawn
                || weights.is_some()
                || measure.is_some()
                || include_runtime
                || only_mine) =>
        {
            Some(
                "pstats, callgrind and lprof have every call, or every line, of what passes: of the options they take those that choose threads, processes, files and functions",
            )
        }
        _ if weights.is_some() && measure.is_some() => {
            Some("--weights is about samples of time, and --of about memory: give one of them")
        }
        Format::Pprof
            if measure.is_some_and(|it| {
                matches!(it.part, Part::Peak | Part::Temporary)
                    || it.part == Part::Copied && it.counts
            }) =>
        {
            Some(
                "pprof has what was allocated, what was live at the end, and the bytes copied; other formats have --of peak and --of temporary too",
            )
        }
        Format::Pprof if merge.is_some() => {
            Some("pprof has functions and lines; it needs no --frames")
        }
        Format::Pprof if processes || threads || tasks => {
            Some("pprof has labels for processes, threads and tasks; it needs no option for them")
        }
        Format::Pprof if kinds => Some("pprof has a label for the kind; it needs no --kinds"),
        Format::Pprof | Format::Collapsed if title.is_some() => {
            Some("only speedscope and flame have a --title")
        }
        Format::Speedscope if processes || threads => {
            Some("speedscope shows each thread by itself; it needs no --threads or --processes")
        }
        _ => None,
    }
}
