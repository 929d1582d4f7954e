//! How fast something is, and which of two is faster: runs that were timed, and what can be concluded from
//! them.
//!
//! A shared machine gives no clean numbers. So two things are only ever compared run by run, each pair taken one
//! right after the other, and in an order that is drawn by chance ([`order`]). What stays is a ratio with its
//! interval ([`Ratio`]), which assumes no distribution; and where the interval holds 1, there is no verdict.

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

/// How often at most a difference is called between things that are equal.
const ERROR: f64 = 0.05;

/// What was timed.
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
    /// What it took, all loops together, by the clock that was chosen.
    pub seconds: f64,
    /// The CPU time of it: in the program, and in the kernel. Only commands have it.
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

/// One of the things that are timed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Candidate {
    /// What it is called: its text, where nothing else was said.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Who ran it: the interpreter and its version, or the shell.
    pub by: Option<String>,
    /// How many loops a run has.
    pub loops: u64,
    /// The runs, in the order in which they were taken.
    pub runs: Vec<Run>,
}

impl Candidate {
    /// What one loop took, run by run.
    pub fn per_loop(&self) -> Vec<f64> {
        let loops = self.loops.max(1) as f64;
        self.runs.iter().map(|run| run.seconds / loops).collect()
    }

    /// The same, added up.
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

/// The machine that it ran on: figures of different ones are not to be compared.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Machine {
    /// The model of its processors.
    pub cpu: Option<String>,
    /// How many of them there are.
    pub cpus: u64,
    /// The kernel's release.
    pub kernel: Option<String>,
    /// Who decides on the processors' frequency.
    pub governor: Option<String>,
}

/// A measurement: one candidate, or several that ran in turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Bench {
    /// What was timed.
    pub subject: Subject,
    /// Whether the clock was that of the process, and not that on the wall.
    pub cpu_clock: bool,
    /// When it was, in seconds since 1970.
    pub started: u64,
    /// On which machine.
    pub machine: Machine,
    /// What was taken off each run, of commands that a shell reads.
    pub start: Option<Start>,
    /// The candidates. Those that ran in turn have as many runs each, and equal places are pairs.
    pub candidates: Vec<Candidate>,
}

impl Bench {
    /// How many times longer a loop of `one` takes than one of `other`. Intervals are made as wide as it takes for
    /// those of all pairs of candidates to hold at the same time. `None` where there are too few runs for one, or one of
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

    /// Whether a candidate has runs of which there may be nothing left, once the shell's start is taken off, or that
    /// were shorter than the clock can tell.
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

    /// How many pairs of runs a comparison of these candidates wants at least.
    pub fn fewest_pairs(&self) -> usize {
        ratio::fewest_pairs(self.error())
    }

    /// How many times longer a loop takes than it did in an earlier measurement; `None` as of [`ratio`](Self::ratio), and
    /// where it was not there.
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

    /// Whether that is so because it is hidden now or was then.
    pub fn is_hidden_against(&self, candidate: usize, earlier: &Self) -> bool {
        let then = self.earlier(candidate, earlier);
        self.is_hidden(candidate) || then.is_some_and(|it| earlier.in_doubt(it).is_hidden())
    }

    /// What a candidate was in an earlier measurement: the one of the same name, or the only one of both.
    pub fn earlier<'a>(&self, candidate: usize, earlier: &'a Self) -> Option<&'a Candidate> {
        let name = &self.candidates.get(candidate)?.name;
        let same = earlier.candidates.iter().find(|it| it.name == *name);
        same.or(
            match (self.candidates.len(), earlier.candidates.as_slice()) {
                (1, [only]) => Some(only),
                _ => None,
            },
        )
    }

    /// The fastest candidate, and the one that comes next, if it is certain to be faster than all others.
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
