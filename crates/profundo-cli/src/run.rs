//! `run` and `record`: a program is started, recorded while it runs, and reported on at its end.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use profundo_remote::{EngineChoice, Instructions, Options, Recorder, Remains};
use profundo_wire::recording::Event;

use crate::asked::Asked;
use crate::attach::HEED;
use crate::functions::Functions;
use crate::launch::{Ended, Program, Signals, Unstarted, bury, end_as, fork_recorded, heed, mind};
use crate::options::{self, Record, Recording, Run, What};
use crate::recordings::{Destination, Keep};
use crate::report::{Shape, Stream};
use crate::sink::{Done, Sink};
use crate::{carried, open, perf_map, stderr};

pub fn run(options: &Run) -> Result<ExitCode> {
    let what = options.format.unwrap_or_default();
    if what.wants_name() {
        let what = what.name();
        options::refuse(&format!(
            "`{what}` wants the name of a function: record first, then report FILE {what} NAME"
        ));
    }
    if matches!(what, What::Trace | What::Pstats) {
        let what = what.name();
        options::refuse(&format!(
            "`{what}` shows counted calls, which `profundo trace CMD` records and `run` does not"
        ));
    }
    let shape = Shape::new(what, None, &options.looking);
    let force = options.looking.style.force;
    let recording = options.recording.clone().with_all_of(what);
    let mine = &options.looking.filters.own_code.rules();
    let recorded = whole(&recording, (force, mine), &options.command.words)?;
    tell_failure(&recorded);
    // The program has ended as it has, whatever becomes of the report.
    let shown = open::open_quietly(&recorded.path, shape.samples())
        .and_then(|profile| shape.print(&profile, &recorded.path, Stream::Error));
    if let Err(error) = shown
        && !stderr::is_broken_pipe(&error)
    {
        stderr::error(&error);
    }
    recorded.arrive()
}

pub fn record(options: &Record) -> Result<ExitCode> {
    let mine = options.own_code.rules();
    let own = (options.force, &mine[..]);
    let recorded = whole(&options.recording, own, &options.command.words)?;
    for note in &recorded.done.notes {
        stderr::note(note);
    }
    if !tell_failure(&recorded) {
        let (samples, path) = (recorded.done.samples, &recorded.path);
        let path = stderr::path(path);
        stderr::note(&match recorded.goes_to_stdout() {
            true => format!("{samples} samples in the standard output"),
            // The newest recording of the folder need not be named.
            false if recorded.has_name_of_ours() => {
                format!("{samples} samples in {path}; `profundo report` shows them")
            }
            false => format!("{samples} samples in {path}; `profundo report {path}` shows them"),
        });
    }
    recorded.arrive()
}

/// What comes before each reason why there is no recording.
pub const UNBEGUN: &str = "nothing was run, because the recording could not be begun";

/// So long processes may take to say who they are that were started just before the program's end.
const SETTLING: Duration = Duration::from_millis(100);

/// A program that has run.
pub struct Recorded {
    pub path: PathBuf,
    pub ended: Ended,
    pub done: Done,
    /// How many instructions it has executed, where that was wanted, or why that is not known.
    pub instructions: Option<io::Result<u64>>,
    destination: Destination,
}

impl Recorded {
    /// Whether the recording is to be sent to the standard output.
    pub fn goes_to_stdout(&self) -> bool {
        self.destination.is_stdout()
    }

    /// Whether the recording lies in the folder of recordings.
    pub fn has_name_of_ours(&self) -> bool {
        matches!(self.destination, Destination::Reserved(_))
    }

    /// Nothing more is to be read of the recording: brings it to where it was to go, and ends as the program did.
    pub fn arrive(self) -> Result<ExitCode> {
        // The program has ended as it has, whatever becomes of the recording.
        if let Err(error) = self.destination.arrive()
            && !stderr::is_broken_pipe(&error)
        {
            stderr::error(&error);
        }
        Ok(end_as(self.ended))
    }
}

