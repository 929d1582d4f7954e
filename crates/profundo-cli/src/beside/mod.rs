//! `beside`: the recorder of a program that has started it by itself. The program loads the agent
//! and enters the session; nothing is done to it from outside.
//!
//! This verb is for the Python package, so the help does not list it. It prints nothing: what it
//! has to say goes to the program.

mod counts;
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
    if find_session(pid).is_some() {
        bail!("process {pid} is being recorded already");
    }
    let agent = agent_file::file(match options.memory {
        Some(_) => For::Memory,
        None => For::Time,
    })?;
    let mut recorder = Recorder::create(Options {
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
    program.listen(recorder.wake_handle())?;
    recorder.expect_agents(&[pid])?;
    program.come(recorder.directory(), &agent)?;
    let mut recording = Recording {
        recorder,
        writer,
        program,
        pid,
        counts: Counts::default(),
    };
    if let Err(why) = recording.await_entry() {
        recording.writer.discard();
        return Err(why);
    }
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
    pid: u32,
    counts: Counts,
}

impl Recording<'_> {
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
            while let Some(said) = self.program.next() {
                match said {
                    Said::Pause => {
                        // What begins while nothing is of interest is left alone.
                        self.recorder.set_following(false);
                        self.recorder.set_paused(true);
                    }
                    Said::Resume { answer } => {
                        self.recorder.set_following(!options.no_children);
                        self.recorder.set_paused(false);
                        if answer {
                            // The program may have ended meanwhile.
                            let _ = self.program.say("resumed");
                        }
                    }
                    Said::Clear => self.clear(),
                    Said::Snapshot(path) => self.snapshot(&path, options),
                    Said::Run(reader) => self.program.run(reader),
                    Said::Count(wanted) => self.count(&wanted),
                    Said::Why(number) => self.say(&format!("why\t{}", why_of(number))),
                    Said::Counted(ended) => self.counted(&ended),
                    Said::Counts(asked) => self.write_counts(&asked, options),
                    Said::End => {
                        self.leave();
                        return End::Wanted;
                    }
                    Said::Drop => {
                        self.leave();
                        return End::Unwanted;
                    }
                    Said::Entered(_) | Said::Left => {}
                }
            }
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

    fn turn(&mut self) {
        let Self {
            recorder, writer, ..
        } = self;
        recorder.turn_within(SIGNAL_INTERVAL, &mut |event| writer.event(event));
        writer.turn();
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
