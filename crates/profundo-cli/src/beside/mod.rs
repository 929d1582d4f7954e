//! `beside`: the recorder of a program that has started it by itself. The program loads the agent
//! and enters the session; nothing is done to it from outside.
//!
//! This verb is for the Python package, so the help does not list it. It prints nothing: what it
//! has to say goes to the program.

mod counts;
mod outer;
mod program;
mod reader;
mod sum;

use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use profundo_console::stderr;
use profundo_inject::why_of;
use profundo_launch::SIGNAL_INTERVAL;
use profundo_linux::sys;
use profundo_recorder::{EngineChoice, Options, Recorder};
use profundo_save::recording_writer::RecordingWriter;
use profundo_session::find_session;

use crate::agent_file::{self, For};
use crate::options::Beside;

use counts::{Asked, Counts, Ended, Wanted};
use program::{Program, Said};

/// The time that the program has to enter or to leave.
const PATIENCE: Duration = Duration::from_secs(5);

pub fn beside(options: &Beside) -> Result<ExitCode> {
    if let (true, Some(pid)) = (options.read, options.pid) {
        return outer::read(pid);
    }
    let (Some(pid), Some(output)) = (options.pid, &options.output) else {
        let mut path = agent_file::file(For::Late)?.into_os_string().into_vec();
        path.push(b'\n');
        io::stdout().write_all(&path)?;
        return Ok(ExitCode::SUCCESS);
    };
    let mut program = Program::take()?;
    let result = record(pid, output, options, &mut program);
    if let Err(why) = &result {
        program.refuse(&stderr::chain(why.as_ref()));
    }
    result.map(|()| ExitCode::SUCCESS)
}

fn record(pid: u32, output: &Path, options: &Beside, program: &mut Program) -> Result<()> {
    if !is_free(pid) {
        bail!("process {pid} is being recorded already");
    }
    let agent = agent_file::file(match options.memory {
        Some(_) => For::Memory,
        None => For::Time,
    })?;
    let recorder = Recorder::create(Options {
        period: options.period(),
        engine: EngineChoice::Auto,
        agent: Some(agent.clone()),
        follow: !options.no_children,
        wall: (options.wall || options.syscalls).then_some(profundo_recorder::WALL_TICK),
        syscalls: options.syscalls,
        memory: options.memory(),
        paused: options.paused,
        ..Options::default()
    })?;
    let writer = RecordingWriter::create(output, recorder.start(), options.max_size.0)?;
    let mut recording = Recording {
        recorder,
        writer,
        program,
        resumed: sys::nanoseconds(libc::CLOCK_BOOTTIME),
        idle_since: None,
        pid,
        counts: Counts::default(),
    };
    if let Err(why) = recording.begin(pid, &agent) {
        recording.writer.discard();
        return Err(why);
    }
    recording.note_left_alone(pid, options);
    let end = recording.run(pid, options);
    let is_wanted = match end {
        End::Wanted => true,
        End::Unwanted => false,
        End::Unasked => !options.temporary,
    };
    recording.finish(options, is_wanted);
    if end == End::Unasked && options.temporary {
        // Its folder goes, too, if it was for this file alone.
        let _ = output.parent().map(fs::remove_dir);
    }
    Ok(())
}

/// Whether a process is in no session. The last one may be about to end, where the process has
/// become another program.
fn is_free(pid: u32) -> bool {
    const PAUSE: Duration = Duration::from_millis(2);
    const LONGEST: Duration = Duration::from_secs(1);
    let began = Instant::now();
    while find_session(pid).is_some() {
        if began.elapsed() > LONGEST {
            return false;
        }
        std::thread::sleep(PAUSE);
    }
    true
}

/// Why the recording ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The program wants to have it.
    Wanted,
    /// The program goes on without it.
    Unwanted,
    /// The program has ended, or has hung up.
    Unasked,
}

/// A recording in progress.
struct Recording<'a> {
    recorder: Recorder,
    writer: RecordingWriter,
    program: &'a mut Program,
    /// Since when programs are recorded, in nanoseconds since the machine was started.
    resumed: u64,
    /// Since when the program has no region open.
    idle_since: Option<Instant>,
    pid: u32,
    counts: Counts,
}

