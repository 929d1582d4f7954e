//! Options of every command that prints a report: its samples, its shape and its style. Each shape
//! takes some of the options. The others are refused, since an option that changes nothing
//! misleads.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Args, Command, ValueEnum};
use profundo_analysis::Filter;
use profundo_console::options::choices::one_of;
use profundo_console::options::values::{columns, count, percent};
use profundo_report::{CallOrder, GroupBy, Only, Recur, SortBy, When};

use super::filters::{Filters, NO_GIL, Until};
use super::measuring::Measuring;

/// The shapes of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum What {
    /// The hottest lines and functions, a short tree, totals by process and thread
    #[default]
    Summary,
    /// What called what, from the root
    Tree,
    /// A row for each function at each line
    Flat,
    /// The source, with a share on each line
    Lines,
    /// A row for each function, with its share and how sure that is
    Functions,
    /// Who calls the function NAME
    Callers,
    /// What the function NAME calls
    Callees,
    /// Both: who calls the function NAME, and what it calls
    Calls,
    /// The instructions of the native function NAME beside its source, with a share for each
    Annotate,
    /// What was read and written, by file and by line, where waiting was recorded too
    Io,
    /// The time in system calls, by call and by the line that makes them
    Syscalls,
    /// What processes had of the machine's memory over time, where that was recorded
    Memory,
    /// What was allocated, by line and by function, who held it, and what leaks, where memory was
    /// recorded too
    Allocs,
    /// The memory at each line, in the columns of Python's memory_profiler
    MemoryLines,
    /// The table of calls, where `profundo trace` has counted them
    Trace,
    /// The same in the words of Python's cProfile and pstats
    Pstats,
    /// The exceptions that were raised, where `profundo trace --exceptions` has counted them
    Exceptions,
    /// The spans and marks that the program has named: how many, how long, and the time in them
    Spans,
    /// The least, median and most time of each function over merged recordings
    #[value(alias = "imbalance")]
    Spread,
    /// The table of Python's statprof
    Statprof,
    /// Every sample's stack, thread by thread: for the few of `attach --dump`
    #[value(hide = true)]
    Stacks,
}

impl What {
    /// The name by which it is asked for.
    pub fn name(self) -> &'static str {
        match self {
            Self::Summary => "summary",
            Self::Tree => "tree",
            Self::Flat => "flat",
            Self::Lines => "lines",
            Self::Functions => "functions",
            Self::Callers => "callers",
            Self::Callees => "callees",
            Self::Calls => "calls",
            Self::Annotate => "annotate",
            Self::Io => "io",
            Self::Syscalls => "syscalls",
            Self::Memory => "memory",
            Self::Allocs => "allocs",
            Self::MemoryLines => "memory-lines",
            Self::Trace => "trace",
            Self::Pstats => "pstats",
            Self::Exceptions => "exceptions",
            Self::Spans => "spans",
            Self::Spread => "spread",
            Self::Statprof => "statprof",
            Self::Stacks => "stacks",
        }
    }

    /// True for reports on time that have `--of` too, for memory.
    pub fn measures(self) -> bool {
        match self {
            Self::Tree
            | Self::Flat
            | Self::Lines
            | Self::Functions
            | Self::Spans
            | Self::Spread => true,
            // Instructions have time alone.
            Self::Annotate => false,
            _ => self.wants_name(),
        }
    }

    /// True for reports on the time of samples or calls.
    pub fn is_of_time(self) -> bool {
        !self.is_of_calls()
            && !self.is_of_memory()
            && !matches!(self, Self::Io | Self::Syscalls | Self::Exceptions)
    }

    /// True for reports on memory alone.
    pub fn is_of_memory(self) -> bool {
        matches!(self, Self::Memory | Self::Allocs | Self::MemoryLines)
    }

    /// False for reports on system calls and processes: these look at what was recorded.
    pub fn has_stacks(self) -> bool {
        !matches!(self, Self::Io | Self::Syscalls | Self::Memory)
    }

    /// True for tables of calls.
    pub fn is_of_calls(self) -> bool {
        matches!(self, Self::Trace | Self::Pstats)
    }

    /// True for reports on one function, which need its name.
    pub fn wants_name(self) -> bool {
        matches!(
            self,
            Self::Callers | Self::Callees | Self::Calls | Self::Annotate
        )
    }
}

