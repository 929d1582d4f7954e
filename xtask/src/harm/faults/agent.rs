//! Faults in the agent: the command records `strace`, which runs the program.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};

use super::judge::{Ended, Lost, Outcome, judge};
use super::trace::calls;
use super::{Case, ERRORS, Side, WORK};
use crate::harm::kills::wait;
use crate::harm::place::{Place, Round};
use crate::harm::runs::RUNS;

/// Of the agent's calls of one name, so many are tried: the first, the last, and some between.
const TRIED: usize = 4;

/// The cases of a run.
pub fn cases(place: &Place, run: usize) -> Result<Vec<Case>> {
    let round = place.round(run)?;
    let _ = traced(&round, run, &["-k"])?;
    let trace = fs::read(round.path("trace")).context("strace has written no trace")?;
    let mut agents: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    let mut last: BTreeMap<String, usize> = BTreeMap::new();
    for call in calls(&String::from_utf8_lossy(&trace)) {
        last.insert(call.name.clone(), call.number);
        if call.is_agents && call.may_fail() {
            agents.entry(call.name).or_default().push(call.number);
        }
    }
    let mut cases = Vec::new();
    for (call, numbers) in &agents {
        // The program's lines are not the agent's.
        let all = match RUNS[run].is_python || call == "write" {
            true => None,
            false => Some(format!("{}+", numbers[0])),
        };
        let step = numbers.len().div_ceil(TRIED);
        let some = numbers.iter().step_by(step).map(ToString::to_string);
        let whens: Vec<String> = all.into_iter().chain(some).collect();
        for when in whens {
            cases.extend(ERRORS.iter().map(|&error| Case {
                run,
                side: Side::Agent,
                call: call.clone(),
                error,
                when: when.clone(),
            }));
        }
    }
    Ok(cases)
}

/// Records `strace` with these options, which runs the program.
fn traced(round: &Round<'_>, run: usize, options: &[&str]) -> Result<Ended<'static>> {
    let run = &RUNS[run];
    let trace = round.path("trace").to_string_lossy().into_owned();
    let mut rest: Vec<String> = ["strace", "-qq", "-o", &trace].map(str::to_owned).into();
    rest.extend(options.iter().map(|&option| option.to_owned()));
    rest.extend(run.program(round.place, WORK));
    let words = run.words(&rest);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut child = round.profundo("recorder", &words)?.spawn()?;
    Ok(Ended {
        status: wait(&mut child)?,
        files: ["recorder.out", "recorder.err"],
        program: None,
        lost: Lost::default(),
    })
}

/// Runs a case.
pub fn one(round: &Round<'_>, case: &Case) -> Result<Outcome> {
    let inject = case.inject();
    let ended = traced(round, case.run, &["-e", &inject])?;
    let judged = judge(round, &ended);
    // The program ran in any case: its code is the command's.
    Ok(judged.and_then(|what| match what.starts_with("7: ") {
        true => Ok(what),
        false => Err(format!("the program did not run: {what}")),
    }))
}
