//! Options of `diff`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::engine::ArgValueCompleter;
use profundo_analysis::diff::{By, Per};
use profundo_console::options::Paper;
use profundo_console::options::choices::one_of;
use profundo_console::options::values::{count, percent_more};

use super::filters::Until;
use super::{Filters, Measuring, Reading};
use crate::completing;

const EXAMPLES: &str = "\
Examples:
  profundo diff                               the last two recordings
  profundo diff before.profundo after.profundo
  profundo diff a1 a2 a3 -- b1 b2 b3          two sets of runs: their spread is measured
  profundo diff a b --fail-above 5%           for CI: exit code 3 if it has grown by more
  profundo diff a b -o diff.svg               a flame graph of the difference, too

Exit codes: 0, changed or not; 3 if `--fail-above` is exceeded beyond chance; 2 for wrong usage; 1 for
another failure; 4 if nothing passes the filter.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Diff {
    /// Recordings or queries: one before and one after; or all before, and behind `--` all after
    /// [default: the last two]
    #[arg(add = ArgValueCompleter::new(completing::recordings), value_name = "BEFORE AFTER")]
    pub recordings: Vec<PathBuf>,
    /// The runs after, where there are several
    #[arg(
        add = ArgValueCompleter::new(completing::recordings),
        value_name = "AFTER",
        last = true,
        hide = true
    )]
    pub after: Vec<PathBuf>,
    /// The rows: function, line, stack, type, thread, process, task, kind, wait, io, span,
    /// calls or hits;
    /// several with commas [default: functions and lines, and what was counted]
    #[arg(
        long,
        value_name = "ROWS",
        value_parser = one_of(By::CHOICES),
        value_delimiter = ',',
        hide_possible_values = true,
        help_heading = "The comparison"
    )]
    pub by: Vec<By>,
    /// The scale: run, seconds, share, calls, or a function as the work done [default: run where
    /// both programs ran to their end, share for queries, else seconds]
    #[arg(long, value_name = "SCALE", help_heading = "The comparison")]
    pub per: Option<String>,
    /// Exit with 3 if the whole or a row has grown beyond chance by more of the whole
    #[arg(long, value_name = "PERCENT", value_parser = percent_more, allow_negative_numbers = true, help_heading = "The comparison")]
    pub fail_above: Option<f64>,
    /// Draw the difference as a flame graph, too: an SVG file; `-` is the standard output, in place
    /// of the report
    #[arg(short, long, value_name = "SVG", help_heading = "The report")]
    pub output: Option<PathBuf>,
    /// Replace a file of another kind, too
    #[arg(long, requires = "output", help_heading = "The report")]
    pub force: bool,
    /// Show at most so many rows of each table [default: 20]
    #[arg(long, value_name = "COUNT", value_parser = count, allow_negative_numbers = true, help_heading = "The report")]
    pub limit: Option<usize>,
    #[command(flatten, next_help_heading = "The report")]
    pub paper: Paper,
    #[command(flatten)]
    pub filters: Filters,
    #[command(flatten)]
    pub until: Until,
    #[command(flatten)]
    pub measuring: Measuring,
    #[command(flatten)]
    pub reading: Reading,
}

impl Diff {
    /// The recordings before and after, as they were typed, or why that is not clear.
    pub fn sides(&self) -> Result<[Vec<PathBuf>; 2], String> {
        let given = |paths: &[PathBuf]| paths.to_vec();
        match (&self.recordings[..], &self.after[..]) {
            ([], []) => Ok([vec!["@2".into()], vec!["@1".into()]]),
            ([_], []) => Err(
                "one recording is compared with another: name both, or none for the last two"
                    .into(),
            ),
            ([before, after], []) => Ok([vec![before.clone()], vec![after.clone()]]),
            (several, []) => Err(format!(
                "{} recordings are named: those before and those after have `--` between them",
                several.len()
            )),
            ([], _) => Err("no recording is named before `--`".into()),
            (before, after) => Ok([given(before), given(after)]),
        }
    }

    /// Why these options do not go together.
    pub fn misfit(&self) -> Option<String> {
        let (sides, filters) = (self.sides(), self.filters.misfit(self.until.to));
        let draws_only = self
            .output
            .as_ref()
            .is_some_and(|path| path.as_os_str() == "-");
        let of_report = self.paper.json || self.limit.is_some() || !self.by.is_empty();
        (sides.err())
            .or(filters)
            .or_else(|| self.measuring.misfit().map(str::to_owned))
            .or_else(|| {
                (draws_only && of_report).then(|| {
                    "`-o -` prints the picture in place of the report, which --json, --limit and --by are about".to_owned()
                })
            })
    }

    /// The scale.
    pub fn scale(&self) -> Per {
        match self.per.as_deref() {
            None => Per::Automatic,
            Some("share" | "shares") => Per::Share,
            Some("run" | "runs") => Per::Run,
            Some("second" | "seconds") => Per::Second,
            Some("call" | "calls") => Per::Calls,
            Some(function) => Per::Function(function.to_owned()),
        }
    }
}
