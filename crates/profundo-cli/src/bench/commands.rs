//! Commands, run after run, with what is done around them.

use anyhow::{Result, anyhow};
use profundo_analysis::bench::{Candidate, Rounds, Run};
use profundo_report::text::duration;

use super::command::{Output, Shell, Took};
use super::plan::Commands;
use super::rounds::take;
use crate::launch::{Interrupt, Interrupted};
use crate::options::Bench;
use crate::progress::Progress;

/// How many runs there are of one command at least.
const RUNS: u64 = 10;
/// The same of several, if they do not take too long.
const RUNS_OF_SEVERAL: u64 = 20;
/// How many runs there are of what takes no time.
const MOST_RUNS: u64 = 1000;

/// Commands that are measured.
#[derive(Debug)]
pub struct Runs<'a> {
    /// What they are.
    pub commands: &'a Commands,
    /// How to measure.
    pub options: &'a Bench,
    /// Who may not want to wait.
    pub interrupt: &'a Interrupt,
}

impl Runs<'_> {
    /// What is done once before all else.
    pub fn set_up(&self) -> Result<()> {
        self.aside("--setup", self.commands.setup.as_deref())
    }

    /// What is done once after all else.
    pub fn clean_up(&self) -> Result<()> {
        self.aside("--cleanup", self.options.of_commands.cleanup.as_deref())
    }

    /// What is done before each run of a candidate.
    pub fn prepare(&self, index: usize) -> Result<()> {
        let prepare = &self.commands.prepare;
        let line = match prepare.len() {
            1 => prepare.first(),
            _ => prepare.get(index),
        };
        self.aside("--prepare", line.map(String::as_str))
    }

    fn aside(&self, option: &str, line: Option<&str>) -> Result<()> {
        let Some(line) = line else {
            return Ok(());
        };
        let default = Shell::new(vec!["sh".into()]);
        let shell = self.commands.shell.as_ref().unwrap_or(&default);
        let took = shell.line(line).run(self.output(), self.interrupt)?;
        match took.failure() {
            Some(failure) => Err(anyhow!(
                "`{line}`, which is for `{option}`, {failure} (`--show-output` shows what it says)"
            )),
            None => Ok(()),
        }
    }

    fn output(&self) -> Output<'static> {
        match self.options.show_output {
            true => Output::Shown,
            false => Output::Nowhere,
        }
    }

    /// Measures them all, and says how.
    pub fn measure(
        &self,
        candidates: &mut [Candidate],
        progress: &Progress,
        remarks: &mut Vec<String>,
    ) -> Result<Option<Interrupted>> {
        let measured = self.measure_uncaught(candidates, progress, remarks);
        match measured {
            Err(error) => match error.downcast_ref::<Interrupted>() {
                Some(interrupted) => Ok(Some(*interrupted)),
                None => Err(error),
            },
            measured => measured,
        }
    }

    fn measure_uncaught(
        &self,
        candidates: &mut [Candidate],
        progress: &Progress,
        remarks: &mut Vec<String>,
    ) -> Result<Option<Interrupted>> {
        let shell = self.commands.shell.as_ref();
        let start = shell.map(|shell| shell.start(self.interrupt)).transpose()?;
        if let Some(start) = &start {
            let cpu_clock = self.options.process;
            let seconds = if cpu_clock {
                start.used.all()
            } else {
                start.wall
            };
            let taken = duration((seconds * 1e9) as u64);
            remarks.push(format!(
                "The start of the shell, {taken}, is taken off each run (`-N` runs commands without a shell)."
            ));
        }
        for _ in 0..self.options.warmup.unwrap_or(0) {
            for index in 0..candidates.len() {
                self.run(index)?;
            }
        }
        let wanted = if candidates.len() > 1 {
            RUNS_OF_SEVERAL
        } else {
            RUNS
        };
        let rounds = match self.options.repeat {
            Some(repeat) => Rounds::Exactly(repeat),
            None => Rounds::Enough {
                wanted,
                most: MOST_RUNS,
            },
        };
        take(candidates, rounds, progress, |order| {
            let mut runs = vec![Run::default(); order.len()];
            for &index in order {
                let took = self.run(index)?;
                runs[index] = took.without(start.as_ref(), self.options.process);
            }
            Ok(runs)
        })
    }

    fn run(&self, index: usize) -> Result<Took> {
        self.prepare(index)?;
        let took = self.commands.lines[index].run(self.output(), self.interrupt)?;
        match took.failure() {
            Some(failure) if !self.options.of_commands.ignore_failure => {
                Err(self.failed(index, &failure))
            }
            _ => Ok(took),
        }
    }

    fn failed(&self, index: usize, failure: &str) -> anyhow::Error {
        let commands = &self.options.commands;
        let text = match commands.get(index) {
            Some(command) => command.clone(),
            None => self.options.words[0].to_string_lossy().into_owned(),
        };
        let is_one_typed_as_many =
            commands.len() > 1 && !commands.iter().any(|it| it.contains(char::is_whitespace));
        let hint = match is_one_typed_as_many {
            true => format!(
                "; each word is a command of its own here: for one, write `profundo bench -- {}`",
                commands.join(" ")
            ),
            false => {
                " (`--show-output` shows what it says, `--ignore-failure` measures it all the same)"
                    .into()
            }
        };
        anyhow!("`{text}` {failure}{hint}")
    }
}