// All options of a report.
#[derive(Debug, Clone, Default, Args)]
pub struct ViewOptions {
    #[command(flatten)]
    pub filters: Filters,
    #[command(flatten)]
    pub until: Until,
    #[command(flatten)]
    pub measuring: Measuring,
    #[command(flatten)]
    pub shape: ShapeOptions,
    #[command(flatten)]
    pub style: Style,
}

impl ViewOptions {
    /// The filter in the words of the analysis.
    pub fn filter(&self) -> Filter {
        self.filters.filter(self.until.to)
    }

    /// Why these options do not go together, or not with a shape, if they do not.
    pub fn misfit(&self, what: What) -> Option<String> {
        let name = what.name();
        let filters = &self.filters;
        let of_memory = || {
            (self.measuring.measure().is_some() && !what.measures()).then(|| {
                format!(
                    "`{name}` has no `--of`, which is an option of: tree, flat, lines, functions, spans, spread, callers, callees, calls"
                )
            })
        };
        let of_calls = || {
            let option = if filters.c { "c" } else { "only-mine" };
            (what.is_of_calls() && (filters.c || filters.only_mine))
                .then(|| format!("`{name}` has every call: it has no `--{option}`"))
        };
        let of_gil = || {
            let is_timeless =
                self.measuring.measure().is_some() || what.is_of_memory() || what.is_of_calls();
            (is_timeless && !filters.gil.is_empty()).then(|| NO_GIL.to_owned())
        };
        let of_stacks = || {
            let option = filters.stacks.given()?;
            (!what.has_stacks())
                .then(|| format!("`{name}` has no stacks to change: it has no `--{option}`"))
        };
        filters
            .misfit(self.until.to)
            .or_else(of_gil)
            .or_else(of_stacks)
            .or_else(|| self.measuring.misfit().map(str::to_owned))
            .or_else(of_memory)
            .or_else(of_calls)
            .or_else(|| self.shape.misfit(what))
    }
}

// What every report takes.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "The report")]
pub struct Style {
    /// Print JSON instead of text
    #[arg(long)]
    pub json: bool,
    /// Print a table of the report as CSV, for spreadsheets
    #[arg(long, conflicts_with_all = ["json", "jsonl", "parquet"])]
    pub csv: bool,
    /// Print the tables of the report as JSON lines: an object for each row
    #[arg(long, conflicts_with_all = ["json", "parquet"])]
    pub jsonl: bool,
    /// Write a table of the report as Parquet, for data frames; wants a file
    #[arg(long, conflicts_with = "json")]
    pub parquet: bool,
    /// Write pages of HTML into this folder: functions, and each file with links up and down the
    /// stacks
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["json", "csv", "jsonl", "parquet"])]
    pub html: Option<PathBuf>,
    /// The table of --csv, --jsonl or --parquet, by its name in the JSON: lines, functions, threads
    #[arg(long, value_name = "NAME")]
    pub table: Option<String>,
    /// Write the report there; `-` is the standard output
    #[arg(long, value_name = "FILE")]
    pub report_to: Option<PathBuf>,
    /// Replace a file that is no report, or no recording, too
    #[arg(long)]
    pub force: bool,
    /// Leave out the line on quality, and the notes
    #[arg(long)]
    pub no_quality: bool,
    /// Print for this many columns
    #[arg(long, value_name = "COLUMNS", value_parser = columns, allow_negative_numbers = true)]
    pub width: Option<usize>,
    /// Colours: auto, always or never
    #[arg(long, value_name = "WHEN", value_parser = one_of(When::CHOICES), hide_possible_values = true)]
    pub color: Option<When>,
    /// Links to source lines: auto, always or never
    #[arg(long, value_name = "WHEN", value_parser = one_of(When::CHOICES), hide_possible_values = true)]
    pub hyperlinks: Option<When>,
    /// The editor that links are meant for [default: $PROFUNDO_EDITOR, $VISUAL, $EDITOR]
    #[arg(long, value_name = "EDITOR")]
    pub editor: Option<String>,
}

