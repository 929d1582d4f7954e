//! Starts a program and records it until its end, for `run`, `record`, `trace` and
//! `track-allocation`.

mod decorated;
mod last;
mod left_behind;
mod machine;
mod native_calls;
mod perf_map;
mod schedule;
mod writer;

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use profundo_console::stderr;
use profundo_launch::{
    Ended, KEEPING, Program, SIGNAL_INTERVAL, Signals, Unstarted, end_as, fork_recorded,
    handle_signals, handle_signals_and_end, reap,
};
use profundo_linux::perf::Instructions;
use profundo_recorder::{EngineChoice, Options, Recorder};
use profundo_save::recording_writer::{RecordingWriter, Saved};
use profundo_save::trace_request::TraceRequest;
use profundo_session::Remains;
use profundo_wire::recording::Event;

use crate::agent_file;
use crate::options::{self, Recording};
use crate::recordings::{Destination, Keep};

pub use last::{Last, sentence};
pub use machine::of_machine;
pub use native_calls::ProbedFunctions;
pub use schedule::Schedule;
pub use writer::Writer;

/// The time for processes to register that were started just before the program's end.
const SETTLING: Duration = Duration::from_millis(100);

/// A program that has run.
pub struct Recorded {
    pub path: PathBuf,
    pub ended: Ended,
    pub done: Saved,
    /// The number of executed instructions, if it was wanted, or why it is unknown.
    pub instructions: Option<io::Result<u64>>,
    destination: Destination,
}

impl Recorded {
    /// True if the recording is to be sent to the standard output.
    pub fn goes_to_stdout(&self) -> bool {
        self.destination.is_stdout()
    }

    /// True if the recording lies in the folder of recordings, under a name of ours.
    pub fn has_name_of_ours(&self) -> bool {
        matches!(self.destination, Destination::Reserved(_))
    }

    /// Brings the recording to its place, once nothing more is to be read from it, and ends as the
    /// program did.
    pub fn arrive(self) -> Result<ExitCode> {
        // The program's exit status stands, even if the recording cannot be brought there.
        if let Err(error) = self.destination.arrive()
            && !stderr::is_broken_pipe(&error)
        {
            stderr::error(&error);
        }
        Ok(end_as(self.ended))
    }
}

/// Prints a note if the file is not whole; true then.
pub fn note_failure(recorded: &Recorded) -> bool {
    let Some(failure) = &recorded.done.failure else {
        return false;
    };
    let path = recorded.path.display();
    stderr::note(&format!(
        "the recording {path} ends early: {}; what is in it can be read (`profundo report {path}`)",
        stderr::chain(failure)
    ));
    true
}

/// All that a program is run and recorded with.
pub struct Plan<'a> {
    pub options: Options,
    /// The recording's file; `None`: one that is named after the program.
    pub output: Option<&'a Path>,
    /// The limit on recordings in the folder, for a recording that goes there.
    pub keep: Option<Keep>,
    /// Replace a file that is no recording, too.
    pub force: bool,
    /// The recording's largest size in bytes.
    pub max_size: u64,
    /// The time that is kept, if only the last is.
    pub last: Option<Duration>,
    pub keeps_source: bool,
    /// Make the interpreter write a perf map.
    pub perf_map: bool,
    /// When to begin, and for how long.
    pub schedule: Schedule,
    /// Functions that the kernel is to count.
    pub functions: Option<&'a ProbedFunctions>,
    /// The calls or lines to trace.
    pub request: Option<TraceRequest>,
    pub counts_instructions: bool,
    /// Record until the last of its processes has ended.
    pub wait_all: bool,
    /// Rules of own code.
    pub mine: &'a [String],
    /// The labels of the recording.
    pub labels: Vec<(String, String)>,
    /// Told of the file, once the recording has begun.
    pub began: &'a dyn Fn(&Path),
}

