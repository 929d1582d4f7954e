//! How a recording is looked at: which samples, in which shape, in which style.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use profundo_analysis::Filter;
use profundo_report::{GroupBy, Recur, SortBy, When};

use super::values::seconds;

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
    /// The table of Python's statprof
    Statprof,
}

/// The values of one of the library's options, under its names.
fn one_of<T: Copy + Send + Sync + 'static, const N: usize>(
    choices: [(&'static str, T); N],
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(choices.map(|(name, _)| name)).map(move |given| {
        let found = choices.iter().find(|(name, _)| *name == given);
        found.expect("the parser lets only these through").1
    })
}

/// Which samples count.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Which samples")]
pub struct Filters {
    /// Only this thread: its number, its tid or its name; may be repeated
    #[arg(long, value_name = "THREAD")]
    pub thread: Vec<String>,
    /// Only this process: its pid or a part of its command line; may be repeated
    #[arg(long, value_name = "PROCESS")]
    pub process: Vec<String>,
    /// Only this task: its number or its name; may be repeated
    #[arg(long, value_name = "TASK")]
    pub task: Vec<String>,
    /// Only stacks through a file whose path contains this; may be repeated
    #[arg(long, value_name = "FILE")]
    pub file: Vec<String>,
    /// Only stacks through a function whose name contains this; may be repeated
    #[arg(long, value_name = "FUNCTION")]
    pub function: Vec<String>,
    /// Show no frames of libraries: their time goes to the line of yours that called them
    #[arg(long)]
    pub only_mine: bool,
    /// Only samples from this time on, in seconds since the start
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub from: Option<Duration>,
}

/// The end of the time that counts.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Which samples")]
pub struct Until {
    /// Only samples before this time
    #[arg(long, visible_alias = "until", value_name = "SECONDS", value_parser = seconds)]
    pub to: Option<Duration>,
}

/// The same where `--to` is a format.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Which samples")]
pub struct OnlyUntil {
    /// Only samples before this time
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub until: Option<Duration>,
}

/// Everything about how a report looks.
#[derive(Debug, Clone, Default, Args)]
pub struct Looking {
    #[command(flatten)]
    pub filters: Filters,
    #[command(flatten)]
    pub until: Until,
    #[command(flatten)]
    pub style: Style,
}

impl Looking {
    /// The filter in the words of the analysis.
    pub fn filter(&self) -> Filter {
        self.filters.filter(self.until.to)
    }
}

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "The report")]
pub struct Style {
    /// Print JSON instead of text
    #[arg(long)]
    pub json: bool,
    /// Write the report there
    #[arg(long, value_name = "FILE")]
    pub report_to: Option<PathBuf>,
    /// Show the frames of the interpreter and of the C runtime too
    #[arg(long)]
    pub c: bool,
    /// A row for each address instead of each line
    #[arg(long)]
    pub no_combine: bool,
    /// Unfold a tree down to this level
    #[arg(long, value_name = "LEVEL")]
    pub maxdepth: Option<usize>,
    /// Hide what has fewer samples
    #[arg(long, value_name = "COUNT")]
    pub mincount: Option<u64>,
    /// Hide a tree's nodes below this times the square root of their caller's count
    #[arg(long, value_name = "FACTOR")]
    pub noisefloor: Option<f64>,
    /// The order of rows: filefuncline, count, overhead or flat_count
    #[arg(long, value_name = "ORDER", visible_alias = "sort-by", value_parser = one_of(SortBy::CHOICES), hide_possible_values = true)]
    pub sortedby: Option<SortBy>,
    /// Break down by none, thread, task, or both as thread,task or task,thread
    #[arg(long, value_name = "WHAT", visible_alias = "group-by", value_parser = one_of(GroupBy::CHOICES), hide_possible_values = true)]
    pub groupby: Option<GroupBy>,
    /// Recursion in a tree: off, flat or flatc
    #[arg(long, value_name = "HOW", value_parser = one_of(Recur::CHOICES), hide_possible_values = true)]
    pub recur: Option<Recur>,
    /// Start with the hottest instead of ending with it
    #[arg(long)]
    pub hot_first: bool,
    /// Print for this many columns
    #[arg(long, value_name = "COLUMNS")]
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

impl Filters {
    /// The filter in the words of the analysis.
    pub fn filter(&self, to: Option<Duration>) -> Filter {
        let mut filter = Filter::default();
        for thread in &self.thread {
            filter = filter.thread(thread);
        }
        for process in &self.process {
            filter = filter.process(process);
        }
        for task in &self.task {
            filter = filter.task(task);
        }
        for file in &self.file {
            filter = filter.file(file);
        }
        for function in &self.function {
            filter = filter.function(function);
        }
        if let Some(from) = self.from {
            filter = filter.from_seconds(from.as_secs_f64());
        }
        if let Some(to) = to {
            filter = filter.to_seconds(to.as_secs_f64());
        }
        filter
    }
}
