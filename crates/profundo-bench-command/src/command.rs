//! One run of a command: its wall time from start to end, and the CPU time that the kernel has
//! counted for it and the children that it reaped.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use profundo_analysis::bench::{Cpu, Run};
use profundo_launch::{Ended, Interrupt, Used, wait_for};

/// A program and its arguments.
#[derive(Debug, Clone)]
pub struct Line(Vec<OsString>);

/// A shell, and its option for a command line.
#[derive(Debug, Clone)]
pub struct Shell(Vec<String>);

/// The destination of the output.
#[derive(Debug, Clone, Copy)]
pub enum Output<'a> {
    /// Discarded.
    Nowhere,
    /// Our own standard output.
    Shown,
    /// A file.
    To(&'a File),
}

/// The cost of a run, and how it ended.
#[derive(Debug, Clone, Copy)]
pub struct Took {
    /// The time from start to end, in seconds.
    pub wall: f64,
    /// CPU time.
    pub used: Used,
    /// The command's end.
    pub ended: Ended,
}

impl Shell {
    /// The shell of some words.
    pub fn new(words: Vec<String>) -> Self {
        Self(words)
    }

    /// The command line that has the shell run `command`.
    pub fn line(&self, command: &str) -> Line {
        let words = self.0.iter().map(String::as_str).chain(["-c", command]);
        Line::new(words.map(OsString::from).collect())
    }

    /// Measures the start of a shell that has nothing to do.
    pub fn start(&self, interrupt: &Interrupt) -> Result<Took> {
        let took = self.line("").run(Output::Nowhere, interrupt)?;
        if took.ended != Ended::Exited(0) {
            bail!("the shell `{}` cannot run an empty line", self.0.join(" "));
        }
        Ok(took)
    }
}

impl Line {
    /// The command line of a program and its arguments.
    pub fn new(words: Vec<OsString>) -> Self {
        Self(words)
    }

    /// Runs the command line.
    pub fn run(&self, output: Output<'_>, interrupt: &Interrupt) -> Result<Took> {
        let Some((program, arguments)) = self.0.split_first() else {
            bail!("an empty line is no command");
        };
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null());
        match output {
            Output::Nowhere => {
                command.stdout(Stdio::null()).stderr(Stdio::null());
            }
            Output::Shown => {}
            Output::To(file) => {
                let file = file.try_clone().context("cannot keep the output")?;
                command.stdout(file).stderr(Stdio::null());
            }
        }
        let started = Instant::now();
        let pid = interrupt.spawn(&mut command).map_err(|error| {
            let program = program.to_string_lossy();
            match error.kind() {
                io::ErrorKind::NotFound => anyhow!("there is no program {program}"),
                _ => anyhow::Error::new(error).context(format!("cannot start {program}")),
            }
        })?;
        let waited = wait_for(pid);
        let wall = started.elapsed().as_secs_f64();
        interrupt.has_ended(pid);
        interrupt.check()?;
        let (ended, used) = waited.context("cannot wait for the command")?;
        Ok(Took { wall, used, ended })
    }
}

impl Took {
    /// The run, by the chosen clock.
    pub fn as_run(&self, cpu_clock: bool) -> Run {
        Run {
            seconds: match cpu_clock {
                true => self.used.all(),
                false => self.wall,
            },
            cpu: Some(Cpu {
                user: self.used.user,
                system: self.used.system,
            }),
        }
    }

    /// The command's end in words, if it failed.
    pub fn failure(&self) -> Option<String> {
        match self.ended {
            Ended::Exited(0) => None,
            Ended::Exited(code) => Some(format!("ended with exit code {code}")),
            Ended::Killed(signal) => Some(format!("was killed by signal {signal}")),
        }
    }
}
