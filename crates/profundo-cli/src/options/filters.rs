//! Which samples count. The same words mean the same in every verb that looks at a recording.

use std::time::Duration;

use clap::Args;
use clap_complete::engine::ArgValueCompleter;
use profundo_analysis::Filter;

use super::own_code::OwnCode;
use super::values::seconds;
use crate::completing;

// Which samples count.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Which samples")]
pub struct Filters {
    /// Only this thread: its number, its tid or its name; may be repeated
    #[arg(add = ArgValueCompleter::new(completing::threads), long, value_name = "THREAD")]
    pub thread: Vec<String>,
    /// Only this process: its pid or a part of its command line; may be repeated
    #[arg(long, value_name = "PROCESS")]
    pub process: Vec<String>,
    /// Only this task: its number or its name; may be repeated
    #[arg(long, value_name = "TASK")]
    pub task: Vec<String>,
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
    #[command(flatten)]
    pub own_code: OwnCode,
}

// The end of the time that counts.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Which samples")]
pub struct Until {
    /// Only samples before this time
    #[arg(long, visible_alias = "until", value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub to: Option<Duration>,
}

// The same where `--to` is a format as well.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Which samples")]
pub struct OnlyUntil {
    /// Only samples before this time; `--to SECONDS` is the same
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub until: Option<Duration>,
}

impl Filters {
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
