//! `attach`: a process that runs already is recorded for a while, from outside or from inside, and
//! left as it was.

mod inside;

use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use profundo_console::progress::Progress;
use profundo_console::stderr;
use profundo_ingest::Ingest;
use profundo_launch::{KEEPING, SIGNAL_INTERVAL, Signals, process_program};
use profundo_model::{Profile, Tracing};
use profundo_recorder::{EngineChoice, Options, Recorder};
use profundo_report::ThreadLocals;
use profundo_save::recording_writer::RecordingWriter;
use profundo_save::trace_request::TraceRequest;
use profundo_save::{naming, qualified_names};

use crate::locals;
use crate::open;
use crate::options::{self, Attach, Counting, LocalsOptions, What};
use crate::record::{self, Last, Writer};
use crate::recordings::Destination;
use crate::report::{Shape, Stream};

use inside::Entered;

pub fn attach(options: &Attach) -> Result<ExitCode> {
    if options.dump {
        return dump(options);
    }
    if options.locals.locals {
        options::refuse("`--locals` shows variables at one moment: it goes with `--dump`");
    }
    if options.recording.filtered && !options.recording.enters() {
        options::refuse(
            "`--filtered` is for entering the process: it goes with `--memory` and `--trace`",
        );
    }
    if let Some(why) = options.recording.last_misfit() {
        options::refuse(&why);
    }
    let what = options.what();
    if what.wants_name() {
        let what = what.name();
        options::refuse(&format!(
            "`{what}` wants the name of a function: record first, then report FILE {what} NAME"
        ));
    }
    let shape = Shape::new(what, None, &options.view);
    let counting = options.recording.counts.counting();
    // Where lines are printed first.
    let has_second = counting.is_some_and(|counting| counting.exceptions)
        && what == What::Lines
        && options.format.is_none();
    let second = has_second.then(|| Shape::new(What::Exceptions, None, &options.view));
    let (pid, others) = options.processes.first_and_others();
    let recording = &options.recording;
    let (named, force) = (recording.output.as_deref(), options.view.style.force);
    let destination = Destination::new(named, force, &process_program(pid))?;
    let path = destination.path().to_owned();
    let mine = options.view.filters.own_code.rules();
    let calls = counting.map(|counting| counting.calls(mine.clone()));
    let lines = calls.as_ref().and_then(|calls| calls.lines.clone());
    let agent = (recording.enters())
        .then(|| inside::agent(recording))
        .transpose()?;
    let mut recorder = Recorder::create(Options {
        period: recording.period(),
        engine: match agent {
            Some(_) => EngineChoice::Auto,
            None => EngineChoice::Around,
        },
        agent: agent.clone(),
        within: agent.is_some().then_some(pid),
        follow: !recording.no_children,
        calls,
        // Samples are taken only for lines whose times are found by sampling.
        paused: counting.is_some_and(|counting| !counting.cheap),
        wall: (recording.has_waits()).then_some(profundo_recorder::WALL_TICK),
        syscalls: recording.syscalls,
        memory: recording.memory(),
        energy: recording
            .energy
            .then(|| profundo_linux::energy::POWERCAP.into()),
        ..Options::default()
    })?;
    let mut entered = match &agent {
        Some(_) => Some(Entered::find(&options.processes, recording)?),
        None => {
            recorder.aim(pid)?;
            None
        }
    };
    let signals = match recording.last {
        Some(_) => Signals::take_also(&[KEEPING], true)?,
        None => Signals::take()?,
    };
    let max_size = recording.max_size.0;
    let shown_path = named.unwrap_or(&path);
    let mut writer = match recording.last {
        Some(last) => {
            let last = Last::create(shown_path, &path, &recorder, last, max_size)?;
            let last = last.own_code(&mine).labels(&recording.labels);
            let limit = (named.is_none()).then(|| recording.keep.unwrap_or_default());
            let last = last.limit(limit).keeps_source(!recording.no_source);
            Writer::Last(Box::new(last))
        }
        None => {
            let writer = RecordingWriter::create_beside(&path, recorder.start(), max_size)?;
            let writer = writer.own_code(&mine).with_lines(lines);
            let request =
                counting.map(|counting| TraceRequest::new(counting.tracing(), counting.lines));
            let writer = writer.trace_request(request).labels(&recording.labels);
            Writer::Whole(Box::new(writer))
        }
    };
    let begun = match (&mut entered, &agent) {
        (Some(entered), Some(agent)) => {
            let left = entered.leave_some_outside(&mut recorder, &mut |event| writer.event(event));
            if let (None, Some(sentence)) = (counting, entered.sentence()) {
                stderr::note(&sentence);
            }
            let begun = left.and_then(|()| entered.begin(&mut recorder, agent));
            if begun.is_ok() {
                // Here the agent gets its answer.
                recorder.turn_now(&mut |event| writer.event(event));
                entered.follow_memory();
                entered.follow_spans();
            }
            begun
        }
        _ => {
            (recorder.attach_all(pid, others, &mut |event| writer.event(event))).map_err(Into::into)
        }
    };
    let begun = begun.and_then(|()| match (&entered, counting) {
        (Some(entered), Some(_)) => {
            recorder.turn_now(&mut |event| writer.event(event));
            entered.count()
        }
        _ => Ok(()),
    });
    if let Err(error) = begun {
        if let Some(entered) = entered {
            entered.leave(&mut recorder, &mut |event| writer.event(event));
        }
        writer.discard();
        return Err(error);
    }
    writer.take_place()?;
    let what = match counting {
        Some(counting) => counted_in(counting, pid, others),
        None => format!("recording {}", processes_named(pid, others)),
    };
    if let Some(last) = recording.last {
        stderr::note(&record::sentence(
            last,
            &processes_named(pid, others),
            shown_path,
        ));
    } else if recording.duration.is_none() {
        stderr::note(&format!(
            "{what} to {}; Ctrl-C ends it and prints the report",
            stderr::path(&path)
        ));
    } else if counting.is_some() || std::io::stderr().is_terminal() {
        stderr::note(&format!("{what} to {}", stderr::path(&path)));
    }
    let began = Instant::now();
    let progress = Progress::start(progress_line(pid, Duration::ZERO, recording.duration));
    loop {
        let got: Vec<_> = std::iter::from_fn(|| signals.next()).collect();
        if !recorder.has_programs() || got.iter().any(|got| got.wants_end()) {
            break;
        }
        writer.answer(&mut recorder, got.iter().any(|got| got.wants_keeping()));
        let left = recording.duration.map_or(Duration::MAX, |duration| {
            duration.saturating_sub(began.elapsed())
        });
        if left.is_zero() {
            break;
        }
        let wait = left.min(SIGNAL_INTERVAL).min(writer.until_due());
        recorder.turn_within(wait, &mut |event| writer.event(event));
        if !writer.turn() {
            break;
        }
        progress.set_text(progress_line(pid, began.elapsed(), recording.duration));
    }
    drop(progress);
    if let Some(entered) = entered {
        recorder.turn_now(&mut |event| writer.event(event));
        entered.leave(&mut recorder, &mut |event| writer.event(event));
    }
    let finish = recorder.finish(&mut |event| writer.event(event));
    signals.release();
    let done = writer.finish(finish, !recording.no_source);
    destination.tidy(recording.keep);
    if let Some(failure) = &done.failure {
        let path = path.display();
        stderr::note(&format!(
            "the recording {path} ends early: {}; what is in it can be read",
            stderr::chain(failure)
        ));
    }
    let profile = open::open_without_warnings(&path, shape.samples(), None)?;
    let stream = match destination.is_stdout() {
        true => Stream::Error,
        false => Stream::Out,
    };
    shape.print(&profile, &path, stream)?;
    if let Some(second) = second {
        second.print(&profile, &path, stream)?;
    }
    destination.arrive()?;
    Ok(ExitCode::SUCCESS)
}

