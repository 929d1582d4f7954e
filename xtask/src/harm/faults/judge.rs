//! What must hold, whatever has failed.

use std::process::ExitStatus;
use std::time::Duration;

use super::super::kills::wait;
use super::super::mark::wait_until_gone;
use super::super::place::{CODE, Round, remains_of_dead};
use super::super::runs::RECORDING;

/// What came of a case, or what went wrong.
pub type Outcome = Result<String, String>;

/// Processes end soon after the one that started them.
const PATIENCE: Duration = Duration::from_secs(20);
/// The exit codes of a command whose program did not run.
const NOT_RUN: [i32; 3] = [1, 126, 127];
const BOTH_LINES: &str = "begun\ndone\n";
/// The signal of a Rust program that cannot allocate.
const SIGABRT: i32 = 6;

/// The parts of a case that has ended.
#[derive(Debug)]
pub struct Ended<'a> {
    pub status: Option<ExitStatus>,
    /// The files of the program's output, and of the command's sentences.
    pub files: [&'a str; 2],
    /// The code of a program that the command has not started.
    pub program: Option<Option<i32>>,
    /// What the failing call is for.
    pub lost: Lost,
}

/// What a command cannot do because a call of it fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lost {
    /// It allocates memory.
    pub memory: bool,
    /// It prints the reason.
    pub words: bool,
    /// It removes files.
    pub removal: bool,
}

/// Judges the end of a case.
pub fn judge(round: &Round<'_>, ended: &Ended<'_>) -> Outcome {
    use std::os::unix::process::ExitStatusExt;

    let left = wait_until_gone(&round.mark, PATIENCE);
    let Some(status) = ended.status else {
        return Err("it hangs".to_owned());
    };
    let (out, err) = (round.text(ended.files[0]), round.text(ended.files[1]));
    let err = err.trim();
    let has_aborted = status.signal() == Some(SIGABRT);
    if err.contains("panicked") && !(ended.lost.memory && has_aborted) {
        return Err(format!("a panic: {err}"));
    }
    if !left.is_empty() {
        return Err(format!("processes are left: {}", left.join(", ")));
    }
    let has_run = out.starts_with(BOTH_LINES);
    if !has_run && out.starts_with("begun") {
        return Err(format!("the program did not end: {out:?} {status} {err}"));
    }
    let code = match (has_aborted, status.code()) {
        // As if it were killed: the program has gone on.
        (true, _) if ended.lost.memory => {
            return Ok(format!("aborted without memory; has run: {has_run}"));
        }
        (_, Some(code)) => code,
        (_, None) => return Err(format!("the command ended by {status}: {err}")),
    };
    match ended.program {
        Some(program) => {
            if program != Some(CODE) || !has_run {
                return Err(format!("the program ended with {program:?}"));
            }
            if code > 1 {
                return Err(format!("the command ended with {code}: {err}"));
            }
        }
        None if has_run && code != CODE => {
            return Err(format!("it ran, and the command ended with {code}: {err}"));
        }
        None if !has_run && !NOT_RUN.contains(&code) => {
            return Err(format!(
                "it did not run, and the command ended with {code}: {err}"
            ));
        }
        None => {}
    }
    let is_fine = code == 0 || (code == CODE && ended.program.is_none());
    if !is_fine && !ended.lost.words && !err.starts_with("profundo: ") {
        return Err(format!("no reason is given for {code}: {err:?}"));
    }
    let mut files = round.left();
    // The agent's file where the cache cannot be written: the next command uses it.
    files.retain(|name| !name.starts_with("profundo-agent-"));
    if !files.is_empty() && !ended.lost.removal {
        return Err(format!("files are left: {}", files.join(", ")));
    }
    let its = remains_of_dead();
    if !its.is_empty() && !ended.lost.removal {
        return Err(format!("memory is left: {}; {err}", its[0].display()));
    }
    if is_fine && round.path(RECORDING).exists() && ended.program != Some(None) {
        opens(round).map_err(|why| format!("{why} after {err:?}"))?;
    } else if is_fine && !ended.lost.words && err.is_empty() {
        return Err("there is no recording, and no reason for that".to_owned());
    }
    Ok(format!("{code}: {err}"))
}

/// The recording opens, or is recovered.
fn opens(round: &Round<'_>) -> Result<(), String> {
    let mut last = String::new();
    for verb in ["report", "recover", "report"] {
        let words = [verb, RECORDING];
        let begun = round
            .profundo(verb, &words)
            .and_then(|mut command| command.spawn());
        let mut child = begun.map_err(|error| error.to_string())?;
        let status = wait(&mut child).map_err(|error| error.to_string())?;
        last = round.text(&format!("{verb}.err"));
        let is_heap = last.contains("snapshot");
        if status.is_some_and(|status| status.success()) && verb == "report" || is_heap {
            return Ok(());
        }
    }
    Err(format!("the recording does not open: {last}"))
}
