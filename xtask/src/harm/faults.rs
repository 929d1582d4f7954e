//! Each system call of the recorder and of the agent fails in turn, by `strace`.
//!
//! The calls are found first: those of the recorder in a trace of it, those of the agent by their
//! stacks. The recorder's are made to fail from the first one after its start on, and once
//! somewhere among them. The agent's are made to fail once each, and all of them in a program that
//! makes none of its own.

mod agent;
mod judge;
mod recorder;
mod trace;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;

use super::list::List;
use super::place::Place;
use super::runs::RUNS;
use super::{Wanted, in_turn, seclude};

/// The errors, and what they are in a trace.
pub const ERRORS: &[&str] = &["ENOMEM", "EMFILE", "ENOSPC", "EINTR", "EPERM"];

/// The work of the program, in milliseconds.
pub const WORK: u64 = 60;

/// Which side's calls fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Recorder,
    Agent,
}

/// One case: a run, and a fault in it.
#[derive(Debug)]
pub struct Case {
    run: usize,
    side: Side,
    call: String,
    error: &'static str,
    /// The calls that fail, as `strace` counts them.
    when: String,
}

impl Case {
    /// The case's name in the list.
    fn name(&self) -> String {
        let Self {
            call, error, when, ..
        } = self;
        let (run, side) = (RUNS[self.run].name, self.side());
        format!("{run} {side} {call} {error} {when}")
    }

    fn side(&self) -> &'static str {
        match self.side {
            Side::Recorder => "recorder",
            Side::Agent => "agent",
        }
    }

    /// The option of `strace`.
    fn inject(&self) -> String {
        let Self {
            call, error, when, ..
        } = self;
        format!("inject={call}:error={error}:when={when}")
    }
}

/// `cargo xtask faults [--seed N] [--jobs N] [NAME…]`.
pub fn run(root: &Path, arguments: &[&str]) -> Result<bool> {
    let wanted = Wanted::read(arguments)?;
    seclude()?;
    let place = Place::new(root)?;
    let list = List::open(&place.lists.join(format!("faults-{}", wanted.seed)))?;
    let mut cases = Vec::new();
    for (number, run) in RUNS.iter().enumerate() {
        cases.extend(recorder::cases(&place, number, wanted.seed)?);
        if run.way == super::runs::Way::Starts {
            cases.extend(agent::cases(&place, number)?);
        }
    }
    cases.retain(|case| trace::fails_by(&case.call, case.error));
    cases.retain(|case| wanted.has(&case.name()) && !list.has(&case.name()));
    println!("{} cases", cases.len());
    in_turn(cases.len(), wanted.jobs, |number| {
        let case = &cases[number];
        let round = place.round(number)?;
        let outcome = match case.side {
            Side::Recorder => recorder::one(&round, case)?,
            Side::Agent => agent::one(&round, case)?,
        };
        let outcome = match outcome {
            Ok(what) => format!("ok: {what}"),
            Err(why) => {
                println!("FAILED {}: {why}", case.name());
                format!("FAILED: {why}")
            }
        };
        list.add(&case.name(), &outcome)
    })?;
    let mut all = list.all();
    all.retain(|name, _| wanted.has(name));
    Ok(summary(&all))
}

/// Prints a row for each side and call, a column for each error: cases, and those that failed.
fn summary(outcomes: &BTreeMap<String, String>) -> bool {
    let mut rows: BTreeMap<_, BTreeMap<&str, (usize, usize)>> = BTreeMap::new();
    let mut failed = 0;
    for (name, outcome) in outcomes {
        let words: Vec<&str> = name.split(' ').collect();
        let [_, side, call, error, _] = words[..] else {
            continue;
        };
        let count = rows
            .entry((side, call))
            .or_default()
            .entry(error)
            .or_default();
        count.0 += 1;
        if outcome.starts_with("FAILED") {
            count.1 += 1;
            failed += 1;
        }
    }
    print!("{:28}", "");
    ERRORS.iter().for_each(|error| print!("{error:>10}"));
    println!();
    for ((side, call), counts) in &rows {
        print!("{side:9} {call:18}");
        for error in ERRORS {
            let (all, failed) = counts.get(error).copied().unwrap_or_default();
            let cell = match failed {
                0 => format!("{all}"),
                failed => format!("{all} (-{failed})"),
            };
            print!("{cell:>10}");
        }
        println!();
    }
    println!("{} cases, {failed} failed", outcomes.len());
    failed == 0
}
