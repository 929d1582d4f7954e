//! Times an expression, and finds the fastest of several: [`bench!`](crate::bench!).
//!
//! A run is a loop around the expression, with no call in it; the number of loops that makes a run
//! long enough is found as in Python's timeit, by 1, 2, 5, 10, 20, 50 …. Several candidates run in
//! turn, in random order, and a run is the best of some short ones. Drift of the machine affects
//! both sides of each pair, so they are compared by a [`Ratio`] with its 95 % interval.
//!
//! The compiler folds constants and removes unused results. Results are used here; constant inputs
//! have to be hidden by [`black_box`].
//!
//! All runs are in one process, so the placement of code and data in memory is the same for all of
//! them: it may be the cause of a difference below some percent.

mod macros;

use std::fmt;
use std::io;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub use std::hint::black_box;

use profundo_analysis::bench::{
    Bench, Candidate, Order, Parts, Rounds, Run, Subject, Tried, loop_counts, seed,
};
pub use profundo_analysis::bench::{Outliers, Ratio, Spread};
use profundo_report::{Benchmark, this_machine};

/// The least time of a run of a single expression.
const LEAST: Duration = Duration::from_millis(200);
/// The least time of a run of each of several, which have more runs.
const LEAST_OF_SEVERAL: Duration = Duration::from_millis(100);
/// Runs of a single expression.
const REPEAT: u64 = 5;
/// Runs of each of several, if they do not take too long.
const REPEAT_OF_SEVERAL: u64 = 20;

/// The amount of measurement. Options that are not set are chosen automatically.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[must_use]
pub struct Options {
    repeat: Option<u64>,
    number: Option<u64>,
    least: Option<Duration>,
}

impl Options {
    /// Chooses everything automatically.
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of runs of each candidate.
    pub fn repeat(mut self, runs: u64) -> Self {
        self.repeat = Some(runs.max(1));
        self
    }

    /// The number of loops of a run.
    pub fn number(mut self, loops: u64) -> Self {
        self.number = Some(loops.max(1));
        self
    }

    /// The least time of a run, where the number of loops is chosen automatically.
    pub fn min_time(mut self, least: Duration) -> Self {
        self.least = Some(least);
        self
    }
}

/// A candidate: its name, and a loop around it that returns the elapsed time.
#[doc(hidden)]
pub type Loop<'a> = (&'a str, &'a mut dyn FnMut(u64) -> Duration);

/// The result of a measurement. It prints as timeit's last line and IPython's, or as a table with a
/// sentence on each pair.
#[derive(Debug, Clone, PartialEq)]
pub struct Benched(Bench);

impl Benched {
    /// The seconds per loop of each run, in the order of the runs; `None` if there is no such
    /// candidate. A single expression's name is its text.
    pub fn seconds(&self, name: &str) -> Option<Vec<f64>> {
        Some(self.0.candidates.get(self.index(name)?)?.per_loop())
    }

    /// The best, mean and spread of the time per loop.
    pub fn spread(&self, name: &str) -> Option<Spread> {
        Some(self.0.candidates.get(self.index(name)?)?.spread())
    }

    /// The number of loops of a run.
    pub fn loops(&self, name: &str) -> Option<u64> {
        Some(self.0.candidates.get(self.index(name)?)?.loops)
    }

    /// The ratio of the times of two candidates. `None` without two candidates of these names, or
    /// with too few runs for an interval.
    pub fn ratio(&self, one: &str, other: &str) -> Option<Ratio> {
        self.0.ratio(self.index(one)?, self.index(other)?)
    }

    /// The candidate that is certain to be faster than all others.
    pub fn fastest(&self) -> Option<&str> {
        let (fastest, ..) = self.0.fastest()?;
        Some(&self.0.candidates[fastest].name)
    }

    /// Writes it as JSON. `profundo bench --measured NEW.json --against OLD.json` compares two such
    /// files, and exits with 3 if something has certainly become slower.
    pub fn write_json(&self, out: impl io::Write) -> io::Result<()> {
        Benchmark::new(&self.0).write_json(out)
    }

