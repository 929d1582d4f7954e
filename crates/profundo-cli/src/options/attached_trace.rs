//! Options of counting in a process that runs already.

use clap::{Args, ValueEnum};

use super::counting::Counting;
use super::{ViewOptions, What};

/// What is counted in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Counted {
    /// Each call
    Calls,
    /// Each line
    Lines,
    /// Each exception
    Exceptions,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Exact counts")]
pub struct AttachedTrace {
    /// Enter the process and count each call of its Python functions from then on; each line with
    /// =lines, each exception with =exceptions
    #[arg(
        long,
        value_enum,
        value_name = "WHAT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "calls",
        hide_possible_values = true,
        conflicts_with_all = ["dump", "wall", "syscalls", "energy", "memory"]
    )]
    pub trace: Option<Counted>,
    /// With --trace: count the lines of the functions whose file or name fits (`app.py`,
    /// `src/*.py`, `fib`, `app.py:fib`)
    #[arg(long, value_name = "GLOB|FUNCTION", num_args = 0..=1, require_equals = true, default_missing_value = "", action = clap::ArgAction::Append, requires = "trace")]
    pub lines: Vec<String>,
    /// With --trace=lines: each line is counted, and how long it takes is found by sampling
    #[arg(long, requires = "trace")]
    pub cheap: bool,
    /// With --trace=lines: only which lines are run at all, which costs next to nothing from Python
    /// 3.12 on
    #[arg(long, requires = "trace", conflicts_with = "cheap")]
    pub once: bool,
    /// With --trace: leave out the functions of C's that Python calls
    #[arg(long, requires = "trace")]
    pub no_builtins: bool,
    /// With --trace: measure the CPU time of each thread: what waits takes none
    #[arg(long, requires = "trace")]
    pub cpu: bool,
}

/// The lines of all of the program's own functions.
static ALL: [String; 1] = [String::new()];

impl AttachedTrace {
    /// What is counted, if anything is.
    pub fn counting(&self) -> Option<Counting<'_>> {
        let counted = self.trace?;
        let lines = match (counted, &self.lines[..]) {
            (Counted::Lines, []) => &ALL,
            (_, lines) => lines,
        };
        Some(Counting {
            lines,
            cheap: self.cheap,
            once: self.once,
            exceptions: counted == Counted::Exceptions,
            no_builtins: self.no_builtins,
            cpu: self.cpu,
        })
    }

    /// Why these options do not go together, if they do not.
    pub fn misfit(&self, what: What, view: &ViewOptions, has_rate: bool) -> Option<String> {
        let counting = self.counting()?;
        let of_lines = [("cheap", self.cheap), ("once", self.once)];
        if let Some((name, _)) = of_lines
            .iter()
            .find(|(_, is_set)| *is_set && counting.lines.is_empty())
        {
            return Some(format!("--{name} is about lines: --trace=lines --{name}"));
        }
        if has_rate && !self.cheap {
            return Some("--rate is about samples, and --trace takes none".into());
        }
        let of_report = counting.misfit_of_report(what);
        of_report.or_else(|| counting.misfit(what, view))
    }
}
