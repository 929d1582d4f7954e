//! Options of what is asked of a program that runs.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap_complete::engine::ArgValueCompleter;
use profundo_console::completing::processes;
use profundo_console::options::values::some_seconds;

const EXAMPLES: &str = "\
Examples:
  profundo snapshot 4711                        writes profundo.python3.4711.heapsnapshot
  profundo heap profundo.python3.4711.heapsnapshot     what fills it
  profundo snapshot 4711 --streaming -o big     four part files, for a heap that is very large
  profundo assemble big                         later, or elsewhere: one file of them

A native program has to be recorded with --memory=exact: then its blocks are known, and who may point to them.

The program goes on while a copy of it (a fork) is gone through. What its strings hold is not
written unless --no-redact is given; names of attributes, functions and classes are.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Snapshot {
    /// The process
    #[arg(add = ArgValueCompleter::new(processes), value_name = "PID")]
    pub pid: u32,
    /// Where to write it; `-` is the standard output [default: profundo.<name>.<PID>.heapsnapshot]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace a file of another kind, too
    #[arg(long)]
    pub force: bool,
    /// Write four part files, which take no memory to write: `profundo assemble` makes a snapshot of them
    #[arg(long)]
    pub streaming: bool,
    /// Write what strings hold, too: passwords, keys and names of people among it
    #[arg(long)]
    pub no_redact: bool,
    /// Count every object as one byte, so that sizes are numbers of objects
    #[arg(long)]
    pub all_one: bool,
    /// Write what is in each page of the interpreter's own allocator instead, as JSON
    #[arg(long, conflicts_with_all = ["streaming", "no_redact", "all_one"])]
    pub pages: bool,
    /// Write the blocks of the program's own allocator, even if it has a Python interpreter
    #[arg(long, conflicts_with_all = ["pages", "no_redact"])]
    pub native: bool,
    #[command(flatten)]
    pub through: Through,
}

// How a running interpreter is asked.
#[derive(Debug, Args)]
pub struct Through {
    /// How long the interpreter may take to let profundo in
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = some_seconds, allow_negative_numbers = true)]
    pub timeout: Duration,
    /// Ask a program, too, that restricts its own system calls (seccomp): it may be ended for it
    #[arg(long)]
    pub filtered: bool,
}
