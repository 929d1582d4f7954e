//! A program that is started to be recorded: how it begins, and what is to be minded while it runs.

use std::ffi::OsString;

use anyhow::{Context, Result};
use profundo_remote::Recorder;

use super::{
    Child, Ended, Environment, Got, Program, Signals, Streams, has_ended, pass_on, stop_too,
    was_stopped,
};

/// A child that waits to become the program, with what the recorder wants it to have, and these variables besides.
pub fn fork_recorded(
    program: &Program,
    recorder: &Recorder,
    besides: impl IntoIterator<Item = (OsString, OsString)>,
    signals: &Signals,
    streams: Option<&Streams>,
) -> Result<Child> {
    let limits = recorder.child_limits();
    let limits = limits.iter().map(|limit| (limit.resource, limit.soft));
    let limits: Vec<(u32, u64)> = limits.collect();
    let ours = recorder.environment(&program.path);
    let environment = Environment::with(ours.into_iter().chain(besides));
    Child::fork(program, &environment, &limits, signals, streams, false)
        .context("cannot start a process")
}

/// What was heard of a program.
#[derive(Debug, Clone, Copy)]
pub struct Heard {
    /// How it ended, if it has.
    pub ended: Option<Ended>,
    /// Whether somebody wants it to end: at the terminal, or by a signal to us.
    pub is_interrupted: bool,
}

/// Passes on what signals say, and stops when the program stops.
pub fn heed(signals: &Signals, pid: i32) -> Result<Heard> {
    let mut is_interrupted = false;
    while let Some(got) = signals.next() {
        let (Got::ForUs { signal, .. } | Got::FromTerminal { signal }) = got else {
            continue;
        };
        is_interrupted |=
            [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP].contains(&signal);
        if let Got::ForUs { signal, sender } = got {
            pass_on(pid, signal, sender);
        }
    }
    let ended = has_ended(pid).context("the program is out of sight")?;
    if ended.is_none() && was_stopped(pid) {
        stop_too(pid);
    }
    Ok(Heard {
        ended,
        is_interrupted,
    })
}

/// The same, and tells the recorder when it has ended.
pub fn mind(recorder: &mut Recorder, signals: &Signals, pid: i32) -> Result<Option<Ended>> {
    let ended = heed(signals, pid)?.ended;
    if let Some(ended) = ended {
        recorder.exited(pid as u32, ended.into());
    }
    Ok(ended)
}
