//! Compares a suite's outcomes: all its tests once, those that differ alone and three times, and
//! those that do not differ alone once more among the tests of their file.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, ensure};

use super::excused;
use super::list::{Runner, Suite};
use super::place::Place;
use super::results::{Results, Row};
use super::side::Chosen;
use super::verdict::{Alone, Pair, TRIES, Verdict, alone, among_others};
use crate::sides::Sides;
use crate::sides::outcomes::{Outcomes, THE_WHOLE};

/// The most tests that are tried each by itself. More than these are tried together: then it is
/// the suite that differs, and not a test.
const ALONE: usize = 12;

const DID_NOT_RUN: &str = "did not run";

/// Compares a suite's outcomes without and with the profiler.
pub fn compare(sides: &Sides, place: &Place) -> Result<Results> {
    let suite = place.suite;
    let all: Vec<String> = suite.tests.iter().map(|&test| test.to_owned()).collect();
    let (without, with) = sides.at_once(&Chosen::of(place, &all))?;
    println!("    without: {without}\n    with:    {with}");
    ensure!(
        without.is_whole(),
        "its runner has no result without the profiler"
    );
    // pytest ends with 2 and more if it has not run the tests.
    let is_run = match suite.runner {
        Runner::Pytest(_) => without.end().code().is_some_and(|code| code < 2),
        Runner::Gevent(_) => true,
    };
    ensure!(is_run, "pytest could not run the tests: {}", without.end());
    let mut results = Results::new(suite.requirement());
    for name in without.names() {
        results.add(row(name, &pair(name, &without, &with), Verdict::Same));
    }
    let mut suspects: BTreeMap<String, Pair> = match with.is_whole() {
        true => without.differences(&with),
        // A runner that died has no outcome of any test.
        false => [(THE_WHOLE.to_owned(), pair(THE_WHOLE, &without, &with))].into(),
    };
    suspects.retain(|name, first| {
        let reason = excused::reason(suite, name, sides.mode());
        if let Some(reason) = reason {
            println!("    {name}: {reason}");
            results.add(row(name, first, Verdict::Excused));
        }
        reason.is_none()
    });

    let mut open = suspects.clone();
    for tests in by_themselves(suite, &suspects) {
        let targets: Vec<String> = targets(suite, &tests, &all);
        println!("    tried alone: {}", targets.join(" "));
        let mut tries = Vec::new();
        let mut left = tests;
        while !left.is_empty() && tries.len() < 2 * TRIES {
            for _ in 0..TRIES {
                tries.push(sides.in_turn(&Chosen::of(place, &targets))?);
            }
            left.retain(|test| {
                let pairs = tries.iter();
                let pairs: Vec<Pair> = pairs
                    .map(|(without, with)| pair(test, without, with))
                    .collect();
                let alone = alone(&pairs);
                if let Alone::Decided(verdict) = alone {
                    results.add(row(test, &told(&pairs), verdict));
                    open.remove(test);
                }
                alone == Alone::Open
            });
        }
    }
    if open.is_empty() {
        return Ok(results);
    }
    let names: Vec<String> = open.keys().cloned().collect();
    let files = files(suite, &names, &all);
    println!("    tried among the others: {}", files.join(" "));
    let (without, with) = sides.in_turn(&Chosen::of(place, &files))?;
    for (test, first) in &open {
        let again = pair(test, &without, &with);
        let verdict = among_others(first, &again);
        results.add(row(test, &told(&[first.clone(), again]), verdict));
    }
    Ok(results)
}

fn pair(name: &str, without: &Outcomes, with: &Outcomes) -> Pair {
    let of = |outcomes: &Outcomes| outcomes.of(name).unwrap_or(DID_NOT_RUN.to_owned());
    (of(without), of(with))
}

/// The outcomes of several tries, one after the other.
fn told(pairs: &[Pair]) -> Pair {
    let join = |of: fn(&Pair) -> &str| {
        let words: Vec<&str> = pairs.iter().map(of).collect();
        words.join(", ")
    };
    (join(|pair| &pair.0), join(|pair| &pair.1))
}

fn row(test: &str, pair: &Pair, verdict: Verdict) -> Row {
    Row {
        test: test.to_owned(),
        without: pair.0.clone(),
        with: pair.1.clone(),
        verdict,
    }
}

/// Groups of tests that are tried together.
fn by_themselves(suite: &Suite, suspects: &BTreeMap<String, Pair>) -> Vec<Vec<String>> {
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for test in suspects.keys() {
        let target = match suite.runner {
            Runner::Pytest(_) => test.clone(),
            Runner::Gevent(_) => first_word(test).to_owned(),
        };
        groups.entry(target).or_default().push(test.clone());
    }
    match groups.len() <= ALONE {
        true => groups.into_values().collect(),
        false => vec![suspects.keys().cloned().collect()],
    }
}

/// The words that make a runner run these tests.
fn targets(suite: &Suite, tests: &[String], all: &[String]) -> Vec<String> {
    if tests.iter().any(|test| test == THE_WHOLE) {
        return all.to_vec();
    }
    let words: BTreeSet<&str> = tests.iter().map(|test| target(suite, test)).collect();
    words.into_iter().map(str::to_owned).collect()
}

/// The files of these tests.
fn files(suite: &Suite, tests: &[String], all: &[String]) -> Vec<String> {
    let targets = targets(suite, tests, all);
    let files: BTreeSet<&str> = (targets.iter())
        .map(|target| target.split_once("::").map_or(&**target, |(file, _)| file))
        .collect();
    files.into_iter().map(str::to_owned).collect()
}

fn target<'a>(suite: &Suite, test: &'a str) -> &'a str {
    match suite.runner {
        Runner::Pytest(_) => test,
        Runner::Gevent(_) => first_word(test),
    }
}

fn first_word(text: &str) -> &str {
    text.split_once(' ').map_or(text, |(word, _)| word)
}
