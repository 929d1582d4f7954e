//! Statements of Python, run after run. A single one is measured as by timeit, all in one
//! interpreter. Several statements, or one that is compared with a saved measurement, have a fresh
//! interpreter for each run: the layout of code and data and the hashes differ between
//! interpreters, and must not look like a difference of the statements. Each run is cut into short
//! parts, of which the best counts.

use std::io::{self, Write};
use std::process::Stdio;
use std::time::Instant;

use anyhow::Result;
use profundo_analysis::bench::{Candidate, Parts, Rounds, Run, Tried, loop_counts};
use profundo_console::progress::Progress;
use profundo_launch::Interrupt;
use profundo_report::text::significant;

use super::python::{Interpreter, Statement};
use super::rounds::{Cut, take};
use crate::options::Bench;

/// The least duration of timeit's runs.
const LEAST: f64 = 0.2;
/// The least duration of runs of several candidates, which are more.
const LEAST_OF_SEVERAL: f64 = 0.1;
/// timeit's number of runs.
const REPEAT: u64 = 5;
/// The number of runs of several candidates, if they do not take too long.
const REPEAT_OF_SEVERAL: u64 = 20;
/// The part of a run that warms up a fresh interpreter.
const WARM_PART: u64 = 10;

/// Measures all statements.
pub fn measure(
    statements: &[Statement],
    candidates: &mut [Candidate],
    is_compared: bool,
    options: &Bench,
    interrupt: &Interrupt,
    progress: &Progress,
    remarks: &mut Vec<String>,
) -> Option<Cut> {
    let all = Statements {
        options,
        interrupt,
        progress,
    };
    let measured = match statements {
        [only] if !is_compared => all.one(only, candidates),
        _ => all.several(statements, candidates, remarks),
    };
    measured.unwrap_or_else(|error| Some(error.into()))
}

struct Statements<'a> {
    options: &'a Bench,
    interrupt: &'a Interrupt,
    progress: &'a Progress,
}

