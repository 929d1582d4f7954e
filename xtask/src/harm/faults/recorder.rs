//! Faults in the recorder: `strace` runs the command, and does not follow its children.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Child;

use anyhow::{Context, Result};

use super::judge::{Ended, Lost, Outcome, judge};
use super::trace::calls;
use super::{Case, ERRORS, Side, WORK};
use crate::harm::kills::wait;
use crate::harm::place::{Place, Round};
use crate::harm::random::Random;
use crate::harm::runs::{RUNS, Way};

/// The work of a program that is entered: it has to be there until then.
const LONG: u64 = 1500;
/// So many interrupted calls one after the other are enough.
const INTERRUPTIONS: usize = 10;
/// Calls whose failure means that there is no memory.
const MEMORY: &[&str] = &["mmap", "brk", "mprotect", "mremap"];
/// Calls that print.
const WORDS: &[&str] = &["write"];
/// Calls that remove files.
const REMOVAL: &[&str] = &["rmdir", "unlink", "unlinkat"];

/// The cases of a run.
pub fn cases(place: &Place, run: usize, seed: u64) -> Result<Vec<Case>> {
    let round = place.round(run)?;
    // The loader and the language begin as in any command.
    let mut first: BTreeMap<String, usize> = BTreeMap::new();
    let words = ["--version"].map(str::to_owned);
    for call in calls(&traced(&round, &[], &words, None)?.0) {
        first.insert(call.name, call.number);
    }
    let (words, program) = begin(&round, run)?;
    let (trace, _) = traced(&round, &[], &words, program)?;
    let mut all: BTreeMap<String, usize> = BTreeMap::new();
    for call in calls(&trace).into_iter().filter(|call| call.may_fail()) {
        all.insert(call.name, call.number);
    }
    let mut cases = Vec::new();
    for (call, count) in all {
        let first = first.get(&call).copied().unwrap_or_default() + 1;
        if first > count {
            continue;
        }
        for (number, &error) in ERRORS.iter().enumerate() {
            let mut add = |when: String| {
                cases.push(Case {
                    run,
                    side: Side::Recorder,
                    call: call.clone(),
                    error,
                    when,
                });
            };
            add(match error {
                "EINTR" => format!("{first}..{}", first + INTERRUPTIONS),
                _ => format!("{first}+"),
            });
            let mut random = Random::new(seed, (run * 100 + number) as u64);
            let one = first + 1 + random.below((count - first) as u64) as usize;
            if one <= count {
                add(format!("{one}"));
            }
        }
    }
    Ok(cases)
}

/// The words of the command, and the program if it runs before.
fn begin(round: &Round<'_>, run: usize) -> Result<(Vec<String>, Option<Child>)> {
    let run = &RUNS[run];
    Ok(match run.way {
        Way::Starts => (run.words(&run.program(round.place, WORK)), None),
        Way::Enters => {
            let words = run.program(round.place, LONG);
            let mut command = round.command(Path::new(&words[0]), "program")?;
            let child = command.args(&words[1..]).spawn()?;
            // An interpreter that has begun says so.
            while round.text("program.out").is_empty() {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            (run.words(&[child.id().to_string()]), Some(child))
        }
    })
}

/// Runs the command under `strace` with these options. Returns the trace.
fn traced(
    round: &Round<'_>,
    options: &[&str],
    words: &[String],
    program: Option<Child>,
) -> Result<(String, Ended<'static>)> {
    let mut command = round.command(Path::new("strace"), "recorder")?;
    command.args(["-qq", "-o", "trace"]).args(options);
    command.arg(&round.place.profundo).args(words);
    let mut child = command.spawn().context("strace")?;
    let status = wait(&mut child)?;
    let program = match program {
        Some(mut program) => Some(wait(&mut program)?.and_then(|status| status.code())),
        None => None,
    };
    let trace = fs::read(round.path("trace")).unwrap_or_default();
    let ended = Ended {
        status,
        files: ["recorder.out", "recorder.err"],
        program,
        lost: Lost::default(),
    };
    Ok((String::from_utf8_lossy(&trace).into_owned(), ended))
}

/// Runs a case.
pub fn one(round: &Round<'_>, case: &Case) -> Result<Outcome> {
    let (words, program) = begin(round, case.run)?;
    let inject = case.inject();
    let (_, ended) = traced(round, &["-e", &inject], &words, program)?;
    let out = match ended.program {
        Some(_) => "program.out",
        None => "recorder.out",
    };
    let is_one_of = |calls: &[&str]| calls.contains(&case.call.as_str());
    Ok(judge(
        round,
        &Ended {
            files: [out, "recorder.err"],
            lost: Lost {
                memory: is_one_of(MEMORY),
                // Only if it fails to the end: the reason comes last.
                words: is_one_of(WORDS) && case.when.ends_with('+'),
                removal: is_one_of(REMOVAL),
            },
            ..ended
        },
    ))
}
