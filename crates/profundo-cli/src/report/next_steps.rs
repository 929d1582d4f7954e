//! The commands to try after a report.

use std::path::Path;

use profundo_analysis::{Whole, has_allocations, missing_of};
use profundo_model::{Engine, Language, ProcessEnd, Profile, SampleKind, State, StringId, Tracing};
use profundo_report::NextStep;

use super::is_untimed;
use crate::recordings::meant;

/// A recording that would show more, and what it would show.
fn better_recording(profile: &Profile) -> Option<NextStep> {
    /// Below this share of the elapsed time the CPU was hardly used.
    const BUSY: f64 = 0.5;
    /// In shorter runs nothing waits for long.
    const SHORT: f64 = 0.2e9;
    /// Fewer samples say little.
    const FEW: u64 = 100;
    /// With this period or a longer one, sampling from outside misses threads that live for some
    /// milliseconds only.
    const COARSE: u64 = 1_500_000;
    let meta = &profile.meta;
    let wall = meta.duration.0 as f64;
    let (user, system) = profile.cpu_used()?;
    let cpu = user.0.saturating_add(system.0) as f64;
    let is_traced = !profile.traced.is_empty() || profile.traced.tracing != Tracing::Unknown;
    if meta.kind != SampleKind::Cpu || is_traced {
        return None;
    }
    if let Some(process) = attached(profile) {
        let seconds = (wall / 1e9).round().max(1.0);
        let command_with =
            |option: &str| format!("profundo attach {process} -d {seconds} {option}");
        let misses_much =
            missing_of(profile, Whole::Cpu).is_some_and(|missing| missing.is_grave(meta.period.0));
        let is_coarse = meta.period.0 >= COARSE && (misses_much || profile.samples_taken() < FEW);
        return (is_coarse && cpu > 1e6)
            .then(|| NextStep::new(command_with("-r 1000"), "more samples"));
    }
    let command_with = |option: &str| format!("profundo run {option} -- {}", command_of(profile));
    let mut samples = profile.samples.iter();
    let waits = samples.any(|sample| sample.state == State::WallWaiting);
    match profile.samples_taken() {
        _ if meta.engine == Engine::PerfRing => None,
        _ if wall > SHORT && cpu < BUSY * wall && !waits => {
            Some(NextStep::new(command_with("--wall"), "what it waits for"))
        }
        few if few < FEW && cpu > 1e6 => Some(NextStep::new(
            command_with("-r 10000"),
            "ten times as many samples",
        )),
        _ => None,
    }
}

/// The process, if the recording is of one that ran on, sampled from outside.
fn attached(profile: &Profile) -> Option<u32> {
    let first = profile.processes.first()?;
    let runs_on = first.end == ProcessEnd::Unknown && profile.meta.engine == Engine::PerfRing;
    runs_on.then_some(first.pid)
}

/// The command line of a recording, or `CMD` for a long one.
fn command_of(profile: &Profile) -> String {
    const LONG: usize = 60;
    let first = profile.processes.first();
    let command = first.map_or("", |process| profile.strings.get(process.command));
    match command.len() {
        1..LONG => command.to_owned(),
        _ => "CMD".to_owned(),
    }
}

/// True if the line of any code is known, but for the interpreter's own.
fn has_lines(profile: &Profile) -> bool {
    let counted = !profile.traced.lines.is_empty();
    let mut frames = profile.frames.iter();
    counted || frames.any(|frame| frame.line > 0 && frame.language != Language::Runtime)
}

/// Commands to try next.
pub(super) fn next(recording: &Path, profile: &Profile) -> Vec<NextStep> {
    let is_newest = meant(None).is_ok_and(|newest| newest == recording);
    let path = recording.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    let path = match path.chars().all(plain) {
        true => path,
        false => format!("'{}'", path.replace('\'', "'\\''")),
    };
    // The newest recording needs no name.
    let path = match is_newest {
        true => String::new(),
        false => format!(" {path}"),
    };
    let report = |name: &str, shows| NextStep::new(format!("profundo report{path} {name}"), shows);
    let export = |to: &str, shows| NextStep::new(format!("profundo export{path} --to {to}"), shows);
    let traced = &profile.traced;
    let flame = NextStep::new(format!("profundo flame{path}"), "a picture for the browser");
    if is_untimed(profile) {
        return vec![
            report("trace", "how often each function was called"),
            match profile
                .processes
                .iter()
                .any(|process| process.runtime != StringId(0))
            {
                true => export("pstats", "a file for pstats and snakeviz"),
                false => export("callgrind", "a file for KCachegrind"),
            },
        ];
    }
    if profile.samples.is_empty() && !traced.lines.is_empty() {
        let mut steps = vec![
            report("lines", "how often each line ran"),
            export("lprof", "a file for line_profiler"),
        ];
        if !traced.exceptions.is_empty() {
            let shows = "the lines that raise and catch exceptions";
            steps.push(report("exceptions", shows));
        }
        return steps;
    }
    if traced.tracing == Tracing::Exceptions {
        return Vec::new();
    }
    // An empty count has no other report.
    if profile.samples.is_empty() && traced.is_empty() && traced.tracing != Tracing::Unknown {
        return Vec::new();
    }
    let mut steps = Vec::new();
    match profile.is_merged() {
        true if profile.meta.question.is_some() => {
            steps.push(report("spread", "how far hosts and versions differ"));
        }
        true => steps.push(report("spread", "how far the recordings differ")),
        false => steps.extend(better_recording(profile)),
    }
    if !traced.calls.is_empty() {
        steps.push(report("trace", "calls and time of each function"));
    }
    // Where lines were not counted, all time of calls stands at the first lines of functions. A
    // program without debug information has no lines.
    if traced.calls.is_empty() || !traced.lines.is_empty() {
        steps.push(match has_lines(profile) {
            true => report("lines", "the source, with a share on each line"),
            false => report("functions", "each function, with its share"),
        });
    }
    if has_allocations(profile) {
        steps.push(report("allocs", "who allocates memory, and who keeps it"));
    }
    steps.push(report("tree", "who called whom"));
    steps.push(flame);
    steps
}
