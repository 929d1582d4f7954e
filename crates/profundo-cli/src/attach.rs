//! `attach`: a process that runs already is recorded for a while, from outside, and left as it was.

use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use profundo_ingest::Ingest;
use profundo_model::Profile;
use profundo_remote::{EngineChoice, Options, Recorder};

use crate::launch::{Got, Signals, script};
use crate::options::{self, Attach};
use crate::progress::Progress;
use crate::qualified;
use crate::recordings::Destination;
use crate::report::{Shape, Stream};
use crate::sink::Sink;
use crate::{naming, open, own_code, stderr};

pub fn attach(options: &Attach) -> Result<ExitCode> {
    if options.dump {
        return dump(options);
    }
    let what = options.format.unwrap_or_default();
    if what.wants_name() {
        let what = what.name();
        options::refuse(&format!(
            "`{what}` wants the name of a function: record first, then report FILE {what} NAME"
        ));
    }
    let shape = Shape::new(what, None, &options.looking);
    let (pid, others) = options.processes.first_and_others();
    let recording = &options.recording;
    let (named, force) = (recording.output.as_deref(), options.looking.style.force);
    let destination = Destination::new(named, force, &program_of(pid))?;
    let path = destination.path().to_owned();
    let mut recorder = Recorder::create(Options {
        period: recording.period(),
        engine: EngineChoice::Around,
        follow: !recording.no_children,
        wall: recording.wall.then_some(profundo_remote::WALL_TICK),
        memory: recording.memory(),
        energy: recording.energy.then(|| profundo_remote::POWERCAP.into()),
        ..Options::default()
    })?;
    recorder.aim(pid)?;
    let signals = Signals::take()?;
    let sink = Sink::create_beside(&path, recorder.start(), recording.max_size.0)?;
    let mut sink = sink.own_code(&options.looking.filters.own_code.rules());
    if let Err(error) = recorder.attach_all(pid, others, &mut |event| sink.event(event)) {
        sink.discard();
        return Err(error.into());
    }
    sink.take_place()?;
    let what = processes(pid, others);
    if recording.duration.is_none() {
        stderr::note(&format!(
            "recording {what} to {}; Ctrl-C ends it and prints the report",
            stderr::path(&path)
        ));
    } else if std::io::stderr().is_terminal() {
        stderr::note(&format!("recording {what} to {}", stderr::path(&path)));
    }
    let began = Instant::now();
    let progress = Progress::start(how_far(pid, Duration::ZERO, recording.duration));
    while recorder.has_programs() && !is_over(&signals) {
        let left = recording.duration.map_or(Duration::MAX, |duration| {
            duration.saturating_sub(began.elapsed())
        });
        if left.is_zero() {
            break;
        }
        recorder.turn_within(left.min(HEED), &mut |event| sink.event(event));
        if !sink.turn() {
            break;
        }
        progress.says(how_far(pid, began.elapsed(), recording.duration));
    }
    drop(progress);
    let finish = recorder.finish(&mut |event| sink.event(event));
    signals.release();
    let done = sink.finish(finish, !recording.no_source);
    destination.tidy(recording.keep);
    if let Some(failure) = &done.failure {
        let path = path.display();
        stderr::note(&format!(
            "the recording {path} ends early: {}; what is in it can be read",
            stderr::chain(failure)
        ));
    }
    let profile = open::open_quietly(&path, shape.samples())?;
    let stream = match destination.is_stdout() {
        true => Stream::Error,
        false => Stream::Out,
    };
    shape.print(&profile, &path, stream)?;
    destination.arrive()?;
    Ok(ExitCode::SUCCESS)
}

/// How long it has been recorded.
fn how_far(pid: u32, elapsed: Duration, of: Option<Duration>) -> String {
    let elapsed = elapsed.as_secs();
    match of {
        Some(of) => format!(
            "recording process {pid}: {elapsed} of {} s",
            of.as_secs_f64()
        ),
        None => format!("recording process {pid}: {elapsed} s"),
    }
}

/// One stack of each thread, and nothing else.
fn dump(options: &Attach) -> Result<ExitCode> {
    let mut profile = stacks_of(&options.processes, !options.recording.no_children)?;
    own_code::add(&mut profile, &options.looking.filters.own_code.rules());
    Shape::stacks(&options.looking).print(&profile, Path::new(""), Stream::Out)?;
    Ok(ExitCode::SUCCESS)
}

/// `process 7`, or `processes 7, 8`.
fn processes(first: u32, others: &[u32]) -> String {
    if others.is_empty() {
        return format!("process {first}");
    }
    let all = std::iter::once(&first).chain(others);
    let all: Vec<String> = all.map(u32::to_string).collect();
    format!("processes {}", all.join(", "))
}

/// Reads every thread of some processes once, and of their children if they are followed.
pub fn stacks_of(processes: &options::Processes, follow: bool) -> Result<Profile> {
    let (pid, others) = processes.first_and_others();
    let mut recorder = Recorder::create(Options {
        engine: EngineChoice::None,
        follow,
        ..Options::default()
    })?;
    let mut ingest = Ingest::new(recorder.start()).qualified_names(qualified::by_source());
    recorder.attach_all(pid, others, &mut |event| ingest.event(event))?;
    recorder.read_every_thread(&mut |event| ingest.event(event));
    let finish = recorder.finish(&mut |event| ingest.event(event));
    let mut profile = ingest.finish(finish);
    let samples = profile.samples.len();
    naming::complete(&mut profile, samples);
    Ok(profile)
}

/// How often signals are looked for.
pub const HEED: Duration = Duration::from_millis(200);

/// Whether somebody wants it to end.
pub fn is_over(signals: &Signals) -> bool {
    std::iter::from_fn(|| signals.next()).any(|got| match got {
        Got::Child => false,
        Got::FromTerminal { signal } | Got::ForUs { signal, .. } => {
            [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT].contains(&signal)
        }
    })
}

/// What a process runs: its script or module, where that is known.
fn program_of(pid: u32) -> String {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = line.split(|&byte| byte == 0);
    let words = words.map(|it| OsStr::from_bytes(it).to_owned());
    let words: Vec<OsString> = words.collect();
    script(&words).unwrap_or_else(|| name_of(pid))
}

/// What a process is called, as part of a file's name.
pub fn name_of(pid: u32) -> String {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let name: String = name
        .trim()
        .chars()
        .map(|it| {
            if it == '/' || it.is_control() {
                '_'
            } else {
                it
            }
        })
        .collect();
    if name.is_empty() {
        "process".to_owned()
    } else {
        name
    }
}