impl Statements<'_> {
    fn one(&self, statement: &Statement, candidates: &mut [Candidate]) -> Result<Option<Cut>> {
        let mut interpreter = self.start(statement, true)?;
        candidates[0].by = Some(interpreter.version.clone());
        let loops = self.try_loops(&mut interpreter, self.least(LEAST))?.loops;
        candidates[0].loops = loops;
        for _ in 0..self.options.warmup.unwrap_or(0) {
            interpreter.run(loops)?;
        }
        let rounds = Rounds::Exactly(self.options.repeat.unwrap_or(REPEAT));
        let ended = take(candidates, rounds, self.progress, |_| {
            let seconds = interpreter.run(loops)?;
            Ok(vec![Run { seconds, cpu: None }])
        });
        interpreter.end();
        Ok(ended)
    }

    fn several(
        &self,
        statements: &[Statement],
        candidates: &mut [Candidate],
        remarks: &mut Vec<String>,
    ) -> Result<Option<Cut>> {
        let least = self.least(LEAST_OF_SEVERAL);
        let mut tried = Vec::new();
        for (statement, candidate) in statements.iter().zip(&mut *candidates) {
            let mut interpreter = self.start(statement, true)?;
            candidate.by = Some(interpreter.version.clone());
            if self.options.verbose > 0 && statements.len() > 1 {
                writeln!(io::stdout(), "{}:", candidate.name)?;
            }
            tried.push(self.try_loops(&mut interpreter, Parts::length(least))?);
            interpreter.end();
        }
        let parts = match self.number() {
            Some(number) => Parts::whole(number, statements.len()),
            None => self.tuned(statements, least, &tried)?,
        };
        for (candidate, loops) in candidates.iter_mut().zip(&parts.loops) {
            candidate.loops = *loops;
        }
        if parts.count > 1 {
            let count = parts.count;
            remarks.push(match statements.len() {
                1 => format!("Each run is the fastest of {count} repetitions, in an interpreter of its own."),
                _ => format!(
                    "They ran in turn, in fresh interpreters. Each run is the fastest of {count} repetitions."
                ),
            });
        }
        let rounds = match self.options.repeat {
            Some(repeat) => Rounds::Exactly(repeat),
            None => Rounds::Enough {
                wanted: REPEAT_OF_SEVERAL,
                most: REPEAT_OF_SEVERAL,
            },
        };
        Ok(take(candidates, rounds, self.progress, |order| {
            let runs = self.round(statements, &parts, order)?;
            let run = |seconds| Run { seconds, cpu: None };
            Ok(runs.into_iter().map(run).collect())
        }))
    }

    /// Cuts a run into parts. On a busy machine a single trial means little, so a whole round is
    /// run that does not count.
    fn tuned(&self, statements: &[Statement], least: f64, tried: &[Tried]) -> Result<Parts> {
        let parts = Parts::of(least, tried);
        if parts.count == 1 {
            return Ok(parts);
        }
        let order: Vec<usize> = (0..statements.len()).collect();
        let runs = self.round(statements, &parts, &order)?;
        let better = tried.iter().zip(parts.loops.iter().zip(runs));
        let better: Vec<Tried> = better
            .map(|(tried, (loops, seconds))| tried.better(*loops, seconds))
            .collect();
        Ok(Parts::of(least, &better))
    }

    /// A round in this order: the best part of each candidate's run, in seconds.
    fn round(&self, statements: &[Statement], parts: &Parts, order: &[usize]) -> Result<Vec<f64>> {
        // No candidate has the advantage of always starting first.
        let mut interpreters = Vec::with_capacity(order.len());
        for &index in order {
            let mut interpreter = self.start(&statements[index], false)?;
            self.warm_up(&mut interpreter, parts.loops[index], parts.count)?;
            interpreters.push((index, interpreter));
        }
        let mut runs = vec![f64::INFINITY; statements.len()];
        for _ in 0..parts.count {
            for (index, interpreter) in &mut interpreters {
                let seconds = interpreter.run(parts.loops[*index])?;
                runs[*index] = runs[*index].min(seconds);
            }
            interpreters.reverse();
        }
        Ok(runs)
    }

    /// A fresh interpreter. Only the first one shows its messages.
    fn start(&self, statement: &Statement, is_first: bool) -> Result<Interpreter<'_>> {
        let (output, errors) = match (self.options.show_output, is_first) {
            (true, _) => (Stdio::inherit(), Stdio::inherit()),
            (false, true) => (Stdio::null(), Stdio::inherit()),
            (false, false) => (Stdio::null(), Stdio::null()),
        };
        Interpreter::start(statement, output, errors, self.interrupt)
    }

    /// The requested number of loops.
    fn number(&self) -> Option<u64> {
        self.options.number.filter(|number| *number > 0)
    }

    /// The least duration of a run, in seconds.
    fn least(&self, default: f64) -> f64 {
        let asked = self.options.min_time.map(|time| time.as_secs_f64());
        asked.unwrap_or(default)
    }

    /// The first of timeit's loop counts that takes this long.
    fn try_loops(&self, interpreter: &mut Interpreter<'_>, least: f64) -> Result<Tried> {
        let mut tried = Tried {
            loops: self.number().unwrap_or(1),
            seconds: 0.0,
            aside: f64::INFINITY,
        };
        if self.number().is_some() {
            return Ok(tried);
        }
        let is_verbose = self.options.verbose > 0;
        for loops in loop_counts() {
            let started = Instant::now();
            let seconds = interpreter.run(loops)?;
            // On the CPU clock a run may take longer than it reports.
            let aside = (started.elapsed().as_secs_f64() - seconds).max(0.0);
            tried = Tried {
                loops,
                seconds,
                aside: tried.aside.min(aside),
            };
            if is_verbose {
                let plural = if loops == 1 { "" } else { "s" };
                let seconds = significant(seconds, self.options.digits());
                writeln!(io::stdout(), "{loops} loop{plural} -> {seconds} secs")?;
            }
            if seconds >= least {
                break;
            }
        }
        if is_verbose {
            writeln!(io::stdout())?;
        }
        Ok(tried)
    }

    /// Warms up a fresh interpreter with the statement.
    fn warm_up(&self, interpreter: &mut Interpreter<'_>, loops: u64, parts: u64) -> Result<()> {
        let (runs, loops) = match (self.options.warmup, parts) {
            (Some(runs), _) => (runs * parts, loops),
            (None, 1) if loops == 1 => (0, 1),
            (None, 1) => (1, loops.div_ceil(WARM_PART)),
            (None, _) => (1, loops),
        };
        for _ in 0..runs {
            interpreter.run(loops)?;
        }
        Ok(())
    }
}