/// Runs a program and records it from its start to its end, as the options for that say. `force`,
/// `mine` and `began` are those of the [`Plan`].
pub fn with_options(
    options: &Recording,
    force: bool,
    mine: &[String],
    words: &[OsString],
    began: &dyn Fn(&Path),
) -> Result<Recorded> {
    if let Some(why) = options.last_misfit() {
        options::refuse(&why);
    }
    let is_done_without = options.memory().is_none() && agent_file::is_done_without(options.engine);
    if is_done_without {
        stderr::note(agent_file::DONE_WITHOUT);
    }
    let agent = match options.engine {
        EngineChoice::PerfRing => None,
        _ if is_done_without => None,
        _ => Some(agent_file::file(match options.memory() {
            None => agent_file::For::Time,
            Some(_) => agent_file::For::Memory,
        })?),
    };
    let how = Options {
        period: options.period(),
        engine: match is_done_without {
            true => EngineChoice::Around,
            false => options.engine,
        },
        follow: options.follows(),
        wall: (options.has_waits()).then_some(profundo_recorder::WALL_TICK),
        syscalls: options.syscalls,
        energy: options
            .energy
            .then(|| profundo_linux::energy::POWERCAP.into()),
        memory: options.memory(),
        paused: options.paused || options.start_after.is_some(),
        agent,
        ..Options::default()
    };
    by_plan(
        Plan {
            options: how,
            output: options.output.as_deref(),
            keep: options.keep,
            force,
            max_size: options.max_size.0,
            last: options.last,
            keeps_source: !options.no_source,
            perf_map: options.perf_map,
            schedule: Schedule::new(options.start_after, options.duration),
            functions: None,
            request: None,
            counts_instructions: false,
            wait_all: options.wait_all,
            mine,
            labels: options.labels.clone(),
            began,
        },
        words,
    )
}

/// Runs a program and records it from its start to its end.
pub fn by_plan(mut plan: Plan<'_>, words: &[OsString]) -> Result<Recorded> {
    plan.options.builtin = decorated::is_decorated(words);
    let program = Program::find(words)?;
    let destination = Destination::new(plan.output, plan.force, &program.name)?;
    let path = destination.path().to_owned();
    let lines = plan
        .options
        .calls
        .as_ref()
        .and_then(|calls| calls.lines.clone());
    let mut recorder = Recorder::create(plan.options)?;
    let counters = plan.functions.map(ProbedFunctions::count).transpose()?;
    let signals = match plan.last {
        Some(_) => Signals::take_also(&[KEEPING], true)?,
        None => Signals::take()?,
    };
    let perf_map = plan
        .perf_map
        .then(|| (perf_map::VARIABLE.into(), "1".into()));
    let child = fork_recorded(&program, &recorder, perf_map, &signals, None)?;
    let pid = child.pid();
    let mut writer = match plan.last {
        Some(last) => {
            let named = plan.output.unwrap_or(&path);
            let last = Last::create(named, &path, &recorder, last, plan.max_size)?;
            let last = last.own_code(plan.mine).labels(&plan.labels);
            let limit = (plan.output.is_none()).then(|| plan.keep.unwrap_or_default());
            let last = last.limit(limit).keeps_source(plan.keeps_source);
            Writer::Last(Box::new(last))
        }
        None => {
            let writer = RecordingWriter::create_beside(&path, recorder.start(), plan.max_size)?;
            let writer = writer.trace_request(plan.request).with_lines(lines);
            let writer = writer.own_code(plan.mine).labels(&plan.labels);
            Writer::Whole(Box::new(writer))
        }
    };
    // If we are killed, `recover` finds the memory with the last samples by this. Without it, only
    // the file remains.
    if plan.last.is_none() {
        let _ = std::path::absolute(&path).map(|recording| {
            Remains {
                directory: recorder.directory().to_owned(),
                recording: std::fs::canonicalize(&recording).unwrap_or(recording),
                start: recorder.start(),
            }
            .leave()
        });
    }
    recorder.watch(pid as u32)?;
    let instructions = plan
        .counts_instructions
        .then(|| Instructions::of_program(pid as u32));
    let wake = recorder.wake_handle();
    let watch = signals.watch(move || wake.wake())?;
    // Reported before the program's output, and only on a terminal.
    if std::io::stderr().is_terminal() {
        stderr::note(&match plan.last {
            None => format!("recording {} to {}", program.name, stderr::path(&path)),
            Some(last) => sentence(last, &program.name, plan.output.unwrap_or(&path)),
        });
    }
    if let Err(error) = child.release() {
        // Nothing ran, so nothing was recorded.
        writer.discard();
        bail!(Unstarted::refused(&program.path, &error));
    }
    writer.take_place()?;
    (plan.began)(&path);
    let ended = accompany(&mut recorder, &mut writer, &signals, pid, plan.schedule)?;
    if plan.wait_all {
        outlast(&mut recorder, &mut writer, &signals, pid)?;
    }
    // Processes that were started at the last moment register now. The kernel reports them some
    // milliseconds late.
    let began = Instant::now();
    loop {
        recorder.turn_within(SETTLING / 20, &mut |event| writer.event(event));
        if !recorder.has_newcomers() || began.elapsed() >= SETTLING {
            break;
        }
    }
    if let Some(note) = left_behind::note(&recorder) {
        writer.event(Event::Note(note));
    }
    let finish = recorder.finish(&mut |event| writer.event(event));
    drop(watch);
    reap(pid);
    if let (Some(functions), Some(counters)) = (plan.functions, counters) {
        writer.event(functions.counted(&counters));
    }
    // The rest is our own work, which Ctrl-C may end: the recorded data is in the file.
    signals.release();
    if plan.perf_map
        && let Writer::Whole(writer) = &mut writer
    {
        perf_map::note_refusals(writer);
    }
    let done = writer.finish(finish, plan.keeps_source);
    destination.tidy(plan.keep);
    let instructions = instructions.map(|counter| {
        let count = counter?.read();
        count.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    });
    Ok(Recorded {
        path,
        ended,
        done,
        instructions,
        destination,
    })
}

