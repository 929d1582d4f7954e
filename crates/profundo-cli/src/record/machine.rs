//! Records all processes of the machine, while a program runs or for a time.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use profundo_console::progress::Progress;
use profundo_console::stderr;
use profundo_launch::{
    Ended, Program, SIGNAL_INTERVAL, Signals, Unstarted, fork_recorded, handle_signals_and_end,
    reap,
};
use profundo_recorder::{Chosen, EngineChoice, Options, Recorder};
use profundo_save::recording_writer::RecordingWriter;

use super::{Recorded, Schedule, Writer};
use crate::options::{self, OnMachine, Recording};
use crate::recordings::Destination;

/// The name of a recording without a program.
const NAME: &str = "machine";

/// Records the processes of the machine, as these options say. `force`, `mine` and `began` are
/// those of the [`Plan`](super::Plan).
pub fn of_machine(
    options: &Recording,
    machine: &OnMachine,
    (force, mine): (bool, &[String]),
    words: &[OsString],
    began: &dyn Fn(&Path),
) -> Result<Recorded> {
    if let Some(why) = misfit(options) {
        options::refuse(&why);
    }
    let chosen = machine.chosen().unwrap_or_default();
    let program = match words {
        [] => None,
        words => Some(Program::find(words)?),
    };
    let name = program.as_ref().map_or(NAME, |program| &program.name);
    let destination = Destination::new(options.output.as_deref(), force, name)?;
    let path = destination.path().to_owned();
    let what = named(&chosen);
    let mut how = Options {
        period: options.period_of_machine(),
        engine: EngineChoice::PerfRing,
        energy: options
            .energy
            .then(|| profundo_linux::energy::POWERCAP.into()),
        paused: options.start_after.is_some(),
        machine: Some(chosen),
        ..Options::default()
    };
    if machine.no_hold {
        how.most_held = u64::MAX;
    }
    let mut recorder = Recorder::create(how)?;
    let signals = Signals::take()?;
    let child = match &program {
        Some(program) => Some(fork_recorded(program, &recorder, None, &signals, None)?),
        None => None,
    };
    let pid = child.as_ref().map(|child| child.pid());
    let start = recorder.start();
    let writer = RecordingWriter::create_beside(&path, start, options.max_size.0)?;
    let writer = writer.own_code(mine).labels(&options.labels).of_machine();
    let mut writer = Writer::Whole(Box::new(writer));
    if let Err(error) = recorder.begin_machine() {
        writer.discard();
        return Err(error.into());
    }
    let wake = recorder.wake_handle();
    let watch = signals.watch(move || wake.wake())?;
    let to = stderr::path(&path);
    if program.is_none() && options.duration.is_none() {
        stderr::note(&format!("recording {what} to {to}; Ctrl-C ends it"));
    } else if std::io::stderr().is_terminal() {
        stderr::note(&format!("recording {what} to {to}"));
    }
    if let (Some(child), Some(program)) = (child, &program)
        && let Err(error) = child.release()
    {
        writer.discard();
        bail!(Unstarted::refused(&program.path, &error));
    }
    writer.take_place()?;
    began(&path);
    let schedule = Schedule::new(options.start_after, options.duration);
    let mut recording = InProgress {
        recorder: &mut recorder,
        writer: &mut writer,
        signals: &signals,
        schedule,
    };
    let ended = match pid {
        Some(pid) => recording.beside(pid)?,
        None => {
            let whole = (options.duration)
                .map(|duration| duration + options.start_after.unwrap_or_default());
            recording.for_a_time(whole, &what);
            Ended::Exited(0)
        }
    };
    let finish = recorder.finish(&mut |event| writer.event(event));
    drop(watch);
    if let Some(pid) = pid {
        reap(pid);
    }
    // The rest is our own work, which Ctrl-C may end: the recorded data is in the file.
    signals.release();
    let done = writer.finish(finish, !options.no_source);
    destination.tidy(options.keep);
    Ok(Recorded {
        path,
        ended,
        done,
        instructions: None,
        destination,
    })
}

/// A recording that is being made.
struct InProgress<'a> {
    recorder: &'a mut Recorder,
    writer: &'a mut Writer,
    signals: &'a Signals,
    schedule: Schedule,
}

impl InProgress<'_> {
    /// Records until the program has ended.
    fn beside(&mut self, pid: i32) -> Result<Ended> {
        self.schedule.begin();
        loop {
            self.turn(SIGNAL_INTERVAL);
            let handled = handle_signals_and_end(self.recorder, self.signals, pid)?;
            if let Some(ended) = handled.ended {
                return Ok(ended);
            }
        }
    }

    /// Records for a time, or until an end is wanted.
    fn for_a_time(&mut self, time: Option<Duration>, what: &str) {
        self.schedule.begin();
        let began = Instant::now();
        let line = |elapsed: Duration| match time {
            Some(time) => format!(
                "recording {what}: {} of {} s",
                elapsed.as_secs(),
                time.as_secs_f64()
            ),
            None => format!("recording {what}: {} s", elapsed.as_secs()),
        };
        let progress = Progress::start(line(Duration::ZERO));
        loop {
            let mut got = std::iter::from_fn(|| self.signals.next());
            if got.any(|got| got.wants_end()) {
                return;
            }
            let left = time.map_or(Duration::MAX, |time| time.saturating_sub(began.elapsed()));
            if left.is_zero() {
                return;
            }
            self.turn(left.min(SIGNAL_INTERVAL));
            progress.set_text(line(began.elapsed()));
        }
    }

    fn turn(&mut self, most: Duration) {
        let wait = most.min(self.schedule.left()).min(self.writer.until_due());
        let writer = &mut *self.writer;
        self.recorder
            .turn_within(wait, &mut |event| writer.event(event));
        self.writer.answer(self.recorder, false);
        if let Some(paused) = self.schedule.due() {
            self.recorder.set_paused(paused);
        }
        if !self.writer.turn() && !self.recorder.is_paused() {
            self.recorder.set_paused(true);
        }
    }
}

/// The reason why these options do not go with a recording of the machine, if they do not.
fn misfit(options: &Recording) -> Option<String> {
    let of_a_program = [
        (options.wall, "--wall"),
        (options.syscalls, "--syscalls"),
        (options.memory.is_some(), "--memory"),
        (options.last.is_some(), "--last"),
        (options.paused, "--paused"),
        (options.no_children, "--no-children"),
        (options.wait_all, "--wait-all"),
        (options.perf_map, "--perf-map"),
        (options.engine != EngineChoice::Auto, "--engine"),
    ];
    let (_, option) = of_a_program.iter().find(|(is_there, _)| *is_there)?;
    Some(format!(
        "`--all-processes` samples the CPU time of all processes and loads nothing into them, and `{option}` is for one \
         program: leave one of both out"
    ))
}

/// What is recorded, in words.
fn named(chosen: &Chosen) -> String {
    match chosen.is_all() {
        true => "all processes of the machine".to_owned(),
        false => "the chosen processes of the machine".to_owned(),
    }
}
