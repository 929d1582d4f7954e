//! The head of the summary: what ran, for how long, and of what kinds its time is.

use std::io;

use profundo_analysis::palette::Hue;
use profundo_analysis::{Selection, cpu_used, garbage, totals};
use profundo_model::{Engine, Kind, ProcessId, Profile, Question, SampleKind};

use crate::Choices;
use crate::command::cpus::{cpus, part_of};
use crate::command::totals::{command, end};
use crate::command::{BOLD, GRAY, KindColumns};
use crate::naming::origins::write_merged;
use crate::naming::weighs::Weighs;
use crate::page::Page;
use crate::page::line::{Line, Style};
use crate::page::palette::Color;
use crate::page::units::{counted, duration, percent};
use crate::page::width::{keep_head, width};

/// A smaller share of garbage collection is not shown.
const MUCH_GARBAGE: f64 = 0.01;

/// Writes the program, its duration, and its end. Of a part of the recording it says so.
pub(super) fn write_head(
    page: &mut Page<'_>,
    choices: &Choices,
    selection: &Selection,
) -> io::Result<()> {
    let profile = page.profile;
    if let Some(question) = &profile.meta.question {
        return write_question(page, question, choices, selection);
    }
    let first = ProcessId(0);
    let mut line = Line::default();
    let main = main_program(profile, selection);
    let is_of_machine = profile.meta.is_of_machine;
    let name = match command(profile, main) {
        _ if is_of_machine => "Processes of the machine",
        "" => "The program",
        name => name,
    };
    line.push(&keep_head(name, page.columns), BOLD);
    page.line(&mut line)?;
    let begun_as = command(profile, first);
    write_merged(page)?;
    if main != first && !begun_as.is_empty() && !profile.is_merged() && !is_of_machine {
        let others = others(profile, main, selection);
        let columns = page
            .columns
            .saturating_sub("started by ".len() + width(&others));
        let begun_as = keep_head(begun_as, columns.max(20));
        line.push_fmt(format_args!("started by {begun_as}{others}"), GRAY);
        line.truncate(page.columns);
        page.line(&mut line)?;
    }
    let mut parts = Vec::new();
    let wall = profile.meta.duration.0;
    let part = part_of(choices, profile);
    if wall > 0 {
        parts.push(match part {
            Some(part) => format!("{} of {} wall", duration(part), duration(wall)),
            None => format!("{} wall", duration(wall)),
        });
    }
    let is_counted = profile.cpu_used().is_some();
    let cpu = cpu_used(profile).map(|(all, _)| all.0);
    let cpu = cpu.filter(|&cpu| cpu > 0 || is_counted);
    let weighs = Weighs::of(profile);
    let is_traced = weighs == Weighs::Traced;
    let is_events = matches!(weighs, Weighs::Events { .. });
    let cpu = cpu.or_else(|| {
        let split = selection.split(profile);
        // Another tool's elapsed time may be spent waiting, and its memory has no time at all.
        let is_cpu = profile.meta.engine != Engine::Unknown
            || profile.meta.kind == SampleKind::Cpu && !profile.samples.is_empty();
        (!is_traced && !is_events && is_cpu).then(|| split.sum().saturating_sub(split.waiting))
    });
    if let Some(cpu) = cpu {
        let mut used = format!("{} CPU", duration(cpu));
        let is_filtered = !choices.filter.is_nothing() && choices.filter.transforms.is_empty();
        if is_filtered && !is_traced {
            let split = selection.split(profile);
            let some = split.sum().saturating_sub(split.waiting);
            used = format!("{} of {used}", duration(some));
        } else if wall > 0 {
            used += &format!(" ({:.0} %)", cpu as f64 / wall as f64 * 100.0);
        }
        parts.push(used);
    }
    if is_events {
        let name = match &profile.meta.event[..] {
            "" => weighs.whole(),
            event => event,
        };
        parts.push(format!("{} {name}", selection.weight(profile)));
    }
    if is_traced {
        let (calls, time) = (selection.calls(profile), selection.weight(profile));
        parts.push(format!(
            "{} in {}",
            counted(calls, "function call"),
            duration(time)
        ));
    }
    parts.push(counted(profile.process_count() as u64, "process"));
    parts.push(threads(profile));
    let runtime = profile
        .processes
        .iter()
        .map(|process| profile.strings.get(process.runtime));
    if let Some(runtime) = runtime.into_iter().find(|runtime| !runtime.is_empty()) {
        parts.push(runtime.to_owned());
    }
    if let Some(end) = ended_badly(profile) {
        line.push(&end, Style::color(Color::Red));
        line.push(" · ", Style::PLAIN);
    }
    write_parts(page, line, &parts)
}

