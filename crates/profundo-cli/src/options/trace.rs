//! Options of counting calls.

use std::path::{Path, PathBuf};

use crate::recordings::Keep;
use clap::Args;

use super::counting::Counting;
use super::{Command, Order, ViewOptions, What};

const EXAMPLES: &str = "\
Examples:
  profundo trace -- python3 app.py            every call, as cProfile prints them
  profundo trace --no-builtins app.py         only Python's own functions: cheaper
  profundo trace --lines app.py               each line, as line_profiler prints them
  profundo trace --lines --once app.py        which lines ran, and which did not
  profundo trace --exceptions app.py          each exception, by the lines that raise and catch it
  profundo trace -o app.profundo -- app.py    and `profundo report` for other views
  profundo trace -- ./prog                    if built with -finstrument-functions or for coverage
  profundo trace --functions 'parse_*' -- ./prog    by the kernel, without times
  profundo export app.profundo --to pstats -o app.pstats

Exit codes: the program's own (or its signal); 2 for wrong usage; 126, 127 if it cannot be started.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Trace {
    #[command(flatten)]
    pub command: Command,
    /// Where the recording goes; `-` is the standard output [default: a name by program and time,
    /// in .profundo]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// How many recordings stay in .profundo: a number, a size such as 10G, or `all` [default: the
    /// newest 50, up to 2G]
    #[arg(long, value_name = "HOW MANY")]
    pub keep: Option<Keep>,
    /// Leave out the functions of C's that Python calls
    #[arg(long)]
    pub no_builtins: bool,
    /// Count lines instead: of the functions whose file or name fits (`app.py`, `src/*.py`, `fib`,
    /// `app.py:fib`), or of all in the program's own files
    #[arg(long, value_name = "GLOB|FUNCTION", num_args = 0..=1, require_equals = true, default_missing_value = "", action = clap::ArgAction::Append)]
    pub lines: Vec<String>,
    /// With --lines: each line is counted, and how long it takes is found by sampling
    #[arg(long, requires = "lines")]
    pub cheap: bool,
    /// With --lines: only which lines are run at all, which costs next to nothing from Python 3.12
    /// on
    #[arg(long, requires = "lines", conflicts_with = "cheap")]
    pub once: bool,
    /// Count exceptions instead of calls: the lines that raise them, and the lines that catch them
    /// (Python); with --lines both
    #[arg(long)]
    pub exceptions: bool,
    /// Count only calls of the program's own functions whose name fits, by the kernel: without
    /// times, for programs as they are (native ones; needs root)
    #[arg(long, value_name = "GLOB", conflicts_with_all = ["lines", "cpu", "no_builtins", "exceptions"])]
    pub functions: Vec<String>,
    /// Measure the CPU time of each thread: what waits takes none
    #[arg(long)]
    pub cpu: bool,
    /// Stay with the first process
    #[arg(long)]
    pub no_children: bool,
    /// Keep no lines of source code in the recording
    #[arg(long)]
    pub no_source: bool,
    /// What to print at the end
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "The report")]
    pub format: Option<What>,
    /// The labels that the recording gets, from the option that filters by them elsewhere.
    #[arg(skip)]
    pub labels: Vec<(String, String)>,
    #[command(flatten)]
    pub view: ViewOptions,
}

impl Trace {
    /// What is counted.
    pub fn counting(&self) -> Counting<'_> {
        Counting {
            lines: &self.lines,
            cheap: self.cheap,
            once: self.once,
            exceptions: self.exceptions,
            no_builtins: self.no_builtins,
            cpu: self.cpu,
        }
    }

    /// The report that is printed at the end.
    pub fn what(&self) -> What {
        self.counting().what(self.format)
    }

    /// Why these options do not go together, if they do not.
    pub fn misfit(&self) -> Option<String> {
        let what = self.what();
        let counting = self.counting();
        if let Some(why) = counting.misfit_of_report(what) {
            return Some(why);
        }
        if self.functions.is_empty() {
            return counting.misfit(what, &self.view);
        }
        if what.is_of_time() && what != What::Summary {
            return Some(format!(
                "`{}` is about time, and --functions counts calls without times: --format trace",
                what.name()
            ));
        }
        let order = self.view.shape.sort.as_ref().and_then(Order::of_calls);
        let order = order.filter(|order| order.is_of_time())?;
        Some(format!(
            "--functions counts calls without times: nothing can be ordered by {}",
            order.words()
        ))
    }

    /// The word behind `--lines` that was meant for it, but is the program as it stands: a program
    /// would not be called with `--`.
    pub fn word_behind_lines(&self) -> Option<&str> {
        let [first, second, ..] = &self.command.words[..] else {
            return None;
        };
        let is_bare = self.lines.iter().any(String::is_empty);
        let first = first.to_str().filter(|_| is_bare && second == "--")?;
        (!Path::new(first).exists()).then_some(first)
    }
}
