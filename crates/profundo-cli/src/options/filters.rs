//! Options that select samples, for every command that reads a recording.

use std::time::Duration;

use clap::Args;
use clap::builder::PossibleValuesParser;
use clap_complete::engine::ArgValueCompleter;
use profundo_analysis::{Expression, Filter, Transform, Transforms};
use profundo_console::options::OwnCode;
use profundo_console::options::values::seconds;

use super::{Labels, refuse};
use crate::completing;

// Options that select samples.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Which samples")]
pub struct Filters {
    /// Only this thread: its number, its tid or its name; may be repeated
    #[arg(add = ArgValueCompleter::new(completing::threads), long, value_name = "THREAD")]
    pub thread: Vec<String>,
    /// Only this process: its pid or a part of its command line; may be repeated
    #[arg(long, value_name = "PROCESS")]
    pub process: Vec<String>,
    /// Only merged recordings with this label, as run=1; while recording: give it this label
    #[arg(long, value_name = "KEY=VALUE")]
    pub label: Vec<Labels>,
    /// Only this task: its number or its name; may be repeated
    #[arg(long, value_name = "TASK")]
    pub task: Vec<String>,
    /// Only in spans of this name, or with this attribute as route=/x, or with a glob for either; may
    /// be repeated
    #[arg(long, value_name = "NAME")]
    pub span: Vec<String>,
    /// Only stacks through a file whose path contains this; may be repeated
    #[arg(add = ArgValueCompleter::new(completing::files), long, value_name = "FILE")]
    pub file: Vec<String>,
    /// Only stacks through a function whose name contains this; may be repeated
    #[arg(add = ArgValueCompleter::new(completing::functions), long, value_name = "FUNCTION")]
    pub function: Vec<String>,
    /// Show no frames of libraries: their time goes to the line of yours that called them
    #[arg(long)]
    pub only_mine: bool,
    /// Show the frames of the interpreter and of the C runtime too
    #[arg(long)]
    pub c: bool,
    /// Only samples from this time on, in seconds since the start
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub from: Option<Duration>,
    /// Only samples in this state of Python's lock: held, waiting, released or none; may be repeated
    #[arg(long, value_name = "STATE", value_parser = PossibleValuesParser::new(Filter::GIL), hide_possible_values = true)]
    pub gil: Vec<String>,
    /// Only stacks with a matching frame: a regular expression for its function, its file or its
    /// library; may be repeated
    #[arg(add = ArgValueCompleter::new(completing::functions), long, value_name = "RE")]
    pub focus: Vec<Expression>,
    /// No stacks with a matching frame
    #[arg(add = ArgValueCompleter::new(completing::functions), long, value_name = "RE")]
    pub ignore: Vec<Expression>,
    // For the Python package, whose regions have recordings of their own where sums are made.
    /// Let sums of allocations pass filters on threads, tasks, spans and time
    #[arg(long, hide = true)]
    pub whole_sums: bool,
    #[command(flatten)]
    pub own_code: OwnCode,
    #[command(flatten)]
    pub stacks: StackOptions,
}

// What is done to the stacks of these samples.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "What is left of stacks")]
pub struct StackOptions {
    /// Take matching frames away: their time goes to their callers
    #[arg(add = ArgValueCompleter::new(completing::functions), long, value_name = "RE")]
    pub hide: Vec<Expression>,
    /// Take all other frames away
    #[arg(add = ArgValueCompleter::new(completing::functions), long, value_name = "RE")]
    pub show: Vec<Expression>,
    /// Cut off the callers of the first matching frame, and leave out stacks without one
    #[arg(add = ArgValueCompleter::new(completing::functions), long, value_name = "RE")]
    pub show_from: Vec<Expression>,
    /// Change stacks: merge-function:RE, drop-library:RE, collapse-recursion, ...
    ///
    /// merge-function, merge-file or merge-library (take them away), drop-function, drop-file or
    /// drop-library (with all samples through them), focus-function (make it the root),
    /// collapse-recursion, collapse-library, collapse-function-subtree; each with :RE. drop-hidden,
    /// without :RE, leaves out samples without a frame. May be repeated: the transforms follow one
    /// another.
    #[arg(add = ArgValueCompleter::new(completing::transforms), long, value_name = "HOW")]
    pub transform: Vec<Transform>,
}

/// The error for a state of the interpreter's lock where there are no samples of time.
pub const NO_GIL: &str =
    "`--gil` chooses samples of time: allocations and counted calls have no state of Python's lock";

impl StackOptions {
    /// An option that was given, if any was.
    pub fn given(&self) -> Option<&'static str> {
        let given = [
            ("hide", !self.hide.is_empty()),
            ("show", !self.show.is_empty()),
            ("show-from", !self.show_from.is_empty()),
            ("transform", !self.transform.is_empty()),
        ];
        (given.into_iter()).find_map(|(name, is_given)| is_given.then_some(name))
    }
}

// The end of the time that counts.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Which samples")]
pub struct Until {
    /// Only samples before this time
    #[arg(long, visible_alias = "until", value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub to: Option<Duration>,
}

// The end of the time that counts, where `--to` is a format as well.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Which samples")]
pub struct OnlyUntil {
    /// Only samples before this time; `--to SECONDS` is the same
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub until: Option<Duration>,
}

impl Filters {
    /// Takes the labels out, for a recording that gets them.
    pub fn take_labels(&mut self) -> Vec<(String, String)> {
        Labels::all(&std::mem::take(&mut self.label))
    }

    /// Why no sample can pass, if that is so whatever was recorded.
    pub fn misfit(&self, to: Option<Duration>) -> Option<String> {
        let (from, to) = (self.from?, to?);
        let (from, to) = (from.as_secs_f64(), to.as_secs_f64());
        (from >= to).then(|| format!("nothing lies between --from {from} and --to {to}"))
    }

    /// The filter in the words of the analysis.
    pub fn filter(&self, to: Option<Duration>) -> Filter {
        let mut filter = Filter::default();
        for thread in &self.thread {
            filter = filter.thread(thread);
        }
        for process in &self.process {
            filter = filter.process(process);
        }
        for (key, value) in self.label.iter().flat_map(|labels| &labels.0) {
            filter = filter.label(key, value);
        }
        for task in &self.task {
            filter = filter.task(task);
        }
        for span in &self.span {
            filter = filter.span(span);
        }
        for file in &self.file {
            filter = filter.file(file);
        }
        for function in &self.function {
            filter = filter.function(function);
        }
        for state in &self.gil {
            filter = filter
                .gil(state)
                .unwrap_or_else(|why| refuse(&why.to_string()));
        }
        filter.whole_sums = self.whole_sums;
        filter.focus.clone_from(&self.focus);
        filter.ignore.clone_from(&self.ignore);
        filter.transforms = Transforms {
            hide: self.stacks.hide.clone(),
            show: self.stacks.show.clone(),
            show_from: self.stacks.show_from.clone(),
            steps: self.stacks.transform.clone(),
        };
        if let Some(from) = self.from {
            filter = filter.from_seconds(from.as_secs_f64());
        }
        if let Some(to) = to {
            filter = filter.to_seconds(to.as_secs_f64());
        }
        filter
    }
}
