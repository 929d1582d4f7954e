//! What is counted exactly: calls, lines or exceptions. `trace` and `attach --trace` share it.

use profundo_model::Tracing;
use profundo_recorder::{Calls, Lines, LinesOf};

use super::{ViewOptions, What};

/// The options of counting.
#[derive(Debug, Clone, Copy)]
pub struct Counting<'a> {
    /// The patterns of the functions whose lines are counted, an empty one for all. None: calls are
    /// counted.
    pub lines: &'a [String],
    pub cheap: bool,
    pub once: bool,
    pub exceptions: bool,
    pub no_builtins: bool,
    pub cpu: bool,
}

impl Counting<'_> {
    pub fn tracing(&self) -> Tracing {
        match (self.lines.is_empty(), self.once, self.cheap) {
            (true, ..) if self.exceptions => Tracing::Exceptions,
            (true, ..) => Tracing::Calls,
            (_, true, _) => Tracing::LinesOnce,
            (_, _, true) => Tracing::SampledLines,
            _ => Tracing::Lines,
        }
    }

    /// The report that is printed at the end, given what was asked for.
    pub fn what(&self, format: Option<What>) -> What {
        format.unwrap_or(match self.lines.is_empty() {
            true if self.exceptions => What::Exceptions,
            true => What::Trace,
            false => What::Lines,
        })
    }

    /// The recorder's setting. `mine`: the rules for own code.
    pub fn calls(&self, mine: Vec<String>) -> Calls {
        Calls {
            builtins: !self.no_builtins,
            cpu: self.cpu,
            lines: self.lines_of(mine),
            exceptions: self.exceptions,
        }
    }

    /// The recorder's setting for lines; `None`: calls are counted.
    fn lines_of(&self, mine: Vec<String>) -> Option<Lines> {
        if self.lines.is_empty() {
            return None;
        }
        let of = self.lines.iter().filter(|pattern| !pattern.is_empty());
        Some(Lines {
            of: of.map(|pattern| lines_of(pattern)).collect(),
            times: !self.cheap && !self.once,
            once: self.once,
            mine,
        })
    }

    /// Why a report cannot be printed, whatever is counted.
    pub fn misfit_of_report(&self, what: What) -> Option<String> {
        let name = what.name();
        if what.wants_name() {
            return Some(format!(
                "`{name}` wants the name of a function: trace first, then report FILE {name} NAME"
            ));
        }
        let is_of_samples = matches!(what, What::Io | What::Syscalls | What::Stacks);
        (what.is_of_memory() || is_of_samples).then(|| {
            format!("`trace` records nothing that `{name}` could show: `profundo run` does")
        })
    }

    /// Why these options do not go together, if they do not.
    pub fn misfit(&self, what: What, view: &ViewOptions) -> Option<String> {
        let (name, shape) = (what.name(), &view.shape);
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
}

/// The end that a typed path must match.
fn end_of(path: &str) -> &str {
    let mut end = path;
    while let Some(rest) = end.strip_prefix("./").or_else(|| end.strip_prefix("../")) {
        end = rest;
    }
    end
}

/// Extensions of source files.
const SOURCES: &[&str] = &["py", "rs", "c", "h", "cc", "cpp", "cxx", "hpp", "hh"];

/// The lines of a pattern: `app.py`, `./app.py`, `src/*.py`, `fib`, `Class.method`, `app.py:fib`.
fn lines_of(pattern: &str) -> LinesOf {
    let is_source = |text: &str| {
        text.rsplit_once('.')
            .is_some_and(|(_, end)| SOURCES.contains(&end))
    };
    let is_file = |text: &str| text.contains('/') || is_source(text);
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let some_file = |text: &str| some(end_of(text));
    // The `::` of Rust's and C++'s paths separates no file from a name.
    let is_between =
        |at: &usize| !pattern[..*at].ends_with(':') && !pattern[*at + 1..].starts_with(':');
    let mut colons = pattern.match_indices(':').map(|(at, _)| at);
    let between = colons.rfind(is_between);
    match between.map(|at| (&pattern[..at], &pattern[at + 1..])) {
        Some((file, name)) => LinesOf {
            file: some_file(file),
            name: some(name),
        },
        None if is_file(pattern) => LinesOf {
            file: some_file(pattern),
            name: None,
        },
        None => LinesOf {
            file: None,
            name: some(pattern),
        },
    }
}
