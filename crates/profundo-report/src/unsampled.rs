//! Why a recording has no samples, as far as it is known how the program ended and what it did.

use profundo_model::{Nanos, Process, ProcessEnd, Profile, SampleKind};

use crate::units::duration;
use crate::views::signal_name;

/// A part of the time that is so small is no work: the program waited.
const IDLE: u64 = 10;
/// Who waits for less than this, in nanoseconds, was only short.
const LONG: u64 = 100_000_000;

/// Who ran for so many periods was not too short for a sample.
const MANY: u64 = 20;

/// What became of the program that was recorded, and what to do about it; `None` if all that is known is that it
/// used little CPU time.
pub(crate) fn reason(profile: &Profile) -> Option<String> {
    let first = profile.processes.first()?;
    // A program that another one took the place of goes on in a later row.
    let mut same = profile.processes.iter().filter(|it| it.pid == first.pid);
    let last = same.next_back()?;
    let used = cpu(profile.processes.iter());
    let after = match used {
        // The kernel counts in ticks for who did not end by itself.
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
    // Who lives on was not short, however short the recording was.
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

/// How many processes live on that the first one started.
fn left_behind(profile: &Profile, first: &Process) -> usize {
    // Of one whose end nobody has seen it is not known whether it has left the others.
    let has_ended = |it: &Process| matches!(it.end, ProcessEnd::Exited(_) | ProcessEnd::Killed(_));
    let mut same = profile.processes.iter().filter(|it| it.pid == first.pid);
    if !same.next_back().is_some_and(has_ended) {
        return 0;
    }
    let lives = |it: &&Process| it.pid != first.pid && it.end == ProcessEnd::Unknown;
    profile.processes.iter().filter(lives).count()
}

fn cpu<'a>(processes: impl Iterator<Item = &'a Process>) -> u64 {
    let times = processes.flat_map(|it| [it.user, it.system]).flatten();
    times.fold(0, |sum, it| sum.saturating_add(it.0))
}