/// Writes figures after what stands in a line already, as far as there is room. The last ones
/// matter least.
fn write_parts(page: &mut Page<'_>, mut line: Line, parts: &[String]) -> io::Result<()> {
    for (at, part) in parts.iter().enumerate() {
        let separator = if at == 0 { "" } else { " · " };
        if at > 0 && line.width() + width(separator) + width(part) > page.columns {
            break;
        }
        line.push(separator, Style::PLAIN);
        line.push(part, Style::PLAIN);
    }
    line.truncate(page.columns);
    page.line(&mut line)
}

/// Writes what a store was asked, and how much there is of it.
fn write_question(
    page: &mut Page<'_>,
    question: &Question,
    choices: &Choices,
    selection: &Selection,
) -> io::Result<()> {
    let profile = page.profile;
    let mut line = Line::default();
    line.push(&keep_head(&question.title, page.columns), BOLD);
    page.line(&mut line)?;
    line.push(&keep_head(&question.rest, page.columns), GRAY);
    page.line(&mut line)?;
    let mut parts = Vec::new();
    let split = selection.split(profile);
    match profile.meta.kind {
        SampleKind::Cpu => {
            let cpu = split.sum().saturating_sub(split.waiting);
            let mut used = format!("{} CPU", duration(cpu));
            if let Some(cpus) = cpus(profile, choices, selection) {
                used += &match cpus {
                    few if few < 0.095 => format!(" ({few:.2} CPUs)"),
                    some if some < 9.95 => format!(" ({some:.1} CPUs)"),
                    many => format!(" ({many:.0} CPUs)"),
                };
            }
            parts.push(used);
        }
        SampleKind::Wall => parts.push(format!("{} of threads' time", duration(split.sum()))),
        _ => {}
    }
    parts.extend(question.from.iter().cloned());
    parts.push(counted(selection.taken(profile), "sample"));
    write_parts(page, line, &parts)
}

/// The bad end of the program, or of the first of those programs that were merged.
fn ended_badly(profile: &Profile) -> Option<String> {
    let programs = profile.programs();
    let mut firsts = vec![ProcessId(0)];
    if profile.is_merged() {
        let mut met = vec![false; profile.origins.len()];
        let ids = (0..profile.processes.len()).map(ProcessId::from_index);
        let is_first = |id: &ProcessId| {
            let origin = profile.origin_of(*id);
            origin.is_some_and(|origin| !std::mem::replace(&mut met[origin.index()], true))
        };
        firsts = ids.filter(is_first).collect();
    }
    let end_of = |&first: &ProcessId| {
        let last = profile.processes.get(programs.last(first).index());
        last.and_then(|process| end(process.end))
    };
    let ends: Vec<String> = firsts.iter().filter_map(end_of).collect();
    let end = ends.first()?.clone();
    Some(match firsts.len() {
        1 => end,
        all => format!("{end} ({} of {all} recordings)", ends.len()),
    })
}