// What some of the reports take.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "The report")]
pub struct ShapeOptions {
    /// Show at most so many rows of each table
    ///
    /// Rows (summary, functions, spans, spread, io, syscalls, memory, allocs, trace, pstats), files (lines) or
    /// functions (memory-lines; annotate, where it is 1 by default)
    #[arg(long, value_name = "COUNT", value_parser = count, allow_negative_numbers = true)]
    pub limit: Option<usize>,
    /// Hide what has a smaller share, in percent (functions, lines, tree, flat, annotate)
    #[arg(long, value_name = "PERCENT", value_parser = percent, allow_negative_numbers = true)]
    pub min_share: Option<f64>,
    /// Show files whole, cold lines too (lines), or functions with all instructions (annotate)
    #[arg(long, visible_alias = "all")]
    pub all_lines: bool,
    /// Show so many lines or instructions around a hot one (lines, annotate)
    #[arg(long, value_name = "LINES", allow_negative_numbers = true)]
    pub context: Option<u32>,
    /// Count all samples with a line or function on their stack, not only those it is the innermost
    /// of (lines, spread)
    #[arg(long)]
    pub total: bool,
    /// Give lines of libraries time of their own, even if a line of yours called them (lines)
    #[arg(long, conflicts_with = "only_mine")]
    pub libraries: bool,
    /// Count a statement that stands on several lines as one, at its first line (lines, allocs,
    /// io)
    #[arg(long)]
    pub statements: bool,
    /// Show only the source that the recording carries, and none from the disk (lines, summary,
    /// allocs, io, memory-lines, annotate)
    #[arg(long)]
    pub no_disk: bool,
    /// Write instructions in Intel's syntax, with the target first (annotate)
    #[arg(long)]
    pub intel: bool,
    /// Group by thread, process, task, label, span, ...
    ///
    /// By none, thread, task, process, command, label, label:KEY, span, span:KEY, or thread,task or
    /// task,thread (tree, flat, functions); by span or span:KEY (spans); by command (summary); by
    /// thread, process, label or label:KEY (trace)
    #[arg(long, value_name = "WHAT", aliases = ["groupby", "group-by"], value_parser = Grouping, hide_possible_values = true)]
    pub by: Option<GroupBy>,
    /// A row for each address instead of each line (tree, flat)
    #[arg(long)]
    pub no_combine: bool,
    /// Hide what has fewer samples (tree, flat)
    #[arg(long, value_name = "COUNT", allow_negative_numbers = true)]
    pub mincount: Option<u64>,
    /// Start with the hottest instead of ending with it (tree, flat)
    #[arg(long)]
    pub hot_first: bool,
    /// Unfold down to this level (tree)
    #[arg(long, value_name = "LEVEL", allow_negative_numbers = true)]
    pub maxdepth: Option<usize>,
    /// Hide nodes below this times the square root of their caller's count (tree)
    #[arg(long, value_name = "FACTOR", allow_negative_numbers = true)]
    pub noisefloor: Option<f64>,
    /// Recursion: off, flat or flatc (tree)
    #[arg(long, value_name = "HOW", value_parser = one_of(Recur::CHOICES), hide_possible_values = true)]
    pub recur: Option<Recur>,
    /// The order of rows: count, overhead, time, calls, name, ...
    ///
    /// filefuncline, count, overhead or flat_count (tree, flat, functions); or by pstats' names:
    /// calls, cumulative, file, line, module, name, nfl, pcalls, stdname or time, of equals with
    /// commas, as `time,name` (trace, pstats) [default: time; of pstats stdname]
    #[arg(long, value_name = "ORDER", aliases = ["sortedby", "sort-by"], allow_hyphen_values = true)]
    pub sort: Option<Order>,
    /// Only some functions: a count, a part of them as .1, or a part of the standard name, or a
    /// glob for it; those that are given later choose from what the earlier ones leave (trace,
    /// pstats)
    #[arg(long, value_name = "WHICH")]
    pub only: Vec<Only>,
    /// Who called each function, and how often (trace, pstats)
    #[arg(long, conflicts_with = "callees")]
    pub callers: bool,
    /// What each function called, and how often (trace, pstats)
    #[arg(long)]
    pub callees: bool,
    /// The options that come from settings. A report that does not take one of them ignores it.
    #[arg(skip)]
    pub set: Vec<String>,
}

/// The parser of `--by`: the values of a table, `label:KEY` and `span:KEY`.
#[derive(Debug, Clone, Copy)]
struct Grouping;