/// Says why the file is not whole. Returns whether it is not.
pub fn tell_failure(recorded: &Recorded) -> bool {
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

/// How a program is run and recorded.
pub struct Plan<'a> {
    /// How.
    pub options: Options,
    /// Where the recording goes, unless it is called by the program.
    pub output: Option<&'a Path>,
    /// How many recordings stay beside one without a name.
    pub keep: Option<Keep>,
    /// Whether it replaces a file that is no recording.
    pub force: bool,
    /// How large it may grow.
    pub max_size: u64,
    /// Whether it keeps lines of source code.
    pub keeps_source: bool,
    /// Whether the interpreter writes a perf map.
    pub perf_map: bool,
    /// When to begin, and for how long.
    pub schedule: Schedule,
    /// Functions that the kernel is to count.
    pub functions: Option<&'a Functions>,
    /// What is to be traced, if anything is.
    pub asked: Option<Asked>,
    /// Whether its instructions are counted.
    pub counts_instructions: bool,
    /// Whether it is recorded until the last of its processes has ended.
    pub wait_all: bool,
    /// Whose code it is, where that is said.
    pub mine: &'a [String],
}

/// Runs a program and records it, whole, as the options for that say.
pub fn whole(
    options: &Recording,
    (force, mine): (bool, &[String]),
    words: &[OsString],
) -> Result<Recorded> {
    let agent = match options.engine {
        options::EngineChoice::PerfRing => None,
        _ => Some(carried::file(match options.memory() {
            None => carried::For::Time,
            Some(_) => carried::For::Memory,
        })?),
    };
    let how = Options {
        period: options.period(),
        engine: match options.engine {
            options::EngineChoice::Auto => EngineChoice::Auto,
            options::EngineChoice::PerfSignal => EngineChoice::PerfSignal,
            options::EngineChoice::CpuTimer => EngineChoice::CpuTimer,
            options::EngineChoice::PerfRing => EngineChoice::PerfRing,
        },
        follow: options.follows(),
        wall: options.wall.then_some(profundo_remote::WALL_TICK),
        energy: options.energy.then(|| profundo_remote::POWERCAP.into()),
        memory: options.memory(),
        paused: options.paused || options.start_after.is_some(),
        agent,
        ..Options::default()
    };
    carry_out(
        Plan {
            options: how,
            output: options.output.as_deref(),
            keep: options.keep,
            force,
            max_size: options.max_size.0,
            keeps_source: !options.no_source,
            perf_map: options.perf_map,
            schedule: Schedule::new(options.start_after, options.duration),
            functions: None,
            asked: None,
            counts_instructions: false,
            wait_all: options.wait_all,
            mine,
        },
        words,
    )
}

/// Runs a program and records it, whole.
pub fn carry_out(plan: Plan<'_>, words: &[OsString]) -> Result<Recorded> {
    let program = Program::find(words)?;
    let destination = Destination::new(plan.output, plan.force, &program.name)?;
    let path = destination.path().to_owned();
    let lines = plan.options.calls.as_ref().and_then(|it| it.lines.clone());
    let mut recorder = Recorder::create(plan.options)?;
    let counters = plan.functions.map(Functions::count).transpose()?;
    let signals = Signals::take()?;
    let perf_map = plan
        .perf_map
        .then(|| (perf_map::VARIABLE.into(), "1".into()));
    let child = fork_recorded(&program, &recorder, perf_map, &signals, None)?;
    let pid = child.pid();
    let sink = Sink::create_beside(&path, recorder.start(), plan.max_size)?;
    let mut sink = (sink.asked(plan.asked).with_lines(lines)).own_code(plan.mine);
    // Should we be killed, this tells whose memory it is. Without it, the file alone is left.
    let _ = std::path::absolute(&path).map(|recording| {
        Remains {
            directory: recorder.directory().to_owned(),
            recording: std::fs::canonicalize(&recording).unwrap_or(recording),
            start: recorder.start(),
        }
        .leave()
    });
    recorder.watch(pid as u32)?;
    let instructions = plan
        .counts_instructions
        .then(|| Instructions::of_program(pid as u32));
    let wake = recorder.wake_handle();
    let watch = signals.watch(move || wake.wake())?;
    // Said before the program says anything, and only to somebody who looks.
    if std::io::stderr().is_terminal() {
        stderr::note(&format!(
            "recording {} to {}",
            program.name,
            stderr::path(&path)
        ));
    }
    if let Err(error) = child.release() {
        // Nothing ran, so nothing was recorded.
        sink.discard();
        bail!(Unstarted::refused(&program.path, &error));
    }
    sink.take_place()?;
    let ended = accompany(&mut recorder, &mut sink, &signals, pid, plan.schedule)?;
    if plan.wait_all {
        outlast(&mut recorder, &mut sink, &signals, pid)?;
    }
    // Who was started in the last moment says so now. The kernel tells of it some milliseconds late.
    let began = Instant::now();
    loop {
        recorder.turn_within(SETTLING / 20, &mut |event| sink.event(event));
        if !recorder.has_newcomers() || began.elapsed() >= SETTLING {
            break;
        }
    }
    if let Some(note) = left_behind(&recorder) {
        sink.event(Event::Note(note));
    }
    let finish = recorder.finish(&mut |event| sink.event(event));
    drop(watch);
    bury(pid);
    if let (Some(functions), Some(counters)) = (plan.functions, counters) {
        sink.event(functions.counted(&counters));
    }
    // What follows is ours alone, and Ctrl-C may end it: what was recorded is in the file.
    signals.release();
    if plan.perf_map {
        perf_map::tell_refusals(&mut sink);
    }
    let done = sink.finish(finish, plan.keeps_source);
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
    sink: &mut Sink,
    signals: &Signals,
    pid: i32,
    mut schedule: Schedule,
) -> Result<Ended> {
    schedule.began = Instant::now();
    loop {
        recorder.turn_within(schedule.left(), &mut |event| sink.event(event));
        if let Some(ended) = mind(recorder, signals, pid)? {
            return Ok(ended);
        }
        if let Some(paused) = schedule.due() {
            recorder.set_paused(paused);
        }
        if !sink.turn() && !recorder.is_paused() {
            recorder.set_paused(true);
        }
    }
}

