//! The reason why a recording has no samples, from the program's end and what it did.

use profundo_model::{Nanos, Process, ProcessEnd, Profile, SampleKind};

use crate::naming::signals::signal_name;
use crate::page::units::duration;

/// A part of the time that is so small is no work: the program waited.
const IDLE: u64 = 10;
/// A process that waited for less than this, in nanoseconds, was only short.
const LONG: u64 = 100_000_000;

/// A process that ran for this many periods was not too short for a sample.
const MANY: u64 = 20;

/// The program's fate, and the remedy; `None` if all that is known is that it used little CPU time.
pub(crate) fn reason(profile: &Profile) -> Option<String> {
    let Some(first) = profile.processes.first() else {
        let is_told = !profile.meta.notes.is_empty();
        let text = "no process of it could be recorded, for the reason that stands in the notes.";
        return is_told.then(|| text.to_owned());
    };
    // A program that another one took the place of goes on in a later row.
    let mut same = profile
        .processes
        .iter()
        .filter(|process| process.pid == first.pid);
    let last = same.next_back()?;
    let used = cpu(profile.processes.iter());
    let after = match used {
        // The kernel counts in ticks for a process that was killed.
        0 => "after less than 10 ms of CPU time".to_owned(),
        used => format!("after {} of CPU time", duration(used)),
    };
    let left = left_behind(profile, first);
    match last.end {
        ProcessEnd::Killed(signal) => {
            let signal = signal_name(signal);
            return Some(format!("the program was killed by {signal} {after}."));
        }
        ProcessEnd::Exited(127) if profile.threads.is_empty() => {
            return Some(
                "the program could not be loaded (exit code 127): its loader has said what it lacks."
                    .to_owned(),
            );
        }
        ProcessEnd::Exited(127) => {
            return Some(format!(
                "the program ended with exit code 127 {after}, as a shell does that does not find a command."
            ));
        }
        ProcessEnd::Exited(126) => {
            return Some(format!(
                "the program ended with exit code 126 {after}, as a shell does that may not run a command."
            ));
        }
        ProcessEnd::Exited(code) if code != 0 => {
            return Some(format!("the program ended with exit code {code} {after}."));
        }
        _ if left > 0 => {
            let what = match left {
                1 => "a process that lives on".to_owned(),
                some => format!("{some} processes that live on"),
            };
            return Some(format!(
                "the first process ended {after}, and left {what}: `--wait-all` records until the last one has ended."
            ));
        }
        _ => {}
    }
    // The recording begins before the program: it waits until the recorder is ready.
    let lasted = (first.started.zip(last.ended))
        .map_or(profile.meta.duration, |(from, to)| {
            Nanos(to.0.saturating_sub(from.0))
        })
        .0;
    // A living process was not short, however short the recording was.
    let lives_on = last.end == ProcessEnd::Unknown;
    let is_long = lasted >= LONG || lives_on && lasted > 0;
    let waited = is_long && used.saturating_mul(IDLE) <= lasted;
    let children = match profile.processes.as_slice() {
        [_] if lives_on => " With `--no-children`, what its children do is left out.",
        _ => "",
    };
    let is_cpu = profile.meta.kind == SampleKind::Cpu;
    if waited && is_cpu {
        return Some(format!(
            "the program waited nearly all the time ({} of {} on a CPU): `--wall` records where.{children}",
            duration(used),
            duration(lasted)
        ));
    }
    let period = profile.meta.period.0;
    let has_ended = matches!(last.end, ProcessEnd::Exited(0));
    if !has_ended || !is_cpu || period == 0 {
        return None;
    }
    Some(match used / period < MANY {
        true => format!(
            "the program ended {after}, which is short for a sample every {}: `-r` samples more often, and `profundo \
             time` measures what is short.",
            duration(period)
        ),
        false => format!(
            "the program ended {after}, and none of it could be sampled; what is known of the reason stands in the \
             notes."
        ),
    })
}

/// The number of processes that the first one started and that live on.
fn left_behind(profile: &Profile, first: &Process) -> usize {
    // If the end of a process was not seen, it is unknown whether it has left the others.
    let has_ended =
        |process: &Process| matches!(process.end, ProcessEnd::Exited(_) | ProcessEnd::Killed(_));
    let mut same = profile
        .processes
        .iter()
        .filter(|process| process.pid == first.pid);
    if !same.next_back().is_some_and(has_ended) {
        return 0;
    }
    let lives = |process: &&Process| process.pid != first.pid && process.end == ProcessEnd::Unknown;
    profile.processes.iter().filter(lives).count()
}

fn cpu<'a>(processes: impl Iterator<Item = &'a Process>) -> u64 {
    let times = processes
        .flat_map(|process| [process.user, process.system])
        .flatten();
    times.fold(0, |sum, time| sum.saturating_add(time.0))
}