impl TypedValueParser for Grouping {
    type Value = GroupBy;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<GroupBy, clap::Error> {
        match value.to_str().map(str::parse) {
            Some(Ok(by)) => Ok(by),
            _ => one_of(GroupBy::CHOICES).parse_ref(command, argument, value),
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let names = GroupBy::CHOICES.map(|(name, _)| PossibleValue::new(name));
        Some(Box::new(names.into_iter()))
    }
}

/// An order of rows, by the names that one report or another has for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    text: String,
    of_samples: Option<SortBy>,
    of_calls: Option<CallOrder>,
}

impl FromStr for Order {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let order = Self {
            text: text.to_owned(),
            of_samples: text.parse().ok(),
            of_calls: text.parse().ok(),
        };
        match (&order.of_samples, &order.of_calls) {
            (None, None) => Err(format!(
                "no report has such an order: tree, flat and functions have {}; trace and pstats those of pstats, as time or calls",
                names(&SortBy::CHOICES)
            )),
            _ => Ok(order),
        }
    }
}

impl Order {
    /// The order of a table of calls, if that is known there.
    pub fn of_calls(&self) -> Option<&CallOrder> {
        self.of_calls.as_ref()
    }

    /// The order of a report on samples, if that is known there.
    pub fn of_samples(&self) -> Option<SortBy> {
        self.of_samples
    }

    /// Why a report has no such order, if it has none.
    fn misfit(&self, what: What) -> Option<String> {
        let (name, text) = (what.name(), &self.text);
        match what.is_of_calls() {
            true if self.of_calls.is_none() => Some(format!(
                "`{name}` has no order `{text}`: it has those of pstats, as time, calls or name"
            )),
            false if self.of_samples.is_none() => Some(format!(
                "`{name}` has no order `{text}`: it has {}",
                names(&SortBy::CHOICES)
            )),
            _ => None,
        }
    }
}