/// Records on until the last process has ended, or somebody wants it to end.
fn outlast(recorder: &mut Recorder, sink: &mut Sink, signals: &Signals, pid: i32) -> Result<()> {
    let mut has_said = false;
    loop {
        recorder.turn_within(HEED, &mut |event| sink.event(event));
        let living = recorder.living();
        if living.is_empty() && !recorder.has_programs() || heed(signals, pid)?.is_interrupted {
            return Ok(());
        }
        if !living.is_empty() && !std::mem::replace(&mut has_said, true) {
            let names = named(&living);
            stderr::note(&format!(
                "the program has ended, and is recorded until {names} has, too; Ctrl-C ends it"
            ));
        }
        if !sink.turn() && !recorder.is_paused() {
            recorder.set_paused(true);
        }
    }
}

/// Says that processes live on that the program has started.
fn left_behind(recorder: &Recorder) -> Option<String> {
    let living = recorder.living();
    let (live, them) = match living.len() {
        0 => return None,
        1 => ("1 process lives", "it"),
        _ => ("processes live", "them"),
    };
    let count = match living.len() {
        1 => String::new(),
        some => format!("{some} "),
    };
    Some(format!(
        "{count}{live} on that the program has started: {}; `profundo attach PID` looks at {them}, and `--wait-all` records until the \
         last one has ended",
        named(&living)
    ))
}

/// Some processes by number and name.
fn named(living: &[(u32, String)]) -> String {
    const MOST: usize = 5;
    let names = living.iter().take(MOST);
    let mut names: Vec<String> = names.map(|(pid, name)| format!("{pid} ({name})")).collect();
    if living.len() > MOST {
        names.push(format!("{} more", living.len() - MOST));
    }
    names.join(", ")
}

/// When sampling starts and stops by itself.
#[derive(Debug)]
pub struct Schedule {
    began: Instant,
    start: Option<Duration>,
    stop: Option<Duration>,
    /// How long to sample once it has started.
    duration: Option<Duration>,
}

impl Schedule {
    /// Begins after so long, if that is said, and stops so long after that. Time counts from when the program is there.
    pub fn new(start: Option<Duration>, duration: Option<Duration>) -> Self {
        Self {
            began: Instant::now(),
            start,
            stop: duration.filter(|_| start.is_none()),
            duration,
        }
    }

    /// How long it is until sampling is to be paused or not.
    fn left(&self) -> Duration {
        match self.start.or(self.stop) {
            Some(next) => next.saturating_sub(self.began.elapsed()),
            None => Duration::MAX,
        }
    }

    /// Whether sampling is to be paused or not, if that changes now.
    fn due(&mut self) -> Option<bool> {
        let now = self.began.elapsed();
        if self.start.is_some_and(|start| now >= start) {
            self.start = None;
            self.stop = self.duration.map(|duration| now + duration);
            return Some(false);
        }
        if self.stop.is_some_and(|stop| now >= stop) {
            self.stop = None;
            return Some(true);
        }
        None
    }
}
