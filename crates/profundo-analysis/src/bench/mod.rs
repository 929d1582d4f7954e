//! Benchmarks: timed runs, and the conclusions about which of two is faster.
//!
//! A shared machine gives no clean numbers. So two things are only ever compared run by run, each
//! pair taken one right after the other, and in a random order ([`order`]). The result is a ratio
//! with its interval ([`Ratio`]), which assumes no distribution; and where the interval holds 1,
//! there is no verdict.

mod order;
mod ratio;
mod rounds;
mod spread;
mod start;
#[cfg(test)]
mod tests;

pub use order::{Order, seed};
pub use ratio::Ratio;
pub use rounds::{Parts, Rounds, Tried, loop_counts};
pub use spread::{Outliers, Spread};
pub use start::Start;

use start::Doubted;

/// The rate of false differences between equal candidates.
const ERROR: f64 = 0.05;

/// The subject of the benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// Statements of Python.
    Python,
    /// Commands.
    Command,
    /// Expressions of Rust.
    Rust,
}

/// One run of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Run {
    /// The time of all loops together, by the chosen clock.
    pub seconds: f64,
    /// Its CPU time, for commands only.
    pub cpu: Option<Cpu>,
}

/// CPU time, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cpu {
    /// In the program.
    pub user: f64,
    /// In the kernel.
    pub system: f64,
}

/// One of the timed candidates.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Candidate {
    /// Its name; by default its text.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Its runner: the interpreter and its version, or the shell.
    pub by: Option<String>,
    /// The number of loops of a run.
    pub loops: u64,
    /// The runs, in the order in which they were taken.
    pub runs: Vec<Run>,
}

impl Candidate {
    /// The time of one loop, run by run.
    pub fn per_loop(&self) -> Vec<f64> {
        let loops = self.loops.max(1) as f64;
        self.runs.iter().map(|run| run.seconds / loops).collect()
    }

    /// The statistics of the times of a loop.
    pub fn spread(&self) -> Spread {
        Spread::of(&self.per_loop())
    }

    /// The mean CPU time of a loop, where it is known.
    pub fn cpu(&self) -> Option<Cpu> {
        let known: Vec<Cpu> = self.runs.iter().filter_map(|run| run.cpu).collect();
        let loops = (known.len() as f64) * self.loops.max(1) as f64;
        let mean = |of: fn(&Cpu) -> f64| known.iter().map(of).sum::<f64>() / loops;
        (!known.is_empty()).then(|| Cpu {
            user: mean(|cpu| cpu.user),
            system: mean(|cpu| cpu.system),
        })
    }
}

/// The machine of a benchmark: figures of different machines are not comparable.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Machine {
    /// The model of its processors.
    pub cpu: Option<String>,
    /// The number of processors.
    pub cpus: u64,
    /// The kernel's release.
    pub kernel: Option<String>,
    /// The frequency governor of the processors.
    pub governor: Option<String>,
}

/// A measurement: one candidate, or several that ran in turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Bench {
    /// The subject.
    pub subject: Subject,
    /// Whether the clock was that of the process, and not that on the wall.
    pub cpu_clock: bool,
    /// The time when it started, in seconds since 1970.
    pub started: u64,
    /// The machine.
    pub machine: Machine,
    /// The start-up time subtracted from each run, for commands that a shell reads.
    pub start: Option<Start>,
    /// The candidates. Those that ran in turn have as many runs each, and equal positions are
    /// pairs.
    pub candidates: Vec<Candidate>,
}

impl Bench {
    /// The ratio of a loop's time of `one` to that of `other`. The intervals of all pairs
    /// of candidates hold at the same time. `None` where there are too few runs for one, or one of
    /// the two [is hidden](Self::is_hidden).
    pub fn ratio(&self, one: usize, other: usize) -> Option<Ratio> {
        let (one, other) = (self.doubted(one)?, self.doubted(other)?);
        if one.is_hidden() || other.is_hidden() {
            return None;
        }
        let (times, others) = (one.candidate.per_loop(), other.candidate.per_loop());
        let pairs: Vec<(f64, f64)> = times.into_iter().zip(others).collect();
        let ratio = Ratio::of_pairs(&pairs, self.error())?;
        Some(one.of_same_start(other, ratio))
    }

    /// Whether a candidate has runs that may be nothing but the shell's start, or that are shorter
    /// than the clock's resolution.
    pub fn is_hidden(&self, candidate: usize) -> bool {
        self.doubted(candidate).is_some_and(Doubted::is_hidden)
    }

    fn doubted(&self, candidate: usize) -> Option<Doubted<'_>> {
        Some(self.in_doubt(self.candidates.get(candidate)?))
    }

    fn in_doubt<'a>(&self, candidate: &'a Candidate) -> Doubted<'a> {
        let doubt = self.start.map_or(0.0, |start| start.doubt);
        Doubted { candidate, doubt }
    }

    /// The least number of pairs of runs for a comparison of these candidates.
    pub fn fewest_pairs(&self) -> usize {
        ratio::fewest_pairs(self.error())
    }

    /// The ratio of a loop's time to that in an earlier measurement; `None` as for
    /// [`ratio`](Self::ratio), and where it was missing.
    pub fn ratio_to(&self, candidate: usize, earlier: &Self) -> Option<Ratio> {
        let (now, then) = (self.doubted(candidate)?, self.earlier(candidate, earlier)?);
        let then = earlier.in_doubt(then);
        if now.is_hidden() || then.is_hidden() {
            return None;
        }
        let (times, others) = (now.candidate.per_loop(), then.candidate.per_loop());
        let ratio = Ratio::of_groups(&times, &others, ERROR)?;
        Some(now.of_other_start(then, ratio))
    }

    /// Whether the ratio is missing because the candidate is hidden now or was then.
    pub fn is_hidden_against(&self, candidate: usize, earlier: &Self) -> bool {
        let then = self.earlier(candidate, earlier);
        self.is_hidden(candidate) || then.is_some_and(|then| earlier.in_doubt(then).is_hidden())
    }

    /// The candidate in an earlier measurement: the one of the same name, or the only one of both.
    pub fn earlier<'a>(&self, candidate: usize, earlier: &'a Self) -> Option<&'a Candidate> {
        let name = &self.candidates.get(candidate)?.name;
        let same = earlier
            .candidates
            .iter()
            .find(|candidate| candidate.name == *name);
        same.or(
            match (self.candidates.len(), earlier.candidates.as_slice()) {
                (1, [only]) => Some(only),
                _ => None,
            },
        )
    }

    /// The fastest candidate, and the one that comes next, if it is certain to be faster than all
    /// others.
    pub fn fastest(&self) -> Option<(usize, usize, Ratio)> {
        let median = |index: &usize| self.candidates[*index].spread().median;
        let mut order: Vec<usize> = (0..self.candidates.len()).collect();
        order.sort_by(|a, b| median(a).total_cmp(&median(b)));
        let (&first, others) = order.split_first()?;
        let ratios: Option<Vec<Ratio>> = others
            .iter()
            .map(|&other| self.ratio(other, first))
            .collect();
        let ratios = ratios?;
        let is_sure = ratios.iter().all(|ratio| ratio.low > 1.0);
        match (is_sure, others.first(), ratios.first()) {
            (true, Some(&next), Some(&ratio)) => Some((first, next, ratio)),
            _ => None,
        }
    }

    fn error(&self) -> f64 {
        let count = self.candidates.len().max(2);
        ERROR / (count * (count - 1) / 2) as f64
    }
}
