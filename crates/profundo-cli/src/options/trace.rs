//! Options of counting calls.

use std::path::{Path, PathBuf};

use clap::Args;
use profundo_model::Tracing;

use crate::recordings::Keep;

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
    pub fn tracing(&self) -> Tracing {
        match (self.lines.is_empty(), self.once, self.cheap) {
            (true, ..) if self.exceptions => Tracing::Exceptions,
            (true, ..) => Tracing::Calls,
            (_, true, _) => Tracing::LinesOnce,
            (_, _, true) => Tracing::SampledLines,
            _ => Tracing::Lines,
        }
    }

    /// The report that is printed at the end.
    pub fn what(&self) -> What {
        self.format.unwrap_or(match self.lines.is_empty() {
            true if self.exceptions => What::Exceptions,
            true => What::Trace,
            false => What::Lines,
        })
    }

    /// Why these options do not go together, if they do not.
    pub fn misfit(&self) -> Option<String> {
        let what = self.what();
        let name = what.name();
        let shape = &self.view.shape;
        if what.wants_name() {
            return Some(format!(
                "`{name}` wants the name of a function: trace first, then report FILE {name} NAME"
            ));
        }
        if what.is_of_memory() || matches!(what, What::Io | What::Syscalls | What::Stacks) {
            return Some(format!(
                "`trace` records nothing that `{name}` could show: `profundo run` does"
            ));
        }
        if !self.functions.is_empty() {
            if what.is_of_time() && what != What::Summary {
                return Some(format!(
                    "`{name}` is about time, and --functions counts calls without times: --format trace"
                ));
            }
            let order = shape.sort.as_ref().and_then(Order::of_calls);
            let order = order.filter(|order| order.is_of_time())?;
            return Some(format!(
                "--functions counts calls without times: nothing can be ordered by {}",
                order.words()
            ));
        }
        if self.exceptions
            && let Some(why) = self.misfit_of_exceptions(what)
        {
            return Some(why);
        }
        if self.lines.is_empty() {
            return None;
        }
        if self.no_builtins {
            return Some("--no-builtins is about calls, and --lines counts lines instead".into());
        }
        if self.cpu && (self.once || self.cheap) {
            return Some(match self.once {
                true => "--cpu chooses a clock, and --once measures nothing".into(),
                false => {
                    "--cpu chooses a clock, and the times of --cheap are those of samples, which are CPU time always"
                        .into()
                }
            });
        }
        if what.is_of_calls() {
            return Some(format!(
                "`{name}` is about calls, and --lines counts lines instead: one of them at a time"
            ));
        }
        let is_of_exceptions = self.exceptions && what == What::Exceptions;
        if what != What::Lines && !self.cheap && !is_of_exceptions {
            return Some(format!(
                "`{name}` is about samples or calls, and --lines counts lines instead: --format lines"
            ));
        }
        let option = shape.of_samples().filter(|_| what == What::Lines)?;
        Some(format!(
            "`--{option}` is about samples, and --lines counts each run of a line"
        ))
    }

    /// Why options do not go together with `--exceptions`.
    fn misfit_of_exceptions(&self, what: What) -> Option<String> {
        if self.no_builtins {
            return Some(
                "--no-builtins is about calls, and --exceptions counts exceptions instead".into(),
            );
        }
        if !self.lines.is_empty() {
            return None;
        }
        if self.cpu {
            return Some("--cpu chooses a clock, and --exceptions measures nothing".into());
        }
        (what != What::Exceptions).then(|| {
            let name = what.name();
            format!(
                "`{name}` is about calls or lines, and --exceptions counts exceptions instead: --format exceptions"
            )
        })
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
