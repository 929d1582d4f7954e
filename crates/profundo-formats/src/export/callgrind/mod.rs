//! Callgrind's format, for KCachegrind, QCachegrind and `callgrind_annotate`: by function its own
//! time at its first line, and by callee the number and the time of its calls.
//!
//! A reader adds up the cost of a function's calls over its callers. So in a recursion only the
//! outermost calls have a cost, the inner ones have none, and the sum is right at any depth. If a
//! called function is also a root, the roots get a common caller, `<program>`, which has their
//! cost. Without measured times, the cost is the number of calls. Samples are written in the same
//! way, see `sampled`.

mod sampled;

use std::borrow::Cow;
use std::io::{self, Write};

use profundo_analysis::{CallLabel, CallTable, Counted, Filter, Selection, traced};
use profundo_model::{Clock, Profile};
use rustc_hash::{FxHashMap, FxHashSet};

use super::format::{Holds, Row};
use super::{Format, Options};
use crate::Error;

impl Format {
    /// See [`callgrind`](self).
    pub const CALLGRIND: Self = Self(&Row {
        name: "callgrind",
        aliases: &[],
        extensions: &["callgrind"],
        about: "Functions, lines and calls, for KCachegrind and callgrind_annotate",
        file: "callgrind file",
        holds: Holds::Samples,
        has_title: false,
        is_in_order: false,
        has_memory_too: false,
        misfit: |options| {
            if options.merge.is_some() {
                Some("callgrind has functions and lines; it needs no --frames")
            } else if options.processes || options.threads || options.tasks {
                Some(
                    "callgrind has functions alone; collapsed and pprof have processes, threads and tasks",
                )
            } else if options.kinds {
                Some("callgrind has no kinds; pprof and collapsed have")
            } else {
                None
            }
        },
        is_start: |start| start.starts_with(b"# callgrind format\n"),
        write: |profile, options, mut out| write(profile, options, &mut out),
    });
}

/// Writes the table of calls, or samples where calls were not counted.
pub fn write(profile: &Profile, options: &Options, out: &mut impl Write) -> Result<(), Error> {
    if profile.traced.calls.is_empty() {
        return sampled::write(profile, options, out).map_err(Error::Write);
    }
    if options.weights.is_some() || options.include_runtime || options.only_mine {
        return Err(Error::CountedWhole {
            format: Format::CALLGRIND.name(),
        });
    }
    let table = traced(profile, &Selection::new(profile, &Filter::default()));
    let command = profile.processes.first();
    let command = command.map_or("", |process| profile.strings.get(process.command));
    let mut writer = Writer {
        names: Names::new(profile, &table),
        table: &table,
        is_timed: profile.traced.clock != Clock::None,
        out,
    };
    writer.write(command).map_err(Error::Write)
}

/// Writes the lines that begin a file.
fn head(command: &str, event: &str, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "# callgrind format")?;
    writeln!(out, "version: 1")?;
    writeln!(out, "creator: profundo-{}", env!("CARGO_PKG_VERSION"))?;
    writeln!(out, "cmd: {}", clean(command))?;
    writeln!(out, "positions: line")?;
    writeln!(out, "events: {event}")
}

struct Writer<'a, W> {
    table: &'a CallTable,
    names: Names<'a>,
    is_timed: bool,
    out: &'a mut W,
}

