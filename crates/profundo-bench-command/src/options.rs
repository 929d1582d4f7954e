//! Options of the benchmark: timeit's for Python, hyperfine's for commands, and the same for both
//! where they mean the same.

#![expect(
    missing_docs,
    reason = "clap would print the sentences of structs as what the command does"
)]

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgAction, Args};
use profundo_console::options::Paper;
use profundo_console::options::choices::one_of;
use profundo_console::options::values::{percent_more, some_seconds};
use profundo_report::Clocked;

const EXAMPLES: &str = "\
Examples:
  profundo bench --python '\"-\".join(map(str, range(100)))'    as `python -m timeit`
  profundo bench -s 'd = {5: 6}' --python 'd[5]' --python 'd.get(5)' --check
  profundo bench --with python3.8 --with python3.13 --python 'sum(range(1000))'
  profundo bench -- ./program --with arguments              one program, without a shell
  profundo bench 'grep -c x big.txt' 'wc -l < big.txt'      as hyperfine: each word a line for the shell
  profundo bench 'make' --prepare 'make clean' --save then.json
  profundo bench 'make' --prepare 'make clean' --against then.json --threshold 10
  profundo bench --measured now.json --against then.json    what was measured before, such as by a Rust program

Several candidates run in turn, in an order drawn by chance; Python's in a fresh interpreter for each run.
The interval of a ratio holds the true one 95 times in 100. Where it holds 1 there is no verdict.

Exit codes: 0; 1 if something fails or `--check` finds a difference; 2 for wrong usage; 3 if it has
become too slow; 130 after Ctrl-C, when what was measured so far is printed.";

/// The options that go with measuring alone.
const MEASURING: [&str; 19] = [
    "commands",
    "words",
    "python",
    "setup",
    "with",
    "name",
    "number",
    "min_time",
    "repeat",
    "process",
    "warmup",
    "show_output",
    "check",
    "prepare",
    "cleanup",
    "shell",
    "no_shell",
    "ignore_failure",
    "save",
];

// What to time, and how.
#[derive(Debug, Args)]
#[command(
    override_usage = "profundo bench [OPTIONS] --python <STMT>...\n       profundo bench [OPTIONS] <COMMAND>...\n       \
                      profundo bench [OPTIONS] -- <CMD> [ARGS]...\n       \
                      profundo bench --measured <FILE> [--against <FILE>]",
    after_help = EXAMPLES
)]
pub struct Bench {
    /// Commands, each a line for the shell; several are compared
    #[arg(value_name = "COMMAND", conflicts_with_all = ["python", "words"])]
    pub commands: Vec<String>,
    /// A program and its arguments, without a shell
    #[arg(value_name = "CMD", last = true, conflicts_with = "python")]
    pub words: Vec<OsString>,
    /// A statement of Python, which may have several lines; several are compared
    #[arg(long, value_name = "STMT", allow_hyphen_values = true)]
    pub python: Vec<String>,
    /// Python: what is done before each run and not timed; repeated, these are the lines of it.
    /// Commands: what the shell does once, before all else
    #[arg(short, long, value_name = "SETUP", allow_hyphen_values = true)]
    pub setup: Vec<String>,
    /// The interpreter; several are compared [default: python3]
    #[arg(long, value_name = "PYTHON")]
    pub with: Vec<OsString>,
    /// A candidate's name, in their order
    #[arg(long, value_name = "NAME")]
    pub name: Vec<String>,
    /// Loops in a run [default: of 1, 2, 5, 10, 20, 50 … the first that take 0.2 s; 0.1 s of
    /// several candidates]
    #[arg(short, long, value_name = "LOOPS")]
    pub number: Option<u64>,
    /// How long the loops of a run take at least, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = some_seconds, allow_negative_numbers = true, conflicts_with = "number")]
    pub min_time: Option<std::time::Duration>,
    /// Runs [default: 5 of a statement; 10 and more of a command, for 3 s; 10 to 20 and more of
    /// several candidates]
    #[arg(short, long, visible_alias = "runs", value_name = "RUNS", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub repeat: Option<u64>,
    /// Unit of times: nsec, usec, msec or sec
    #[arg(short, long, value_name = "UNIT", value_parser = one_of(Clocked::ALL.map(|unit| (unit.name(), unit))), hide_possible_values = true)]
    pub unit: Option<Clocked>,
    /// Measure CPU time, not elapsed time
    #[arg(short, long)]
    pub process: bool,
    /// Print how the number of loops was found, and the times of all runs; twice, with more digits
    #[arg(short, long, action = ArgAction::Count, conflicts_with = "json")]
    pub verbose: u8,
    /// Runs that are not counted, before the others; of Python in each interpreter
    #[arg(short, long, value_name = "RUNS", value_parser = clap::value_parser!(u64).range(..=1_000_000))]
    pub warmup: Option<u64>,
    /// Do not throw away what is printed
    #[arg(long)]
    pub show_output: bool,
    /// See first that all candidates give the same: the value of the statement's last expression
    /// and what it prints, or the command's output and exit code
    #[arg(long)]
    pub check: bool,
    #[command(flatten)]
    pub paper: Paper,
    #[command(flatten)]
    pub of_commands: OfCommands,
    #[command(flatten)]
    pub later: Later,
}

// Options for commands alone.
#[derive(Debug, Args)]
#[command(next_help_heading = "Commands")]
pub struct OfCommands {
    /// What the shell does before each run, such as emptying a cache; once for all candidates, or
    /// once for each
    #[arg(long, value_name = "COMMAND")]
    pub prepare: Vec<String>,
    /// What the shell does after all runs
    #[arg(long, value_name = "COMMAND")]
    pub cleanup: Option<String>,
    /// The shell, whose own start is measured and taken off; `none` for none [default: sh]
    #[arg(short = 'S', long, value_name = "SHELL")]
    pub shell: Option<String>,
    /// As `--shell none`
    #[arg(short = 'N', conflicts_with = "shell")]
    pub no_shell: bool,
    /// Measure commands that fail, too
    #[arg(short, long)]
    pub ignore_failure: bool,
}

// Options for the comparison with a saved measurement.
#[derive(Debug, Args)]
#[command(next_help_heading = "Now and later")]
pub struct Later {
    /// Write the measurement there; `-` is the standard output
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Replace a file of another kind, too
    #[arg(long, requires = "save")]
    pub force: bool,
    /// Compare with the measurement that was saved there
    #[arg(long, value_name = "FILE")]
    pub against: Option<PathBuf>,
    /// Measure nothing: this was measured before, by `--save` or by a Rust program with
    /// `write_json`
    #[arg(long, value_name = "FILE", conflicts_with_all = MEASURING)]
    pub measured: Option<PathBuf>,
    /// How much slower than there is too slow, in percent, if it is certain to be [default: 10]
    #[arg(long, value_name = "PERCENT", value_parser = percent_more, requires = "against", allow_negative_numbers = true)]
    pub threshold: Option<f64>,
}
