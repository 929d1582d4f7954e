//! `trace`: a program is run, and each of its calls is counted and measured.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use profundo_remote::{Calls, EngineChoice, Lines, LinesOf, Options};

use crate::launch::end_as;
use crate::options::{Trace, What};
use crate::report::{Shape, Stream};
use crate::run::{Plan, Schedule, carry_out, tell_failure};
use crate::{carried, options, reading, say};

/// A tree of calls is far smaller.
const MOST: u64 = 4 << 30;

pub fn trace(options: &Trace) -> Result<ExitCode> {
    let what = options.format.unwrap_or(match options.lines.is_empty() {
        true => What::Trace,
        false => What::Lines,
    });
    if what.wants_name() {
        let what = what.name();
        options::refuse(&format!(
            "`{what}` wants the name of a function: trace first, then report FILE {what} NAME"
        ));
    }
    let shape = Shape::new(what, None, &options.looking);
    let how = Options {
        engine: EngineChoice::Auto,
        follow: !options.no_children,
        calls: Some(Calls {
            builtins: !options.no_builtins,
            cpu: options.cpu,
            lines: lines(options),
        }),
        // Nothing is sampled but where that is wanted.
        paused: !options.cheap,
        agent: Some(carried::file(carried::For::Time)?),
        ..Options::default()
    };
    let recorded = carry_out(
        Plan {
            options: how,
            output: options.output.as_deref(),
            max_size: MOST,
            keeps_source: !options.no_source,
            perf_map: false,
            schedule: Schedule::new(None, None::<Duration>),
        },
        &options.command.words,
    )?;
    tell_failure(&recorded);
    // The program has ended as it has, whatever becomes of the report.
    let shown = reading::open_quietly(&recorded.path)
        .and_then(|profile| shape.print(&profile, &recorded.path, Stream::Error));
    if let Err(error) = shown
        && !say::is_broken_pipe(&error)
    {
        say::error(&error);
    }
    Ok(end_as(recorded.ended))
}

/// Which lines are counted, if any.
fn lines(options: &Trace) -> Option<Lines> {
    if options.lines.is_empty() {
        return None;
    }
    let of = options.lines.iter().filter(|it| !it.is_empty());
    Some(Lines {
        of: of.map(|it| lines_of(it)).collect(),
        times: !options.cheap && !options.once,
        once: options.once,
    })
}

/// `app.py`, `src/*.py`, `fib`, `Class.method`, `app.py:fib`.
fn lines_of(pattern: &str) -> LinesOf {
    let is_file = |it: &str| it.contains('/') || it.ends_with(".py");
    let some = |it: &str| (!it.is_empty()).then(|| it.to_owned());
    match pattern.rsplit_once(':') {
        Some((file, name)) => LinesOf {
            file: some(file),
            name: some(name),
        },
        None if is_file(pattern) => LinesOf {
            file: some(pattern),
            name: None,
        },
        None => LinesOf {
            file: None,
            name: some(pattern),
        },
    }
}