impl<W: Write> Writer<'_, W> {
    fn write(&mut self, command: &str) -> io::Result<()> {
        let event = if self.is_timed {
            "Nanoseconds"
        } else {
            "Calls"
        };
        head(command, event, self.out)?;
        writeln!(self.out, "summary: {}", self.own(&self.table.sum()))?;
        let functions = &self.table.functions;
        // Without times, only calls have a cost.
        if !self.is_timed
            || (functions.iter())
                .any(|function| !function.callers.is_empty() && function.as_root.begun.all() > 0)
        {
            self.names.written.insert(Name::File(UNKNOWN));
            writeln!(self.out, "\nfl=({UNKNOWN}) ???")?;
            writeln!(self.out, "fn=({PROGRAM}) <program>")?;
            writeln!(self.out, "0 0")?;
            for (row, function) in functions.iter().enumerate() {
                let root = function.as_root;
                let calls = root.begun.all();
                self.call(
                    0,
                    row,
                    calls,
                    if self.is_timed { root.total } else { calls },
                )?;
            }
        }
        for (row, function) in functions.iter().enumerate() {
            let (file, name) = self.names.of(row);
            let line = self.names.labels[row].line;
            writeln!(self.out, "\nfl={file}")?;
            writeln!(self.out, "fn={name}")?;
            writeln!(self.out, "{line} {}", self.own(&function.counted))?;
            for &at in &function.callees {
                let between = &self.table.between[at];
                let calls = between.counted.begun.all();
                let took = if self.is_timed {
                    between.of_total
                } else {
                    calls
                };
                self.call(line, between.callee, calls, took)?;
            }
        }
        Ok(())
    }

    /// The own cost of a function.
    fn own(&self, counted: &Counted) -> u64 {
        match self.is_timed {
            true => counted.own,
            false => counted.begun.all(),
        }
    }

    /// Writes the calls of a function from a line.
    fn call(&mut self, line: u32, callee: usize, calls: u64, took: u64) -> io::Result<()> {
        if (calls, took) == (0, 0) {
            return Ok(());
        }
        let (file, name) = self.names.of(callee);
        writeln!(self.out, "cfl={file}")?;
        writeln!(self.out, "cfn={name}")?;
        // It began before counting; without a call its cost would count as the caller's own.
        let calls = calls.max(1);
        writeln!(self.out, "calls={calls} {}", self.names.labels[callee].line)?;
        writeln!(self.out, "{line} {took}")
    }
}

/// The numbers of the unknown file, and of the roots' caller.
const UNKNOWN: usize = 0;
const PROGRAM: usize = 0;

/// Names are written once, and are numbers from then on.
struct Names<'a> {
    labels: Vec<CallLabel<'a>>,
    /// By row of the table, whether the name stands for another function of the same file, too.
    is_shared: Vec<bool>,
    files: FxHashMap<&'a str, usize>,
    written: FxHashSet<Name>,
}

#[derive(PartialEq, Eq, Hash)]
enum Name {
    File(usize),
    Function(usize),
}

impl<'a> Names<'a> {
    fn new(profile: &'a Profile, table: &CallTable) -> Self {
        let labels: Vec<CallLabel<'a>> = (table.functions.iter())
            .map(|function| CallLabel::of(profile, function.place))
            .collect();
        let mut times: FxHashMap<(&str, &str), u32> = FxHashMap::default();
        for label in &labels {
            *times.entry((label.file, &label.name)).or_default() += 1;
        }
        let is_shared = (labels.iter())
            .map(|label| times[&(label.file, &*label.name)] > 1)
            .collect();
        Self {
            is_shared,
            files: FxHashMap::from_iter([("~", UNKNOWN)]),
            written: FxHashSet::default(),
            labels,
        }
    }

    /// The file and the name of a function, in full at their first use.
    fn of(&mut self, row: usize) -> (String, String) {
        let label = &self.labels[row];
        let next = self.files.len();
        let file = *self.files.entry(label.file).or_insert(next);
        let path = match label.file {
            "~" => "???".into(),
            path => clean(path),
        };
        let name = match self.is_shared[row] {
            true => format!("{}:{}", clean(&label.name), label.line).into(),
            false => clean(&label.name),
        };
        // The first number is the program's.
        let number = row + 1;
        let file = match self.written.insert(Name::File(file)) {
            true => format!("({file}) {path}"),
            false => format!("({file})"),
        };
        let name = match self.written.insert(Name::Function(number)) {
            true => format!("({number}) {name}"),
            false => format!("({number})"),
        };
        (file, name)
    }
}

/// A name without characters that would break its line.
fn clean(name: &str) -> Cow<'_, str> {
    match name.chars().any(char::is_control) {
        true => name.replace(char::is_control, " ").into(),
        false => name.into(),
    }
}
