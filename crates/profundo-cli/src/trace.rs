//! `trace`: a program is run, and each of its calls is counted and measured.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use profundo_remote::{Calls, EngineChoice, Options};

use crate::launch::end_as;
use crate::options::{What, Trace};
use crate::report::{Shape, Stream};
use crate::run::{Plan, Schedule, carry_out, tell_failure};
use crate::{carried, options, reading, say};

/// A tree of calls is far smaller.
const MOST: u64 = 4 << 30;

pub fn trace(options: &Trace) -> Result<ExitCode> {
    let what = options.format.unwrap_or(What::Functions);
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
        }),
        // Nothing is sampled.
        paused: true,
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
