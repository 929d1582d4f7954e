//! `peek`: what a process is doing, on one screen: one stack of each thread now, then where its
//! time goes for a second. Nothing is written to a file, and no signal is sent that the program
//! does not expect.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Result, bail};
use profundo_console::options::values::period_of;
use profundo_console::stderr;
use profundo_ingest::Ingest;
use profundo_launch::{SIGNAL_INTERVAL, Signals};
use profundo_recorder::{EngineChoice, Options, Recorder};
use profundo_save::{naming, qualified_names};

use crate::attach::stacks_of;
use crate::options::{self, Peek};
use crate::report::{Shape, Stream};

pub fn peek(options: &Peek) -> Result<ExitCode> {
    if options.signal {
        signal(options.processes.first_and_others().0)?;
        return Ok(ExitCode::SUCCESS);
    }
    let what = options.format.unwrap_or_default();
    if what.wants_name() {
        let what = what.name();
        options::refuse(&format!(
            "`{what}` wants the name of a function: attach first, then report FILE {what} NAME"
        ));
    }
    let shape = Shape::new(what, None, &options.view);
    let (pid, others) = options.processes.first_and_others();
    let follow = !options.no_children;
    let (stacks, locals) = stacks_of(&options.processes, follow, options.locals)?;
    let first = Shape::stacks(&options.view, locals);
    first.print(&stacks, Path::new(""), Stream::Out)?;
    writeln!(std::io::stdout())?;
    let mut recorder = Recorder::create(Options {
        period: period_of(options.rate),
        engine: EngineChoice::Around,
        follow,
        ..Options::default()
    })?;
    recorder.aim(pid)?;
    let signals = Signals::take()?;
    let mut ingest = Ingest::new(recorder.start()).qualified_names(qualified_names::by_source());
    recorder.attach_all(pid, others, &mut |event| ingest.event(event))?;
    let began = Instant::now();
    while recorder.has_programs() && !signals.want_end() {
        let left = options.duration.saturating_sub(began.elapsed());
        if left.is_zero() {
            break;
        }
        recorder.turn_within(left.min(SIGNAL_INTERVAL), &mut |event| ingest.event(event));
    }
    let finish = recorder.finish(&mut |event| ingest.event(event));
    signals.release();
    let mut profile = ingest.finish(finish);
    let samples = profile.samples.len();
    naming::complete(&mut profile, samples);
    profile
        .meta
        .add_mine(&options.view.filters.own_code.rules());
    shape.print(&profile, Path::new(""), Stream::Out)?;
    Ok(ExitCode::SUCCESS)
}

/// Sends the signal that the library's peek waits for, to a program that does wait for it: any
/// other would die of it.
fn signal(pid: u32) -> Result<()> {
    const LISTENER: &str = "profundo-peek";
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"));
    let Ok(status) = status else {
        bail!("there is no process {pid}");
    };
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    let handles = caught.unwrap_or(0) & 1 << (libc::SIGUSR1 - 1) != 0;
    let listens = std::fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|thread| std::fs::read_to_string(thread.path().join("comm")).ok())
        .any(|name| name.trim_end() == LISTENER);
    if !handles || !listens {
        bail!(
            "process {pid} has not installed the library's peek, and SIGUSR1 might end it; \
             `profundo peek {pid}` looks at it from outside"
        );
    }
    profundo_launch::send(pid, libc::SIGUSR1)?;
    stderr::note(&format!(
        "process {pid} prints its stacks and its report on its own stderr"
    ));
    Ok(())
}