    fn index(&self, name: &str) -> Option<usize> {
        self.0
            .candidates
            .iter()
            .position(|candidate| candidate.name == name)
    }
}

impl fmt::Display for Benched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::new();
        Benchmark::new(&self.0)
            .write(&mut text)
            .map_err(|_| fmt::Error)?;
        f.write_str(String::from_utf8_lossy(&text).trim_end())
    }
}

/// Measures candidates; called by the macro.
#[doc(hidden)]
pub fn measure(options: Options, candidates: &mut [Loop<'_>]) -> Benched {
    let is_single = candidates.len() < 2;
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let least = if is_single { LEAST } else { LEAST_OF_SEVERAL };
    let least = options.least.unwrap_or(least).as_secs_f64();
    let mut bench = Bench {
        subject: Subject::Rust,
        cpu_clock: false,
        started: since.map_or(0, |since| since.as_secs()),
        machine: this_machine(),
        start: None,
        candidates: Vec::new(),
    };
    let parts = match options.number {
        Some(number) => Parts::whole(number, candidates.len()),
        None if is_single => {
            let loops = |candidate: &mut Loop<'_>| enough(least, candidate.1).loops;
            Parts::whole(candidates.first_mut().map_or(1, loops), candidates.len())
        }
        None => {
            let length = Parts::length(least);
            let tried: Vec<Tried> = (candidates.iter_mut())
                .map(|candidate| enough(length, candidate.1))
                .collect();
            // On a busy machine, a first trial alone says little: here is a round that does not
            // count.
            let parts = Parts::of(least, &tried);
            let order: Vec<usize> = (0..candidates.len()).collect();
            let best = round(candidates, &parts, order);
            let better = tried.iter().zip(parts.loops.iter().zip(best));
            let better: Vec<Tried> = better
                .map(|(tried, (loops, seconds))| tried.better(*loops, seconds))
                .collect();
            Parts::of(least, &better)
        }
    };
    for ((name, _), loops) in candidates.iter().zip(&parts.loops) {
        bench.candidates.push(Candidate {
            name: (*name).to_owned(),
            text: (*name).to_owned(),
            by: None,
            loops: *loops,
            runs: Vec::new(),
        });
    }
    let rounds = match (options.repeat, is_single) {
        (Some(repeat), _) => Rounds::Exactly(repeat),
        (None, true) => Rounds::Exactly(REPEAT),
        (None, false) => Rounds::Enough {
            wanted: REPEAT_OF_SEVERAL,
            most: REPEAT_OF_SEVERAL,
        },
    };
    let started = Instant::now();
    let mut order = Order::new(candidates.len(), seed());
    let mut count = rounds.at_first();
    let mut done = 0;
    while done < count {
        let best = round(candidates, &parts, order.next().unwrap_or_default());
        for (candidate, seconds) in bench.candidates.iter_mut().zip(best) {
            candidate.runs.push(Run { seconds, cpu: None });
        }
        done += 1;
        if done == 1 {
            count = rounds.count(started.elapsed(), candidates.len());
        }
    }
    Benched(bench)
}

/// Runs a round in this order: the best part of each candidate's run, in seconds.
fn round(candidates: &mut [Loop<'_>], parts: &Parts, mut order: Vec<usize>) -> Vec<f64> {
    let mut best = vec![f64::INFINITY; candidates.len()];
    for _ in 0..parts.count {
        for &index in &order {
            let seconds = candidates[index].1(parts.loops[index]).as_secs_f64();
            best[index] = best[index].min(seconds);
        }
        order.reverse();
    }
    best
}

/// The first number of loops that takes long enough.
fn enough(least: f64, looped: &mut dyn FnMut(u64) -> Duration) -> Tried {
    let mut tried = Tried {
        loops: 1,
        seconds: 0.0,
        aside: 0.0,
    };
    for loops in loop_counts() {
        tried.loops = loops;
        tried.seconds = looped(loops).as_secs_f64();
        if tried.seconds >= least {
            break;
        }
    }
    tried
}