/// The number of processes besides the program's, and their share.
fn others(profile: &Profile, main: ProcessId, selection: &Selection) -> String {
    let programs = profile.programs();
    let totals = totals(profile, selection);
    let of_main = |id| programs.first(id) == programs.first(main);
    let others = totals
        .processes
        .iter()
        .filter(|total| !of_main(total.process));
    let (count, weight) = others.fold((0, 0), |(count, weight), total| {
        (count + 1, weight + total.amount.weight)
    });
    let share = weight as f64 / selection.weight(profile).max(1) as f64 * 100.0;
    match count {
        0 => String::new(),
        1 => format!(" · 1 other process, {share:.0} % of the time"),
        several => format!(" · {several} other processes, {share:.0} % of the time"),
    }
}

/// The program that has most of the time, if it has more than half; otherwise the one that was
/// started.
fn main_program(profile: &Profile, selection: &Selection) -> ProcessId {
    let totals = totals(profile, selection);
    let all = selection.weight(profile);
    let programs = totals.processes.iter().flat_map(|total| &total.programs);
    let most = programs.max_by_key(|program| program.amount.weight);
    match most {
        Some(most) if most.amount.weight > all / 2 => most.program,
        _ => ProcessId(0),
    }
}

/// The number of threads. An engine that samples from outside knows only those that ran.
fn threads(profile: &Profile) -> String {
    let number = counted(profile.thread_count() as u64, "thread");
    let programs = profile.programs();
    let mut has_thread = vec![false; profile.processes.len()];
    for (_, thread) in profile.threads.iter() {
        if let Some(has) = has_thread.get_mut(programs.first(thread.process).index()) {
            *has = true;
        }
    }
    let mut firsts = (0..has_thread.len()).map(ProcessId::from_index);
    let is_missing = |id: ProcessId| programs.first(id) == id && !has_thread[id.index()];
    let is_outside = matches!(profile.meta.engine, Engine::PerfRing | Engine::ProcPoll);
    match is_outside && firsts.any(is_missing) {
        true => format!("{number} that ran"),
        false => number,
    }
}

/// Writes a bar of the kinds of time, told apart by their filling too.
pub(super) fn write_kinds(
    page: &mut Page<'_>,
    selection: &Selection,
    kinds: KindColumns,
) -> io::Result<()> {
    let profile = page.profile;
    let shares = selection.split(profile).shares(selection.weight(profile));
    let parts = Kind::ALL.map(|kind| (Hue::from(kind), shares.of(kind)));
    let words = |share: f64, hue: Hue| {
        let share = percent(share);
        let share = if share.is_empty() { "0" } else { &share };
        format!(" {} {share} %", hue.name())
    };
    let known = (0..parts.len()).filter(|&at| kinds.is_known(at));
    let labels: Vec<(Hue, String)> = known
        .map(|at| (parts[at].0, words(parts[at].1, parts[at].0)))
        .collect();
    // All parts are to be seen, and so what they add up to.
    let taken: usize = labels.iter().map(|(_, words)| 3 + width(words)).sum();
    let columns = page.columns.saturating_sub(taken).clamp(5, 30) as f64;
    let mut line = Line::default();
    let (mut upto, mut done) = (0.0, 0);
    for (hue, share) in parts {
        upto += share;
        let end = (upto * columns).round() as usize;
        let part: String = std::iter::repeat_n(hue.tint().sign, end - done).collect();
        line.push(&part, Style::hue(hue));
        done = end;
    }
    for (hue, words) in labels {
        line.push_spaces(2);
        line.push(hue.tint().sign.encode_utf8(&mut [0; 4]), Style::hue(hue));
        line.push(&words, Style::PLAIN);
    }
    let garbage = garbage(profile, selection) as f64 / selection.weight(profile).max(1) as f64;
    if garbage >= MUCH_GARBAGE {
        let text = format!("  of it garbage collection {} %", percent(garbage));
        // The end of the text is its most important part.
        if line.width() + width(&text) > page.columns {
            line.truncate(page.columns);
            page.line(&mut line)?;
        }
        line.push(&text, Style::hue(Hue::Garbage));
    }
    line.truncate(page.columns);
    page.line(&mut line)
}