fn names<T>(choices: &[(&'static str, T)]) -> String {
    let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
    names.join(", ")
}

/// An option, whether it was given, and the shapes that it is for.
type Fit = (&'static str, fn(&ShapeOptions) -> bool, &'static [What]);

const FITS: [Fit; 20] = {
    use What::{
        Allocs, Annotate, Exceptions, Flat, Functions, Io, Lines, Memory, MemoryLines, Pstats,
        Spans, Spread, Summary, Syscalls, Trace, Tree,
    };
    [
        (
            "limit",
            |shape| shape.limit.is_some(),
            &[
                Summary,
                Functions,
                Lines,
                Io,
                Syscalls,
                Memory,
                Allocs,
                MemoryLines,
                Trace,
                Pstats,
                Exceptions,
                Annotate,
                Spans,
                Spread,
            ],
        ),
        (
            "min-share",
            |shape| shape.min_share.is_some(),
            &[Functions, Lines, Annotate, Tree, Flat],
        ),
        ("all-lines", |shape| shape.all_lines, &[Lines, Annotate]),
        (
            "context",
            |shape| shape.context.is_some(),
            &[Lines, Annotate],
        ),
        ("intel", |shape| shape.intel, &[Annotate]),
        ("total", |shape| shape.total, &[Lines, Spread]),
        ("libraries", |shape| shape.libraries, &[Lines]),
        ("statements", |shape| shape.statements, &[Lines, Allocs, Io]),
        (
            "no-disk",
            |shape| shape.no_disk,
            &[Lines, Summary, Allocs, Io, MemoryLines, Annotate],
        ),
        (
            "sort",
            |shape| shape.sort.is_some(),
            &[Tree, Flat, Functions, Trace, Pstats],
        ),
        (
            "by",
            |shape| shape.by.is_some(),
            &[Summary, Tree, Flat, Functions, Spans, Trace, Pstats],
        ),
        ("no-combine", |shape| shape.no_combine, &[Tree, Flat]),
        ("mincount", |shape| shape.mincount.is_some(), &[Tree, Flat]),
        ("hot-first", |shape| shape.hot_first, &[Tree, Flat]),
        ("maxdepth", |shape| shape.maxdepth.is_some(), &[Tree]),
        ("noisefloor", |shape| shape.noisefloor.is_some(), &[Tree]),
        ("recur", |shape| shape.recur.is_some(), &[Tree]),
        ("only", |shape| !shape.only.is_empty(), &[Trace, Pstats]),
        ("callers", |shape| shape.callers, &[Trace, Pstats]),
        ("callees", |shape| shape.callees, &[Trace, Pstats]),
    ]
};

impl ShapeOptions {
    /// True if `--by` breaks the report down into groups.
    pub fn is_grouped(&self) -> bool {
        self.by.as_ref().is_some_and(|by| *by != GroupBy::None)
    }

    /// An option of `lines` that was given, and is only about lines that were sampled.
    pub fn of_samples(&self) -> Option<&'static str> {
        let given = [
            ("min-share", self.min_share.is_some()),
            ("all-lines", self.all_lines),
            ("context", self.context.is_some()),
            ("total", self.total),
            ("libraries", self.libraries),
            ("statements", self.statements),
        ];
        let is_set = |name: &str| self.set.iter().any(|option| option == name);
        (given.into_iter()).find_map(|(name, is_given)| (is_given && !is_set(name)).then_some(name))
    }

    /// Why these options do not go with a shape, if they do not.
    pub fn misfit(&self, what: What) -> Option<String> {
        let misfit = |(name, is_given, shapes): &Fit| {
            let is_misfit = is_given(self) && !shapes.contains(&what);
            is_misfit.then(|| {
                let shapes: Vec<&str> = shapes.iter().map(|shape| shape.name()).collect();
                let (shape, of) = (what.name(), shapes.join(", "));
                format!("`{shape}` has no `--{name}`, which is an option of: {of}")
            })
        };
        let grouped = || {
            let given = [
                ("limit", self.limit.is_some()),
                ("min-share", self.min_share.is_some()),
            ];
            let (name, _) = given.into_iter().find(|(_, is_given)| *is_given)?;
            (what == What::Functions && self.is_grouped())
                .then(|| format!("`--{name}` and `--by` do not go together"))
        };
        let by_task = || {
            let is_by_task = matches!(
                self.by,
                Some(
                    GroupBy::Task
                        | GroupBy::ThreadTask
                        | GroupBy::TaskThread
                        | GroupBy::Span
                        | GroupBy::SpanOf(_)
                )
            );
            (what.is_of_calls() && is_by_task).then(|| {
                let what = what.name();
                format!("`{what}` can be broken down by thread or process: calls are not counted by task or span")
            })
        };
        let by_command = || {
            match (what, self.by.as_ref().unwrap_or(&GroupBy::None)) {
            (What::Summary, GroupBy::None | GroupBy::Command) => None,
            (What::Summary, _) => Some(
                "`summary` can be broken down by command: it has its processes and threads as it is"
                    .to_owned(),
            ),
            (What::Spans, GroupBy::None | GroupBy::Span | GroupBy::SpanOf(_)) => None,
            (What::Spans, _) => Some(
                "`spans` has a row for each name, or with `--by span:KEY` for each value of an attribute"
                    .to_owned(),
            ),
            (_, GroupBy::Command) if what.is_of_calls() => {
                let what = what.name();
                Some(format!("`{what}` can be broken down by thread or process"))
            }
            _ => None,
        }
        };
        (FITS.iter().find_map(misfit))
            .or_else(|| self.sort.as_ref()?.misfit(what))
            .or_else(grouped)
            .or_else(by_command)
            .or_else(by_task)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_are_typed() {
        for what in What::value_variants() {
            let typed = what.to_possible_value().expect("all can be typed");
            assert_eq!(typed.get_name(), what.name());
        }
    }

    #[test]
    fn an_option_that_changes_nothing_is_refused() {
        let context = ShapeOptions {
            context: Some(3),
            ..ShapeOptions::default()
        };
        assert_eq!(context.misfit(What::Lines), None);
        let why = context.misfit(What::Tree).expect("a tree has no lines");
        assert!(why.contains("--context") && why.contains("lines"), "{why}");
        let grouped = ShapeOptions {
            limit: Some(3),
            by: Some(GroupBy::Thread),
            ..ShapeOptions::default()
        };
        let why = grouped
            .misfit(What::Functions)
            .expect("groups have no limit");
        assert!(why.contains("--limit"), "{why}");
    }
}
