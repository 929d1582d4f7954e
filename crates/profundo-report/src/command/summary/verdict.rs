//! The verdict: the tables' findings in a few sentences, the most important one first.

use profundo_analysis::{
    Allocations, Cause, Place, Selection, Split, WaitRow, Whole, cpu_used, garbage, missing_beside,
};
use profundo_model::{Engine, FileId, Profile, SampleKind, State};

use super::Answers;
use super::waiting::{several, waited};
use crate::naming::Names;
use crate::naming::source::Source;
use crate::naming::weighs::Weighs;
use crate::page::units::{bytes, counted, duration};
use crate::page::width::keep_head;

/// A line that has less does not stand out.
const HOT_LINE: f64 = 0.15;
/// A function that has less does not stand out.
const HOT_FUNCTION: f64 = 0.08;
/// System calls are named from here on.
const SYSTEM: f64 = 0.4;
/// Processes that are too short to be sampled.
const SHORT_PROCESSES: f64 = 0.3;
/// The collection of garbage is named from here on.
const GARBAGE: f64 = 0.15;
/// A program that uses the CPU for less of its time mostly waits.
const BUSY: f64 = 0.5;
/// A wait that takes less of the time is not named.
const LONG_WAIT: f64 = 0.3;
/// Less of the threads' time than this has no sentence, where the rest waits.
const LITTLE_WORK: f64 = 0.05;
/// Shorter programs have no time to wait.
const SHORT: u64 = 200_000_000;
/// The part of a line's text that is shown.
const TEXT: usize = 60;

/// The sentences.
pub(super) fn verdict(
    profile: &Profile,
    selection: &Selection,
    answers: &Answers<'_>,
    names: &Names<'_>,
) -> Vec<String> {
    let split = selection.split(profile);
    let work = split.sum().saturating_sub(split.waiting);
    let counted = cpu_used(profile)
        .filter(|_| selection.is_whole(profile))
        .map(|(cpu, _)| cpu.0)
        .filter(|&cpu| cpu > 0);
    // Where much was not sampled, the share is one of what was.
    let cpu = counted.filter(|&cpu| (work as f64 / cpu as f64 - 1.0).abs() < 0.05);
    let findings = Findings {
        profile,
        names,
        split,
        work,
        at_least: match is_much_unread(profile, selection) {
            true => "At least ",
            false => "",
        },
        cpu,
        is_other: cpu.is_none() && counted.is_some(),
    };
    let mut sentences = Vec::new();
    let waits = findings.waits(selection, &answers.waits);
    let is_idle = waits.is_some()
        && (waited(&answers.waits) > work || split.waiting == 0 && !findings.is_busy());
    // Where hardly any time was on the CPU, its lines are no finding.
    let is_work = (work as f64) >= LITTLE_WORK * split.sum() as f64;
    if is_work && work > 0 && !selection.is_few(profile) {
        sentences.extend(findings.hot(answers));
        sentences.extend(findings.short_processes(selection));
        sentences.extend(findings.system());
        sentences.extend(findings.garbage(selection));
    }
    match is_idle {
        true => sentences.splice(0..0, waits).for_each(drop),
        false => sentences.extend(waits),
    }
    if let Some(found) = &answers.allocations {
        sentences.extend(findings.memory(found));
        // A leak is the most important finding.
        if let Some(leak) = findings.leak(found) {
            sentences.insert(0, leak);
        }
    }
    sentences
}

/// True if so much of the time could not be read that a share may be far too small.
fn is_much_unread(profile: &Profile, selection: &Selection) -> bool {
    const MUCH: f64 = 0.15;
    let missing = missing_beside(profile, Whole::Cpu, selection);
    missing.is_some_and(|missing| {
        let unread = missing
            .causes
            .iter()
            .filter(|(cause, _)| *cause != Cause::Missed);
        missing.share(unread.map(|(_, part)| part).sum()) > MUCH
    })
}

/// Whether another tool has measured elapsed time: how much of it was spent on a CPU is not known.
fn is_elapsed_elsewhere(profile: &Profile) -> bool {
    // A store has waits beside CPU time, where its profiles are our own.
    let has_waits = || {
        let mut samples = profile.samples.iter();
        profile.meta.question.is_some() && samples.any(|one| one.state == State::WallWaiting)
    };
    profile.meta.engine == Engine::Unknown && profile.meta.kind == SampleKind::Wall && !has_waits()
}

struct Findings<'a> {
    profile: &'a Profile,
    names: &'a Names<'a>,
    split: Split,
    /// The time on the CPU that was sampled.
    work: u64,
    /// The words before a share that may be larger, because much could not be read.
    at_least: &'static str,
    /// The CPU time that the kernel counted, where that is known and all samples are selected.
    cpu: Option<u64>,
    /// Whether the kernel counted much more or less than was sampled.
    is_other: bool,
}

