//! The tables of processes and of threads.

use std::io;

use profundo_analysis::{Amount, Selection, Totals, command_name};
use profundo_model::{Engine, ProcessEnd, ProcessId, Profile, Programs};

use super::{BOLD, FEW, GRAY, KindColumns, heat};
use crate::json::Json;
use crate::line::{Line, Style};
use crate::palette::Color;
use crate::printer::Page;
use crate::units::{counted, duration, percent, share_title};
use crate::weighs::Weighs;
use crate::width::keep_head;

/// How wide a duration is.
const DURATION: usize = 11;

/// Which rows a table has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rows {
    /// How many at most.
    pub most: usize,
    /// The least share of a row. Where none has it, or but one is without it, all are shown.
    pub least: f64,
    /// The whole of the shares.
    pub all: u64,
}

impl Rows {
    /// Those that are shown, and those that are not. They are in order, the largest first.
    fn split<T>(self, rows: &[T], amount: fn(&T) -> Amount) -> (&[T], &[T]) {
        let is_large = |row: &T| share_of(&amount(row), self.all) >= self.least;
        let large = rows.iter().take_while(|row| is_large(row)).count();
        let shown = match large {
            0 => rows.len(),
            large if large + 1 == rows.len() => rows.len(),
            large => large,
        };
        rows.split_at(shown.min(self.most))
    }
}

/// Writes the table of processes.
pub(super) fn write_processes(
    page: &mut Page<'_>,
    totals: &Totals,
    kinds: KindColumns,
    rows: Rows,
) -> io::Result<()> {
    let profile = page.profile;
    let is_traced = Weighs::of(profile) == Weighs::Traced;
    let mut line = Line::default();
    push_titles(&mut line, kinds, false, profile, "Process");
    page.line(&mut line)?;
    let programs = profile.programs();
    let (shown, others) = rows.split(&totals.processes, |it| it.amount);
    for total in shown {
        let process = &profile.processes[total.process.index()];
        let cpu = match (total.user, total.system) {
            _ if is_traced => total.amount.weight,
            (None, None) => total.amount.weight - total.amount.split.waiting,
            (user, system) => user.unwrap_or_default().0 + system.unwrap_or_default().0,
        };
        push_numbers(&mut line, kinds, cpu, &total.amount, rows.all);
        line.push_fmt(format_args!("{} ", process.pid), Style::PLAIN);
        line.push_spaces(2 * depth(profile, &programs, total.process));
        let mut parts = Vec::new();
        // The copy of its parent that a fork has made is no program of its own.
        let first = &profile.processes[programs.first(total.process).index()];
        let ran = total.programs.len() - usize::from(first.parent.is_some());
        if ran > 1 {
            parts.push(format!("{ran} programs"));
        }
        if total.threads != 1 {
            parts.push(format!("{} threads", total.threads));
        }
        let threads = match parts.is_empty() {
            true => String::new(),
            false => format!("  ({})", parts.join(", ")),
        };
        let end = end(process.end).map_or(String::new(), |end| format!("  {end}"));
        // A command line may be endless; what follows it must be seen.
        let room = page
            .columns
            .saturating_sub(line.width() + threads.len() + end.len());
        let command = command(profile, total.process);
        line.push(&keep_head(command, room.max(20)), Style::PLAIN);
        line.push(&threads, GRAY);
        line.push(&end, Style::color(Color::Red));
        line.truncate(page.columns);
        page.line(&mut line)?;
    }
    let others = others.iter().map(|it| it.amount).collect();
    write_rest(page, others, "process", kinds, rows)
}

/// Writes the table of commands: all processes that ran a program of one name are one row.
pub(super) fn write_commands(
    page: &mut Page<'_>,
    totals: &Totals,
    kinds: KindColumns,
    rows: Rows,
) -> io::Result<()> {
    let profile = page.profile;
    let mut line = Line::default();
    push_titles(&mut line, kinds, false, profile, "Command");
    page.line(&mut line)?;
    let (shown, others) = rows.split(&totals.commands, |it| it.amount);
    for total in shown {
        let cpu = total.amount.weight - total.amount.split.waiting;
        push_numbers(&mut line, kinds, cpu, &total.amount, rows.all);
        let name = match command_name(profile, total.first) {
            "" => "[unknown program]",
            name => name,
        };
        line.push(&keep_head(name, page.columns), Style::PLAIN);
        match total.processes {
            0 => line.push("  (replaced by exec)", GRAY),
            1 => {}
            several => line.push_fmt(format_args!("  ({several} processes)"), GRAY),
        }
        line.truncate(page.columns);
        page.line(&mut line)?;
    }
    let others = others.iter().map(|it| it.amount).collect();
    write_rest(page, others, "command", kinds, rows)
}

