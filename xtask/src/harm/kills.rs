//! SIGKILL for either side at random moments, in many short runs.
//!
//! After the recorder's end the program goes on to its usual end. After the program's end the
//! recording has all up to then. Neither leaves a process, a temporary file, or memory that the
//! next `profundo` does not remove by itself.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::list::List;
use super::mark::{kill, wait_until_gone};
use super::place::{CODE, Place, Round, remains};
use super::random::Random;
use super::runs::{RECORDING, RUNS, Run, Way};
use super::{Wanted, in_turn, seclude};

/// The work of the program, in milliseconds.
const WORK: u64 = 200;
/// A program that is entered works longer, so that it is there when the recorder comes.
const WORK_ENTERED: u64 = 500;
/// No round takes this long.
const PATIENCE: Duration = Duration::from_secs(120);
/// The sessions of killed commands that are kept for `recover`, as `docs/trouble.md` says.
const KEPT: usize = 16;
const SIGKILL: i32 = 9;
/// What `recover` says of a recording that had just begun.
const NOTHING_YET: [&str; 2] = ["nothing had been recorded yet", "is empty"];

/// `cargo xtask kills [--rounds N] [--seed N] [--jobs N] [NAME…]`.
pub fn run(root: &Path, arguments: &[&str]) -> Result<bool> {
    let wanted = Wanted::read(arguments)?;
    seclude()?;
    let place = Place::new(root)?;
    let list = List::open(&place.lists.join(format!("kills-{}", wanted.seed)))?;
    let latest = latest(&place)?;
    println!("kills come within {latest:?}");
    let runs: Vec<&Run> = RUNS.iter().filter(|run| wanted.has(run.name)).collect();
    let rounds = wanted.rounds as usize;
    in_turn(rounds, wanted.jobs, |number| {
        let mut random = Random::new(wanted.seed, number as u64);
        let run = runs[random.below(runs.len() as u64) as usize];
        let is_recorder = random.below(2) == 0;
        let victim = if is_recorder { "recorder" } else { "program" };
        let name = format!("{number:05} {} {victim}", run.name);
        if list.has(&name) {
            return Ok(());
        }
        let moment = latest.mul_f64(random.below(1000) as f64 / 1e3);
        let round = place.round(number)?;
        let outcome = match one(&round, run, is_recorder, moment)? {
            Ok(what) => format!("ok: {what}"),
            Err(why) => {
                println!("FAILED {name} after {moment:?}: {why}");
                format!("FAILED: {why} (after {moment:?})")
            }
        };
        list.add(&name, &outcome)
    })?;
    let left = sweep(&place)?;
    Ok(summary(&list.all()) & left)
}

/// The last moment of a kill: some rounds are over by then, on this machine and at this time.
fn latest(place: &Place) -> Result<Duration> {
    let round = place.round(0)?;
    let run = &RUNS[0];
    let words = run.words(&run.program(place, WORK));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut took = Duration::ZERO;
    // The first one fills the cache.
    for _ in 0..3 {
        let began = Instant::now();
        wait(&mut round.profundo("first", &words)?.spawn()?)?;
        took = began.elapsed();
    }
    Ok(took.mul_f64(1.3))
}

/// One round. Its outcome is what came of it, or what went wrong.
fn one(
    round: &Round<'_>,
    run: &Run,
    is_recorder: bool,
    moment: Duration,
) -> Result<Result<&'static str, String>> {
    let work = match run.way {
        Way::Starts => WORK,
        Way::Enters => WORK_ENTERED,
    };
    let words = run.program(round.place, work);
    // A shell waits for the program, so that its code is known after the recorder's end.
    let shell = ["sh", "-c", "\"$@\"; echo $? >code", "sh"].map(str::to_owned);
    let mut program = None;
    let rest = match run.way {
        Way::Starts if is_recorder => [&shell[..], &words].concat(),
        Way::Starts => words,
        Way::Enters => {
            let mut command = round.command(Path::new(&words[0]), "program")?;
            let child = command.args(&words[1..]).spawn()?;
            let pid = child.id().to_string();
            program = Some(child);
            vec![pid]
        }
    };
    let words = run.words(&rest);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut recorder = round.profundo("recorder", &words)?.spawn()?;
    let pid = recorder.id();
    thread::sleep(moment);
    let is_over = recorder.try_wait()?.is_some();
    if is_recorder {
        recorder.kill()?;
    } else {
        match &mut program {
            Some(child) => child.kill()?,
            None => child_of(pid).into_iter().for_each(kill),
        }
    }
    let (ended, program) = (wait(&mut recorder)?, wait_if(&mut program)?);
    let left = wait_until_gone(&round.mark, PATIENCE);
    let judge = || -> Result<&'static str, String> {
        let ended = ended.ok_or("the recorder hangs")?;
        match left.is_empty() {
            true => {}
            false => return Err(format!("processes are left: {}", left.join(", "))),
        }
        let judged = match is_recorder {
            true => after_recorder(round, run, program, is_over),
            false => after_program(round, run, ended, is_over),
        }?;
        let left = round.left();
        match left.is_empty() {
            true => Ok(judged),
            false => Err(format!("files are left: {}", left.join(", "))),
        }
    };
    let mut judged = judge();
    let its = remains(pid);
    if judged.is_ok() && !its.is_empty() && (!is_recorder || judged == Ok("recovered")) {
        judged = Err(format!("memory is left: {}", its[0].display()));
    }
    Ok(judged)
}