impl Recording<'_> {
    /// Has the program enter the session.
    fn begin(&mut self, pid: u32, agent: &Path) -> Result<()> {
        let wake = self.recorder.wake_handle();
        self.program.listen(move || wake.wake())?;
        self.recorder.expect_agents(&[pid])?;
        self.program.come(self.recorder.directory(), agent)?;
        self.await_entry()
    }

    /// Has turns until the agent has entered.
    fn await_entry(&mut self) -> Result<()> {
        match self.await_word(|said| matches!(said, Said::Entered(_))) {
            Some(Said::Entered(0)) => {
                // Here the agent gets its answer.
                let Self {
                    recorder, writer, ..
                } = self;
                recorder.turn_now(&mut |event| writer.event(event));
                Ok(self.program.say("ready")?)
            }
            Some(Said::Entered(error)) => {
                let error = io::Error::from_raw_os_error(-error);
                bail!(
                    "the agent cannot enter this process: {}",
                    stderr::reason(&error)
                );
            }
            _ => bail!("the process did not load the agent within {PATIENCE:?}"),
        }
    }

    /// Has turns until the program has said a word, or for as long as it has for that.
    fn await_word(&mut self, is_it: impl Fn(&Said) -> bool) -> Option<Said> {
        let began = Instant::now();
        while began.elapsed() < PATIENCE && !self.program.has_hung_up() {
            self.turn();
            while let Some(said) = self.program.next() {
                if is_it(&said) {
                    return Some(said);
                }
            }
        }
        None
    }

    /// Records until the program wants the end, or has ended together with its children.
    fn run(&mut self, pid: u32, options: &Beside) -> End {
        while self.recorder.has_programs() {
            self.turn();
            let mut is_to_pause = None;
            while let Some(said) = self.program.next() {
                // Short regions may open and close faster than clocks do: the last word counts.
                match said {
                    Said::Pause { answer: false } => {
                        is_to_pause = Some(true);
                        continue;
                    }
                    Said::Resume { answer: false } => {
                        is_to_pause = Some(false);
                        continue;
                    }
                    _ => {}
                }
                if let Some(paused) = is_to_pause.take() {
                    self.set_paused(paused, options);
                }
                match said {
                    // The program may have ended meanwhile.
                    Said::Pause { .. } => {
                        self.set_paused(true, options);
                        let _ = self.program.say("paused");
                    }
                    Said::Resume { .. } => {
                        self.set_paused(false, options);
                        let _ = self.program.say("resumed");
                    }
                    Said::Clear => {
                        self.clear();
                        self.say("cleared");
                    }
                    Said::Snapshot(path) => {
                        self.note_left_alone(pid, options);
                        self.snapshot(&path, options);
                    }
                    Said::Run(reader) => self.program.run(reader, None),
                    Said::Count(wanted) => self.count(&wanted),
                    Said::Why(number) => self.say(&format!("why\t{}", why_of(number))),
                    Said::Counted(ended) => self.counted(&ended),
                    Said::Counts(asked) => self.write_counts(&asked, options),
                    Said::End => {
                        self.note_left_alone(pid, options);
                        self.leave();
                        return End::Wanted;
                    }
                    Said::Drop => {
                        self.leave();
                        return End::Unwanted;
                    }
                    Said::Entered(_) | Said::Left | Said::Write => {}
                }
            }
            if let Some(paused) = is_to_pause {
                self.set_paused(paused, options);
            }
            self.pause_if_idle(pid, options);
            if self.program.has_hung_up() {
                // It may be about to end, and to have closed its descriptors already.
                let is_alive = sys::is_alive(pid);
                if is_alive {
                    self.leave();
                }
                if is_alive || options.temporary {
                    break;
                }
            }
        }
        End::Unasked
    }

    /// Pauses if the program has had no region open for a while.
    fn pause_if_idle(&mut self, pid: u32, options: &Beside) {
        /// A region that follows soon finds the sampler at work.
        const LINGER: Duration = Duration::from_millis(100);
        /// Longer than a write of the program takes to be seen here.
        const SEEN: Duration = Duration::from_millis(1);
        let is_idle = |recording: &Self| recording.recorder.open_regions(pid) == Some(0);
        if self.recorder.is_paused() || !is_idle(self) {
            self.idle_since = None;
            return;
        }
        if self.idle_since.get_or_insert_with(Instant::now).elapsed() < LINGER {
            return;
        }
        self.idle_since = None;
        self.recorder.set_idle(pid, true);
        // A region that opens at this moment may not see that, but it is seen.
        std::thread::sleep(SEEN);
        match is_idle(self) {
            true => self.set_paused(true, options),
            false => self.recorder.set_idle(pid, false),
        }
    }

    fn set_paused(&mut self, paused: bool, options: &Beside) {
        if !paused {
            self.resumed = sys::nanoseconds(libc::CLOCK_BOOTTIME);
            self.recorder.set_idle(self.pid, false);
        }
        // What begins while nothing is of interest is left alone.
        self.recorder.set_following(!paused && !options.no_children);
        self.recorder.set_paused(paused);
    }

    fn turn(&mut self) {
        let Self {
            recorder, writer, ..
        } = self;
        recorder.turn_within(SIGNAL_INTERVAL, &mut |event| writer.event(event));
        writer.turn();
    }

    /// Notes the processes that began while nothing was recorded: a reader may miss them.
    fn note_left_alone(&mut self, pid: u32, options: &Beside) {
        if !options.no_children {
            self.recorder.note_left_alone(pid, self.resumed);
        }
    }

    fn clear(&mut self) {
        let Self {
            recorder, writer, ..
        } = self;
        recorder.clear(&mut |event| writer.event(event));
    }

    /// Writes a recording of all so far, and says so.
    fn snapshot(&mut self, path: &Path, options: &Beside) {
        let Self {
            recorder, writer, ..
        } = self;
        // Twice: samples wait until the time is known on both sides of them.
        for _ in 0..2 {
            recorder.turn_now(&mut |event| writer.event(event));
        }
        let written = writer.snapshot(path, &recorder.so_far(), !options.no_source);
        match written {
            // The program may have ended meanwhile.
            Ok(()) => _ = self.program.say("written"),
            Err(why) => self.program.refuse(&stderr::chain(why.as_ref())),
        }
    }

    /// Says something. The program may have ended meanwhile.
    fn say(&self, word: &str) {
        let _ = self.program.say(word);
    }

    /// The program is about to count: says by which flags.
    fn count(&self, wanted: &Wanted) {
        match self.recorder.prepare_counts(&wanted.calls()) {
            Ok(flags) => self.say(&format!("count\t{flags}")),
            Err(why) => self
                .program
                .refuse(&format!("nothing can be counted: {why}")),
        }
    }

    /// Takes what the program has counted, and says so.
    fn counted(&mut self, ended: &Ended) {
        let counted = self.recorder.take_counts(self.pid);
        self.counts.keep(ended, counted);
        self.say("taken");
    }

    /// Writes a recording of what was counted, and says so.
    fn write_counts(&mut self, asked: &Asked, options: &Beside) {
        let Self {
            recorder,
            writer,
            counts,
            ..
        } = self;
        // Twice: the length of a cycle is known by two times.
        for _ in 0..2 {
            recorder.turn_now(&mut |event| writer.event(event));
        }
        match counts.write(asked, writer, !options.no_source) {
            Ok(()) => self.say("written"),
            Err(why) => self.program.refuse(&stderr::chain(why.as_ref())),
        }
    }

    /// Has the agents leave: the program's by itself, those of its children by our doing.
    fn leave(&mut self) {
        let Self {
            recorder, writer, ..
        } = self;
        recorder.turn_now(&mut |event| writer.event(event));
        recorder.release_agents(&mut |event| writer.event(event));
        if self.program.say("leave").is_ok() {
            self.await_word(|said| *said == Said::Left);
        }
    }

    /// Ends the recording, and says so. An unwanted one is removed.
    fn finish(self, options: &Beside, is_wanted: bool) {
        let Self {
            recorder,
            mut writer,
            program,
            ..
        } = self;
        // The listener holds the session's directory.
        program.stop_listening();
        let finish = recorder.finish(&mut |event| writer.event(event));
        if !is_wanted {
            writer.discard();
            // The program may have ended meanwhile.
            let _ = program.say("done");
            return;
        }
        let done = writer.finish(finish, !options.no_source);
        if let Some(failure) = done.failure {
            program.refuse(&stderr::chain(&failure));
        } else {
            let _ = program.say("done");
        }
    }
}
