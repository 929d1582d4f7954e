//! A program that is started to be recorded: its start, and the signals handled while it runs.

use std::ffi::OsString;
use std::time::Duration;

use anyhow::{Context, Result};
use profundo_recorder::Recorder;

use super::{
    Child, Ended, Environment, Program, Received, Signals, Streams, has_ended, pass_on, stop_too,
    was_stopped,
};

/// Forks a child that waits to become the program, with the environment that the recorder needs and
/// these variables.
pub fn fork_recorded(
    program: &Program,
    recorder: &Recorder,
    besides: impl IntoIterator<Item = (OsString, OsString)>,
    signals: &Signals,
    streams: Option<&Streams>,
) -> Result<Child> {
    let limits = recorder.child_limits();
    let ours = recorder.environment(&program.path);
    let environment = Environment::with(ours.into_iter().chain(besides));
    Child::fork(program, &environment, limits, signals, streams, false)
        .context("cannot start a process")
}

/// The state of a program after its signals were handled.
#[derive(Debug, Clone, Copy)]
pub struct Handled {
    /// The program's end, if it has ended.
    pub ended: Option<Ended>,
    /// True if an end was requested: at the terminal, or by a signal to us.
    pub is_interrupted: bool,
    /// True if the last minutes are to be written now.
    pub wants_keeping: bool,
}

/// Passes signals on, and stops when the program stops.
pub fn handle_signals(signals: &Signals, pid: i32) -> Result<Handled> {
    let mut is_interrupted = false;
    let mut wants_keeping = false;
    while let Some(got) = signals.next() {
        is_interrupted |= got.wants_end();
        if got.wants_keeping() {
            wants_keeping = true;
        } else if let Received::ForUs { signal, sender } = got {
            pass_on(pid, signal, sender);
        }
    }
    let ended = has_ended(pid).context("the program is out of sight")?;
    if ended.is_none() && was_stopped(pid) {
        stop_too(pid);
    }
    Ok(Handled {
        ended,
        is_interrupted,
        wants_keeping,
    })
}

/// Like [`handle_signals`], and notifies the recorder when the program has ended.
pub fn handle_signals_and_end(
    recorder: &mut Recorder,
    signals: &Signals,
    pid: i32,
) -> Result<Handled> {
    let handled = handle_signals(signals, pid)?;
    if let Some(ended) = handled.ended {
        recorder.exited(pid as u32, ended.into());
    }
    Ok(handled)
}

/// The interval of checks for signals.
pub const SIGNAL_INTERVAL: Duration = Duration::from_millis(200);