/// After the recorder was killed: the program's end, and what can be recovered.
fn after_recorder(
    round: &Round<'_>,
    run: &Run,
    program: Option<ExitStatus>,
    is_over: bool,
) -> Result<&'static str, String> {
    let (out, code) = match run.way {
        Way::Enters => {
            let status = program.ok_or("the program hangs")?;
            (
                round.text("program.out"),
                status.code().ok_or_else(|| format!("{status}"))?,
            )
        }
        Way::Starts => {
            let code = round.text("code");
            let out = round.text("recorder.out");
            if code.is_empty() && out.is_empty() {
                return Ok("killed before the program began");
            }
            let code = code.trim().parse();
            (out, code.map_err(|_| "the program has no end")?)
        }
    };
    if code != CODE || !out.starts_with("begun\ndone\n") {
        return Err(format!("the program ended with {code} and printed {out:?}"));
    }
    if is_over {
        return Ok("over before");
    }
    if run.name == "heap" || !round.path(RECORDING).exists() {
        return Ok("killed before there was a file");
    }
    match look(round, "recover") {
        Err(why) if NOTHING_YET.iter().any(|said| why.contains(said)) => {
            return Ok("killed before anything was recorded");
        }
        recovered => recovered?,
    }
    look(round, "report")?;
    Ok("recovered")
}

/// After the program was killed: the recorder's end, and the recording.
fn after_program(
    round: &Round<'_>,
    run: &Run,
    ended: ExitStatus,
    is_over: bool,
) -> Result<&'static str, String> {
    let err = round.text("recorder.err");
    if err.contains("panicked") {
        return Err(err);
    }
    if is_over || ended.code() == Some(CODE) {
        return Ok("over before");
    }
    let is_its = match run.way {
        Way::Starts => ended.signal() == Some(SIGKILL),
        // A process that is gone before it was found is an error.
        Way::Enters => ended.code().is_some_and(|code| code < 2),
    };
    if !is_its {
        return Err(format!("the recorder's end is {ended}: {err}"));
    }
    if !round.path(RECORDING).exists() {
        let is_said = run.way == Way::Enters && err.starts_with("profundo: ");
        return match is_said || round.text("recorder.out").is_empty() {
            true => Ok("killed before there was a file"),
            false => Err(format!("there is no recording: {err}")),
        };
    }
    if run.name != "heap" {
        look(round, "report")?;
    }
    Ok("whole")
}

/// A verb on the recording, which has to succeed.
fn look(round: &Round<'_>, verb: &str) -> Result<(), String> {
    let words = [verb, RECORDING];
    let command = round.profundo(verb, &words);
    let ended = command.and_then(|mut command| command.spawn());
    let ended = ended.map_err(|error| error.to_string())?;
    let mut ended = ended;
    let status = wait(&mut ended).map_err(|error| error.to_string())?;
    match status.and_then(|status| status.code()) {
        Some(0) => Ok(()),
        code => {
            let err = round.text(&format!("{verb}.err"));
            Err(format!("`{verb}` ended with {code:?}: {err}"))
        }
    }
}

/// The first child of a process.
fn child_of(pid: u32) -> Option<u32> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    children.split_whitespace().next()?.parse().ok()
}

fn wait_if(child: &mut Option<Child>) -> Result<Option<ExitStatus>> {
    child.as_mut().map_or(Ok(None), wait)
}

/// Waits for a child. One that hangs is killed.
pub fn wait(child: &mut Child) -> Result<Option<ExitStatus>> {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if began.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// The next command removes what killed ones left, but for the newest.
fn sweep(place: &Place) -> Result<bool> {
    let round = place.round(usize::MAX)?;
    let words = ["record", "-o", RECORDING, "--", "true"];
    let mut command = round.profundo("sweep", &words)?;
    wait(&mut command.spawn()?)?;
    let left = fs::read_dir("/dev/shm")?.count();
    println!("{left} sessions are left in /dev/shm, of at most {KEPT}");
    Ok(left <= KEPT)
}

/// Prints the rates; true if all is well.
fn summary(outcomes: &BTreeMap<String, String>) -> bool {
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (name, outcome) in outcomes {
        let victim = name.rsplit(' ').next().unwrap_or_default();
        let outcome = match outcome.starts_with("FAILED") {
            true => "FAILED",
            false => outcome.as_str(),
        };
        *counts.entry((victim, outcome)).or_default() += 1;
    }
    for ((victim, outcome), count) in &counts {
        println!("{count:6}  {victim} killed, {outcome}");
    }
    println!("{:6}  rounds", outcomes.len());
    !counts.keys().any(|(_, outcome)| *outcome == "FAILED")
}