/// Writes the table of threads.
pub(super) fn write_threads(
    page: &mut Page<'_>,
    totals: &Totals,
    kinds: KindColumns,
    rows: Rows,
) -> io::Result<()> {
    let profile = page.profile;
    let is_traced = Weighs::of(profile) == Weighs::Traced;
    // From outside, waits for the lock are not measured.
    let is_outside = matches!(profile.meta.engine, Engine::PerfRing | Engine::ProcPoll);
    let mut gil_waits = totals.threads.iter().filter_map(|total| total.gil_wait);
    let waits = gil_waits.any(|wait| wait.0 > 0 || !is_outside);
    let mut line = Line::default();
    push_titles(&mut line, kinds, waits, profile, "Thread");
    page.line(&mut line)?;
    let (shown, others) = rows.split(&totals.threads, |it| it.amount);
    for total in shown {
        let thread = profile.threads.get(total.thread);
        let busy = total.amount.weight - total.amount.split.waiting;
        let cpu = match total.cpu {
            // Where the processes have the kernel's count, threads have their parts of that.
            Some(cpu) if !is_traced && profile.meta.settled.is_none() => cpu.0,
            _ => busy,
        };
        push_numbers(&mut line, kinds, cpu, &total.amount, rows.all);
        if waits {
            let wait = total.gil_wait.map_or(String::new(), |it| duration(it.0));
            let style = match (total.gil_wait, total.alive) {
                (Some(wait), Some(alive)) if wait.0 * 5 > alive.0 => Style::color(Color::Yellow),
                _ => Style::PLAIN,
            };
            line.push_fmt(format_args!("{wait:>DURATION$}  "), style);
        }
        line.push_fmt(format_args!("#{} ", thread.number), Style::PLAIN);
        line.push(profile.strings.get(thread.name), Style::PLAIN);
        if totals.processes.len() > 1 {
            let pid = profile.processes[thread.process.index()].pid;
            line.push_fmt(format_args!("  (process {pid})"), GRAY);
        }
        line.truncate(page.columns);
        page.line(&mut line)?;
    }
    let others = others.iter().map(|it| it.amount).collect();
    write_rest(page, others, "thread", kinds, rows)
}

fn push_titles(line: &mut Line, kinds: KindColumns, waits: bool, profile: &Profile, what: &str) {
    // Calls may be measured by another clock.
    let time = match Weighs::of(profile) {
        Weighs::Traced => "Time",
        _ => "CPU",
    };
    let title = share_title("Time %", kinds.few.is_some());
    let width = if kinds.few.is_some() { FEW } else { 6 };
    line.push_fmt(format_args!("{title:<width$}{time:>DURATION$}"), BOLD);
    kinds.push_titles(line, BOLD);
    line.push_spaces(2);
    if waits {
        line.push_fmt(format_args!("{:>DURATION$}  ", "GIL wait"), BOLD);
    }
    line.push(what, BOLD);
}

fn push_numbers(line: &mut Line, kinds: KindColumns, cpu: u64, amount: &Amount, all: u64) {
    push_part(line, kinds, amount, all, heat(share_of(amount, all)));
    line.push_fmt(format_args!("{:>DURATION$}", duration(cpu)), Style::PLAIN);
    kinds.push(line, amount.split.shares(all));
    line.push_spaces(2);
}

fn share_of(amount: &Amount, all: u64) -> f64 {
    amount.weight as f64 / all.max(1) as f64
}

/// Adds the part that an amount is.
fn push_part(line: &mut Line, kinds: KindColumns, amount: &Amount, all: u64, style: Style) {
    match kinds.few {
        Some(whole) => {
            let text = format!("{} of {whole}", amount.samples);
            line.push_fmt(format_args!("{text:<FEW$}"), style);
        }
        None => {
            let text = percent(share_of(amount, all));
            line.push_fmt(format_args!("{text:>6}"), style);
        }
    }
}

/// Writes what the rows take that are not shown.
fn write_rest(
    page: &mut Page<'_>,
    others: Vec<Amount>,
    noun: &str,
    kinds: KindColumns,
    rows: Rows,
) -> io::Result<()> {
    if others.is_empty() {
        return Ok(());
    }
    let mut sum = Amount::default();
    for amount in &others {
        sum += *amount;
    }
    let mut line = Line::default();
    push_part(&mut line, kinds, &sum, rows.all, GRAY);
    line.push_fmt(format_args!("{:>DURATION$}", duration(sum.weight)), GRAY);
    kinds.push(&mut line, sum.split.shares(rows.all));
    let more = counted(others.len() as u64, &format!("more {noun}"));
    line.push_fmt(format_args!("  {more}"), GRAY);
    line.truncate(page.columns);
    page.line(&mut line)
}

