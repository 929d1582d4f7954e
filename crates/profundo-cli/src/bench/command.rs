//! One run of a command: from the moment that it is started to the moment that it has ended, and the CPU time that the
//! kernel has counted for it and for the children that it waited for.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use profundo_analysis::bench::{Cpu, Run};
use profundo_analysis::stats::median;

use crate::launch::{Ended, Interrupt, Used, wait_for};

/// A program and its arguments.
#[derive(Debug, Clone)]
pub struct Line(Vec<OsString>);

/// A shell, and how it is given a line.
#[derive(Debug, Clone)]
pub struct Shell(Vec<String>);

/// Where the output goes.
#[derive(Debug, Clone, Copy)]
pub enum Output<'a> {
    /// Away.
    Nowhere,
    /// Where ours goes.
    Shown,
    /// Into a file.
    To(&'a File),
}

/// What a run took, and how it ended.
#[derive(Debug, Clone, Copy)]
pub struct Took {
    /// From start to end, in seconds.
    pub wall: f64,
    /// CPU time.
    pub used: Used,
    /// How it ended.
    pub ended: Ended,
}

/// How often a shell that does nothing is run, to know what its own start takes.
const EMPTY_RUNS: usize = 50;

impl Shell {
    /// The shell of some words.
    pub fn new(words: Vec<String>) -> Self {
        Self(words)
    }

    /// A line that it reads.
    pub fn line(&self, command: &str) -> Line {
        let words = self.0.iter().map(String::as_str).chain(["-c", command]);
        Line::new(words.map(OsString::from).collect())
    }

    /// What it takes by itself.
    pub fn start(&self, interrupt: &Interrupt) -> Result<Took> {
        let line = self.line("");
        let mut runs = Vec::with_capacity(EMPTY_RUNS);
        for _ in 0..EMPTY_RUNS {
            let took = line.run(Output::Nowhere, interrupt)?;
            if took.ended != Ended::Exited(0) {
                bail!("the shell `{}` cannot run an empty line", self.0.join(" "));
            }
            runs.push(took);
        }
        let middle = |of: fn(&Took) -> f64| median(&runs.iter().map(of).collect::<Vec<f64>>());
        Ok(Took {
            wall: middle(|took| took.wall),
            used: Used {
                user: middle(|took| took.used.user),
                system: middle(|took| took.used.system),
            },
            ended: Ended::Exited(0),
        })
    }
}

impl Line {
    /// That of a program and its arguments.
    pub fn new(words: Vec<OsString>) -> Self {
        Self(words)
    }

    /// Runs it.
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
    /// The run without what the shell took for itself.
    pub fn without(&self, shell: Option<&Took>, cpu_clock: bool) -> Run {
        let of_shell = |of: fn(&Took) -> f64| shell.map_or(0.0, of);
        let less = |own: f64, of: fn(&Took) -> f64| (own - of_shell(of)).max(0.0);
        let cpu = Cpu {
            user: less(self.used.user, |took| took.used.user),
            system: less(self.used.system, |took| took.used.system),
        };
        Run {
            seconds: match cpu_clock {
                true => less(self.used.all(), |took| took.used.all()),
                false => less(self.wall, |took| took.wall),
            },
            cpu: Some(cpu),
        }
    }

    /// How it ended, in words, if it failed.
    pub fn failure(&self) -> Option<String> {
        match self.ended {
            Ended::Exited(0) => None,
            Ended::Exited(code) => Some(format!("ended with exit code {code}")),
            Ended::Killed(signal) => Some(format!("was killed by signal {signal}")),
        }
    }
}