/// A line on the progress of a recording.
fn progress_line(pid: u32, elapsed: Duration, of: Option<Duration>) -> String {
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
    let follow = !options.recording.no_children;
    let (mut profile, locals) = stacks_of(&options.processes, follow, options.locals)?;
    profile
        .meta
        .add_mine(&options.view.filters.own_code.rules());
    let shape = Shape::stacks(&options.view, locals);
    shape.print(&profile, Path::new(""), Stream::Out)?;
    Ok(ExitCode::SUCCESS)
}

/// What is counted, and that it is done inside.
fn counted_in(counting: Counting<'_>, first: u32, others: &[u32]) -> String {
    let what = match counting.tracing() {
        Tracing::Calls => "calls",
        Tracing::Exceptions => "exceptions",
        _ if counting.exceptions => "lines and exceptions",
        _ => "lines",
    };
    let whose = processes_named(first, others);
    format!("{whose} was entered, and its {what} are counted from now on,")
}

/// `process 7`, or `processes 7, 8`.
fn processes_named(first: u32, others: &[u32]) -> String {
    if others.is_empty() {
        return format!("process {first}");
    }
    let all = std::iter::once(&first).chain(others);
    let all: Vec<String> = all.map(u32::to_string).collect();
    format!("processes {}", all.join(", "))
}

/// Reads every thread of some processes once, and of their children if they are followed. The
/// variables of Python frames are read too if they are asked for.
pub fn stacks_of(
    processes: &options::Processes,
    follow: bool,
    asked: LocalsOptions,
) -> Result<(Profile, Vec<ThreadLocals>)> {
    let (pid, others) = processes.first_and_others();
    let mut recorder = Recorder::create(Options {
        engine: EngineChoice::None,
        follow,
        ..Options::default()
    })?;
    let mut ingest = Ingest::new(recorder.start()).qualified_names(qualified_names::by_source());
    recorder.attach_all(pid, others, &mut |event| ingest.event(event))?;
    let read = recorder.read_every_thread(asked.locals, &mut |event| ingest.event(event));
    if asked.locals && read.is_empty() {
        bail!(
            "{} {} no Python frames that can be read, so `--locals` has nothing to show",
            processes_named(pid, others),
            if others.is_empty() { "has" } else { "have" }
        );
    }
    let finish = recorder.finish(&mut |event| ingest.event(event));
    let mut profile = ingest.finish(finish);
    let samples = profile.samples.len();
    naming::complete(&mut profile, samples);
    Ok((profile, locals::shown(&read, asked.values)))
}