/// The process that started a process, whatever programs they were then.
fn parent(profile: &Profile, programs: &Programs, process: ProcessId) -> Option<ProcessId> {
    let parent = profile
        .processes
        .get(programs.first(process).index())?
        .parent;
    parent.map(|parent| programs.last(parent))
}

/// How many of a process's ancestors are in the recording.
fn depth(profile: &Profile, programs: &Programs, process: ProcessId) -> usize {
    const DEEPEST: usize = 8;
    let parent = |id: &ProcessId| parent(profile, programs, *id);
    std::iter::successors(parent(&process), parent)
        .take(DEEPEST)
        .count()
}

/// The command line of a process.
pub(super) fn command(profile: &Profile, process: ProcessId) -> &str {
    let command = profile.processes.get(process.index());
    command.map_or("", |process| profile.strings.get(process.command))
}

/// How a process ended, where it is worth a word.
pub(super) fn end(end: ProcessEnd) -> Option<String> {
    match end {
        ProcessEnd::Exited(code) if code != 0 => Some(format!("exited with {code}")),
        ProcessEnd::Killed(signal) => Some(format!("killed by {}", signal_name(signal))),
        _ => None,
    }
}

pub(crate) fn signal_name(signal: u8) -> String {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        _ => return format!("signal {signal}"),
    };
    name.to_owned()
}

/// Writes both tables.
pub(super) fn members(
    json: &mut Json<'_>,
    profile: &Profile,
    totals: &Totals,
    selection: &Selection,
) {
    let (all, mass) = (selection.weight(profile), selection.mass(profile));
    let amount = |json: &mut Json<'_>, amount: &Amount| {
        super::json::share_members(json, "", &amount.share(mass), amount, all);
    };
    let programs = profile.programs();
    json.array("processes", |json| {
        for total in &totals.processes {
            let process = &profile.processes[total.process.index()];
            json.row("", |json| {
                json.number("process", u64::from(total.process.0));
                json.number("pid", u64::from(process.pid));
                json.text("command", profile.strings.get(process.command));
                let parent = parent(profile, &programs, total.process);
                json.number_or_null("parent", parent.map(|it| u64::from(it.0)));
                json.text_or_null("runtime", profile.strings.get(process.runtime));
                let first = &profile.processes[programs.first(total.process).index()];
                json.seconds("started_seconds", first.started.map(|it| it.0));
                json.seconds("ended_seconds", process.ended.map(|it| it.0));
                let (exit_code, signal) = match process.end {
                    ProcessEnd::Exited(code) => (Some(code), None),
                    ProcessEnd::Killed(signal) => (None, Some(signal)),
                    _ => (None, None),
                };
                json.number_or_null("exit_code", exit_code.map(u64::from));
                json.number_or_null("signal", signal.map(u64::from));
                json.seconds("user_seconds", total.user.map(|it| it.0));
                json.seconds("system_seconds", total.system.map(|it| it.0));
                json.number("threads", total.threads);
                json.array("former_programs", |json| {
                    let before = total.programs.len().saturating_sub(1);
                    for part in &total.programs[..before] {
                        let program = &profile.processes[part.program.index()];
                        json.row("", |json| {
                            json.number("process", u64::from(part.program.0));
                            json.text("command", profile.strings.get(program.command));
                            json.seconds("user_seconds", program.user.map(|it| it.0));
                            json.seconds("system_seconds", program.system.map(|it| it.0));
                            amount(json, &part.amount);
                        });
                    }
                });
                amount(json, &total.amount);
            });
        }
    });
    json.array("commands", |json| {
        for total in &totals.commands {
            json.row("", |json| {
                json.text("command", command_name(profile, total.first));
                json.number("processes", total.processes);
                amount(json, &total.amount);
            });
        }
    });
    json.array("threads", |json| {
        for total in &totals.threads {
            let thread = profile.threads.get(total.thread);
            json.row("", |json| {
                json.number("thread", thread.number);
                json.number("tid", u64::from(thread.tid));
                json.text_or_null("name", profile.strings.get(thread.name));
                json.number("process", u64::from(thread.process.0));
                json.seconds("alive_seconds", total.alive.map(|it| it.0));
                json.seconds("cpu_seconds", total.cpu.map(|it| it.0));
                json.seconds("gil_wait_seconds", total.gil_wait.map(|it| it.0));
                amount(json, &total.amount);
            });
        }
    });
}