/// Records until the program has ended.
fn accompany(
    recorder: &mut Recorder,
    writer: &mut Writer,
    signals: &Signals,
    pid: i32,
    mut schedule: Schedule,
) -> Result<Ended> {
    schedule.begin();
    loop {
        let wait = schedule.left().min(writer.until_due());
        recorder.turn_within(wait, &mut |event| writer.event(event));
        let handled = handle_signals_and_end(recorder, signals, pid)?;
        if let Some(ended) = handled.ended {
            return Ok(ended);
        }
        writer.answer(recorder, handled.wants_keeping);
        if let Some(paused) = schedule.due() {
            recorder.set_paused(paused);
        }
        if !writer.turn() && !recorder.is_paused() {
            recorder.set_paused(true);
        }
    }
}

/// Records on until the last process has ended, or the user requests an end.
fn outlast(
    recorder: &mut Recorder,
    writer: &mut Writer,
    signals: &Signals,
    pid: i32,
) -> Result<()> {
    let mut has_said = false;
    loop {
        let wait = SIGNAL_INTERVAL.min(writer.until_due());
        recorder.turn_within(wait, &mut |event| writer.event(event));
        let living = recorder.living();
        let handled = handle_signals(signals, pid)?;
        if living.is_empty() && !recorder.has_programs() || handled.is_interrupted {
            return Ok(());
        }
        writer.answer(recorder, handled.wants_keeping);
        if !living.is_empty() && !std::mem::replace(&mut has_said, true) {
            let names = left_behind::named(&living);
            stderr::note(&format!(
                "the program has ended, and is recorded until {names} has, too; Ctrl-C ends it"
            ));
        }
        if !writer.turn() && !recorder.is_paused() {
            recorder.set_paused(true);
        }
    }
}