impl Findings<'_> {
    fn share(&self, weight: u64) -> f64 {
        weight as f64 / self.work.max(1) as f64
    }

    /// `67 % of 20.8 s CPU time`. The whole is the one in the head of the page, where all samples
    /// are selected.
    fn percent_of_work(&self, share: f64) -> String {
        let (of, all) = match Weighs::of(self.profile) {
            Weighs::Traced => ("in function calls", self.work),
            weighs @ Weighs::Events { .. } => {
                let whole = match &self.profile.meta.event[..] {
                    "" => weighs.whole(),
                    event => event,
                };
                let all = weighs.text(self.work);
                return format!("{:.0} % of {all} {whole}", share * 100.0);
            }
            _ if is_elapsed_elsewhere(self.profile) => ("elapsed time of threads", self.work),
            _ if self.is_other => ("sampled CPU time", self.work),
            _ => ("CPU time", self.cpu.unwrap_or(self.work)),
        };
        format!("{:.0} % of {} {of}", share * 100.0, duration(all))
    }

    /// The line that takes most; where none stands out, the function.
    fn hot(&self, answers: &Answers<'_>) -> Option<String> {
        let on_cpu = |split: &Split| split.sum() - split.waiting;
        let lines = answers.lines.iter();
        let hottest = lines.max_by_key(|(_, row)| on_cpu(&row.own_amount.split));
        if let Some((file, row)) = hottest {
            let split = &row.own_amount.split;
            let share = self.share(on_cpu(split));
            if share >= HOT_LINE {
                let text = self.text(*file, row.line);
                return Some(format!(
                    "{}{} is spent in line {} of {}{}{text}.",
                    self.at_least,
                    self.percent_of_work(share),
                    row.line,
                    self.names.file(*file),
                    mostly(split),
                ));
            }
        }
        let functions = answers.functions.iter();
        let row = functions
            .filter(|row| matches!(row.place, Place::Frame(_)))
            // A reason why there is no function.
            .filter(|row| !self.names.function(row.place).starts_with('['))
            .max_by_key(|row| on_cpu(&row.own_amount.split))?;
        let split = &row.own_amount.split;
        let share = self.share(on_cpu(split));
        let name = self.names.function(row.place);
        let at = match self.names.at(row.place) {
            at if at.is_empty() => String::new(),
            at => format!(" ({at})"),
        };
        Some(match share >= HOT_FUNCTION {
            true => format!(
                "{}{} is spent in the function {name}{at} itself{}.",
                self.at_least,
                self.percent_of_work(share),
                mostly(split)
            ),
            false => format!(
                "No line or function stands out: the hottest function, {name}{at}, has {}.",
                self.percent_of_work(share)
            ),
        })
    }

    /// True if the program used the CPU for most of its time, as far as that is known.
    fn is_busy(&self) -> bool {
        let wall = self.profile.meta.duration.0 as f64;
        cpu_used(self.profile).is_none_or(|(cpu, _)| cpu.0 as f64 >= BUSY * wall)
    }

    fn text(&self, file: FileId, line: u32) -> String {
        let source = Source::of(self.profile, file, false);
        let text = source.line(self.profile, file, line);
        match text.map(str::trim) {
            Some(text) if !text.is_empty() => format!(": `{}`", keep_head(text, TEXT)),
            _ => String::new(),
        }
    }

    /// The kernel's count of processes that ended before their first sample.
    fn short_processes(&self, selection: &Selection) -> Option<String> {
        let settled = self.profile.meta.settled?;
        let stacks = selection.stacks(self.profile).iter();
        let too_short = stacks.filter(|stack| Some(stack.stack) == settled.too_short);
        let weight: u64 = too_short.map(|stack| stack.weight).sum();
        let share = self.share(weight);
        (share >= SHORT_PROCESSES).then(|| {
            format!(
                "Processes that are too short to be sampled take {:.0} % of it.",
                share * 100.0
            )
        })
    }

    fn system(&self) -> Option<String> {
        let share = self.share(self.split.system);
        (share >= SYSTEM).then(|| format!("System calls take {:.0} % of it.", share * 100.0))
    }

    fn garbage(&self, selection: &Selection) -> Option<String> {
        let share = self.share(garbage(self.profile, selection));
        (share >= GARBAGE)
            .then(|| format!("Garbage collection takes {:.0} % of it.", share * 100.0))
    }

    /// The places where threads wait; or that they do, where the places were not recorded.
    fn waits(&self, selection: &Selection, rows: &[WaitRow]) -> Option<String> {
        let profile = self.profile;
        let wall = profile.meta.duration.0;
        if self.split.waiting > 0 {
            let row = rows.iter().find(|row| !row.is_idle)?;
            if (row.weight as f64) < LONG_WAIT * wall as f64 {
                return None;
            }
            let at = row.at.map(|at| self.names.at(at)).unwrap_or_default();
            let at = match at.is_empty() {
                true => String::new(),
                false => format!(" in {at}"),
            };
            let several = several(profile, row, self.names);
            let what = row.what.map_or("", |what| self.names.function(what));
            let what = several.as_deref().unwrap_or(what);
            let what = match what.trim_matches(['[', ']']) {
                "" => String::new(),
                what => format!(": {what}"),
            };
            let comma = if at.is_empty() { "" } else { "," };
            let time = duration(row.weight);
            return Some(match row.threads {
                1 => format!("One thread waited {time}{at}{what}."),
                several => format!("{several} threads waited, {time} in sum{comma}{at}{what}."),
            });
        }
        let is_sampled = profile.meta.kind == SampleKind::Cpu && selection.is_whole(profile);
        let (cpu, _) = cpu_used(profile)?;
        (is_sampled && !self.is_busy() && wall >= SHORT).then(|| {
            format!(
                "The program used the CPU for only {} of {}: it waited, or other programs had the CPU (`--wall` shows which).",
                duration(cpu.0),
                duration(wall)
            )
        })
    }

    /// A line, or a function where there is none.
    fn place(&self, place: Place) -> String {
        let at = self.names.at(place);
        match at.contains(':') {
            true => at,
            false => self.names.function(place).to_owned(),
        }
    }

    /// The places of allocations, the most that was in use at once, and leaks.
    fn memory(&self, found: &Allocations) -> Option<String> {
        let allocated = found.total.allocated.bytes();
        if allocated.value == 0 {
            return None;
        }
        let mut text = match allocated.is_exact() {
            true => format!("{} of memory was allocated", bytes(allocated.value)),
            false => format!("About {} of memory was allocated", bytes(allocated.value)),
        };
        let most = found.lines.first();
        let most = most
            .filter(|row| row.held.allocated.bytes().value.saturating_mul(2) >= allocated.value);
        if let Some(at) = most.and_then(|row| row.of) {
            text += &format!(", most of it in {}", self.place(at));
        }
        let peak = found.peaks.iter().map(|peak| peak.held.bytes());
        // Other tools' files may not have it.
        let peak = peak.max_by_key(|bytes| bytes.value);
        if let Some(peak) = peak.filter(|peak| peak.value > 0) {
            let about = if peak.is_exact() { "" } else { "about " };
            text += &format!("; at most {about}{} was in use at once", bytes(peak.value));
        }
        text.push('.');
        Some(text)
    }

    /// The blocks at the end that no pointer leads to.
    fn lost(&self, found: &Allocations) -> Option<String> {
        /// Libraries leave less than this on purpose.
        const LITTLE: u64 = 100_000;
        let row = *super::allocs::unreachable(found).first()?;
        let lost = &row.held.unreachable;
        let at = row
            .of
            .map_or(String::new(), |at| format!(" in {}", self.place(at)));
        (lost.bytes().value >= LITTLE).then(|| {
            let about = if lost.bytes().is_exact() { "" } else { "about " };
            format!(
                "Memory leaks{at}: at the end, no pointer led to {about}{} in {about}{} from there.",
                bytes(lost.bytes().value),
                counted(lost.count().value, "block")
            )
        })
    }

    fn leak(&self, found: &Allocations) -> Option<String> {
        let Some(leak) = found.leaks.first() else {
            return self.lost(found);
        };
        let at = (leak.of).map_or(String::new(), |at| format!(" in {}", self.place(at)));
        let (leaked, rate) = (leak.bytes.value, leak.rate.max(0.0).round() as u64);
        let mut lines = found.lines.iter();
        let line = lines.find(|row| row.of == leak.of);
        let live = line.map_or(0, |row| row.held.live.bytes().value);
        Some(format!(
            "Memory seems to leak{at}: {} from there were not freed while the program ran, about {} more each second.",
            bytes(live.max(leaked)),
            bytes(rate)
        ))
    }
}

/// The kind that most of the time was of, if there is one.
fn mostly(split: &Split) -> String {
    let all = (split.sum() - split.waiting).max(1) as f64;
    let kinds = [
        (split.python, "Python"),
        (split.native, "native code"),
        (split.system, "system calls"),
    ];
    let largest = kinds.into_iter().max_by_key(|(weight, _)| *weight);
    match largest.map(|(weight, name)| (weight as f64 / all, name)) {
        Some((share, name)) if share >= 0.9 => format!(", nearly all in {name}"),
        Some((share, name)) if share >= 0.6 => format!(", mostly in {name}"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_is_named_only_where_it_has_most() {
        let split = |python, native, waiting| Split {
            python,
            native,
            waiting,
            ..Split::default()
        };
        assert_eq!(mostly(&split(95, 5, 0)), ", nearly all in Python");
        assert_eq!(mostly(&split(30, 70, 900)), ", mostly in native code");
        assert_eq!(mostly(&split(50, 50, 0)), "");
        assert_eq!(mostly(&split(0, 0, 9)), "");
    }
}
