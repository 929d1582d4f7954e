//! Options of the log of collections of garbage.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap_complete::engine::ArgValueCompleter;
use profundo_console::completing::processes;
use profundo_console::options::values::{milliseconds, some_seconds};
use profundo_top::options::pid;

use super::snapshot::Through;

const EXAMPLES: &str = "\
Examples:
  profundo gc-log -- python3 app.py      a line for each collection, as it comes
  profundo gc-log 4711 -d 30             half a minute of a process that runs
  profundo gc-log -d 30 -- app.py        the first half minute of a program, which goes on
  profundo gc-log 4711 --slow 10         only those that took 10 ms or more; the sums at the end are of all
  profundo gc-log --json -o gc.jsonl -- app.py

Exit codes: the program's own (or its signal); with PID 0, or 1 where it cannot be asked; 2 for wrong usage.";

#[derive(Debug, Args)]
#[command(
    override_usage = "profundo gc-log [OPTIONS] <PID>\n       profundo gc-log [OPTIONS] -- <CMD>...",
    after_help = EXAMPLES
)]
pub struct GcLog {
    /// The process
    #[arg(add = ArgValueCompleter::new(processes), value_name = "PID", value_parser = pid, required_unless_present = "words", conflicts_with = "words")]
    pub pid: Option<u32>,
    /// A program to start, and its arguments; a `.py` file is run by python3
    #[arg(value_name = "CMD", last = true)]
    pub words: Vec<OsString>,
    /// Where the lines go; `-` is the standard output [default: stderr, with PID stdout]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace a file of another kind, too
    #[arg(long)]
    pub force: bool,
    /// Lines of JSON instead
    #[arg(long)]
    pub json: bool,
    /// Tell only of those that took so many milliseconds
    #[arg(long, value_name = "MS", default_value = "0", value_parser = milliseconds, allow_negative_numbers = true)]
    pub slow: Duration,
    /// Stop after so long; the program goes on [default: when the program ends, or on Ctrl-C]
    #[arg(short, long, value_name = "SECONDS", value_parser = some_seconds, allow_negative_numbers = true)]
    pub duration: Option<Duration>,
    #[command(flatten)]
    pub through: Through,
}
