//! Commands, run after run, with the setup and cleanup around them.

use anyhow::{Result, anyhow};
use profundo_analysis::bench::{Bench, Cpu, Rounds, Run, Start};
use profundo_analysis::stats::median;
use profundo_console::progress::Progress;
use profundo_launch::Interrupt;
use profundo_report::text::duration;

use super::command::{Output, Shell, Took};
use super::plan::Commands;
use super::rounds::{Cut, take};
use crate::options::Bench as Options;

/// The least number of runs of a single command.
const RUNS: u64 = 10;
/// The number of runs of each of several commands, if they do not take too long.
const RUNS_OF_SEVERAL: u64 = 20;
/// The most runs of a very short command.
const MOST_RUNS: u64 = 1000;

/// The shell starts that are measured per round, until there are enough.
const STARTS: usize = 5;
/// Enough starts.
const ENOUGH_STARTS: usize = 50;

/// Commands that are measured.
#[derive(Debug)]
pub struct Runs<'a> {
    /// The commands.
    pub commands: &'a Commands,
    /// The options of the measurement.
    pub options: &'a Options,
    /// The user's interruption.
    pub interrupt: &'a Interrupt,
}

impl Runs<'_> {
    /// Runs the setup, once before everything.
    pub fn set_up(&self) -> Result<()> {
        self.aside("--setup", self.commands.setup.as_deref())
    }

    /// Runs the cleanup, once after everything.
    pub fn clean_up(&self) -> Result<()> {
        self.aside("--cleanup", self.options.of_commands.cleanup.as_deref())
    }

    /// Runs the preparation before each run of a candidate.
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

    /// Measures all commands, and describes how.
    pub fn measure(
        &self,
        bench: &mut Bench,
        progress: &Progress,
        remarks: &mut Vec<String>,
    ) -> Option<Cut> {
        for _ in 0..self.options.warmup.unwrap_or(0) {
            for index in 0..bench.candidates.len() {
                if let Err(error) = self.run(index) {
                    return Some(error.into());
                }
            }
        }
        let wanted = if bench.candidates.len() > 1 {
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
        let mut starts = Vec::new();
        let cut = take(&mut bench.candidates, rounds, progress, |order| {
            let is_first = (starts.len() / STARTS).is_multiple_of(2);
            // The state of the machine changes: the shell is measured alongside the candidates.
            if is_first {
                self.start_shell(&mut starts)?;
            }
            let mut runs = vec![Run::default(); order.len()];
            for &index in order {
                runs[index] = self.run(index)?.as_run(self.options.process);
            }
            if !is_first {
                self.start_shell(&mut starts)?;
            }
            Ok(runs)
        });
        if !starts.is_empty() {
            remarks.push(take_off(bench, &starts));
        }
        cut
    }

    /// Measures the empty start of the shell, several times in each of the first rounds and once in
    /// each further one.
    fn start_shell(&self, starts: &mut Vec<Run>) -> Result<()> {
        let Some(shell) = &self.commands.shell else {
            return Ok(());
        };
        let count = if starts.len() < ENOUGH_STARTS {
            STARTS
        } else {
            1
        };
        for _ in 0..count {
            let took = shell.start(self.interrupt)?;
            starts.push(took.as_run(self.options.process));
        }
        Ok(())
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
        let is_one_typed_as_many = commands.len() > 1
            && !commands
                .iter()
                .any(|command| command.contains(char::is_whitespace));
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

/// Subtracts the shell's start from all runs; returns a sentence on it.
fn take_off(bench: &mut Bench, starts: &[Run]) -> String {
    let seconds: Vec<f64> = starts.iter().map(|run| run.seconds).collect();
    let start = Start::of(&seconds);
    let part = |of: fn(Cpu) -> f64| {
        let times = starts.iter().filter_map(|run| run.cpu).map(of);
        median(&times.collect::<Vec<f64>>())
    };
    let of_shell = Cpu {
        user: part(|cpu| cpu.user),
        system: part(|cpu| cpu.system),
    };
    let runs = bench
        .candidates
        .iter_mut()
        .flat_map(|candidate| &mut candidate.runs);
    for run in runs {
        run.seconds = (run.seconds - start.seconds).max(0.0);
        run.cpu = run.cpu.map(|cpu| Cpu {
            user: (cpu.user - of_shell.user).max(0.0),
            system: (cpu.system - of_shell.system).max(0.0),
        });
    }
    bench.start = Some(start);
    let text = |seconds: f64| duration((seconds * 1e9) as u64);
    format!(
        "The start of the shell, {} ± {}, is taken off each run (`-N` runs commands without a shell).",
        text(start.seconds),
        text(start.doubt)
    )
}

#[cfg(test)]
mod tests {
    use profundo_analysis::bench::{Candidate, Machine, Subject};

    use super::*;

    #[test]
    fn the_start_of_the_shell_is_taken_off() {
        let run = |seconds: f64| Run {
            seconds,
            cpu: Some(Cpu {
                user: seconds / 2.0,
                system: seconds / 4.0,
            }),
        };
        let mut bench = Bench {
            subject: Subject::Command,
            cpu_clock: false,
            started: 0,
            machine: Machine::default(),
            start: None,
            candidates: vec![Candidate {
                runs: vec![run(1.0), run(0.125)],
                ..Candidate::default()
            }],
        };
        let note = take_off(&mut bench, &[0.25; 20].map(run));
        assert!(note.contains("250 ms ± 0"), "{note}");
        let runs = &bench.candidates[0].runs;
        assert_eq!(runs[0], run(0.75));
        assert_eq!(runs[1], run(0.0));
        assert_eq!(bench.start.unwrap().doubt, 0.0);
        assert!(bench.is_hidden(0));
    }
}
