//! The columns of the tables of processes, of commands and of threads.

use profundo_analysis::{
    Amount, CommandTotal, Mass, ProcessTotal, ThreadTotal, Totals, command_name,
};
use profundo_model::{Engine, ProcessEnd, ProcessId, Profile, Programs};

use super::{command, end};
use crate::command::shares::{FEW, GRAY, KindColumns, heat};
use crate::json::{Json, share_members};
use crate::naming::weighs::Weighs;
use crate::page::line::{Line, Style};
use crate::page::palette::Color;
use crate::page::units::{counted, duration, percent, share_title};
use crate::page::width::keep_head;
use crate::table::{Column, Table};

/// The width of a duration.
const DURATION: usize = 11;

/// A row: a process, a command or a thread, or what the rows take that are not shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part<'a, T> {
    amount: Amount,
    /// The CPU time on the screen.
    cpu: u64,
    of: Of<'a, T>,
}

#[derive(Debug, Clone, Copy)]
enum Of<'a, T> {
    One(&'a T),
    Rest(u64, &'static str),
}

impl<'a, T> Part<'a, T> {
    fn one(of: &'a T, amount: Amount, cpu: u64) -> Self {
        let of = Of::One(of);
        Self { amount, cpu, of }
    }

    /// The sum of these rows, if there are any.
    pub(super) fn rest(
        others: impl ExactSizeIterator<Item = Self>,
        noun: &'static str,
    ) -> Option<Self> {
        let of = Of::Rest(others.len() as u64, noun);
        let (mut amount, mut cpu) = (Amount::default(), 0);
        let is_some = others.len() > 0;
        for other in others {
            amount += other.amount;
            cpu += other.cpu;
        }
        is_some.then_some(Self { amount, cpu, of })
    }

    /// The subject of the row, unless it is the rest.
    fn total(&self) -> Option<&'a T> {
        match self.of {
            Of::One(total) => Some(total),
            Of::Rest(..) => None,
        }
    }
}

/// The facts that all rows share.
pub(super) struct Known<'a> {
    profile: &'a Profile,
    totals: &'a Totals,
    programs: Programs,
    kinds: KindColumns,
    /// The weight of the whole.
    all: u64,
    mass: Mass,
    is_traced: bool,
    /// True if any thread waited for the interpreter's lock.
    has_gil_waits: bool,
}

impl<'a> Known<'a> {
    pub(super) fn new(
        profile: &'a Profile,
        totals: &'a Totals,
        kinds: KindColumns,
        all: u64,
    ) -> Self {
        // From outside, waits for the lock are not measured.
        let is_outside = matches!(profile.meta.engine, Engine::PerfRing | Engine::ProcPoll);
        let mut gil_waits = totals.threads.iter().filter_map(|total| total.gil_wait);
        Self {
            profile,
            totals,
            programs: profile.programs(),
            kinds,
            all,
            mass: Mass::default(),
            is_traced: Weighs::of(profile) == Weighs::Traced,
            has_gil_waits: gil_waits.any(|wait| wait.0 > 0 || !is_outside),
        }
    }

    /// Sets the samples that ranges of shares follow from.
    pub(super) fn with_ranges(self, mass: Mass) -> Self {
        Self { mass, ..self }
    }

    pub(super) fn process<'t>(&self, total: &'t ProcessTotal) -> Part<'t, ProcessTotal> {
        let amount = total.amount;
        let cpu = match (total.user, total.system) {
            _ if self.is_traced => amount.weight,
            (None, None) => amount.weight - amount.split.waiting,
            (user, system) => user.unwrap_or_default().0 + system.unwrap_or_default().0,
        };
        Part::one(total, amount, cpu)
    }

    pub(super) fn command<'t>(&self, total: &'t CommandTotal) -> Part<'t, CommandTotal> {
        let amount = total.amount;
        Part::one(total, amount, amount.weight - amount.split.waiting)
    }

    pub(super) fn thread<'t>(&self, total: &'t ThreadTotal) -> Part<'t, ThreadTotal> {
        let amount = total.amount;
        let cpu = match total.cpu {
            // Where the processes have the kernel's count, threads have their parts of that.
            Some(cpu) if !self.is_traced && self.profile.meta.settled.is_none() => cpu.0,
            _ => amount.weight - amount.split.waiting,
        };
        Part::one(total, amount, cpu)
    }

    fn amount_members(&self, json: &mut Json<'_>, amount: &Amount) {
        share_members(json, "", &amount.share(self.mass), amount, self.all);
    }

    fn share<'t, T: 't>(&'t self) -> Column<'t, Part<'t, T>> {
        let title = share_title(
            Weighs::of(self.profile).share_title(),
            self.kinds.few.is_some(),
        );
        let share = match self.kinds.few {
            Some(_) => Column::left(title, FEW),
            None => Column::left(title, 6),
        };
        let cell = |part: &Part<'_, T>| {
            let share = share_of(&part.amount, self.all);
            let style = part.total().map_or(GRAY, |_| heat(share));
            let text = match self.kinds.few {
                Some(whole) => format!("{} of {whole}", part.amount.samples),
                None => format!("{:>6}", percent(share)),
            };
            (text, style)
        };
        let share = share.first().text(cell);
        share.group("amount", |json, part| {
            self.amount_members(json, &part.amount)
        })
    }

    fn cpu<'t, T: 't>(&self) -> Column<'t, Part<'t, T>> {
        // Calls may be measured by another clock.
        let title = match self.is_traced {
            true => "Time",
            false => "CPU",
        };
        Column::right(title, DURATION).text(|part: &Part<'_, T>| {
            let style = part.total().map_or(GRAY, |_| Style::PLAIN);
            (duration(part.cpu), style)
        })
    }

    /// The columns between the CPU time and what the row is about.
    fn kinds<'t, T: 't>(&self) -> Vec<Column<'t, Part<'t, T>>> {
        let mut columns = self
            .kinds
            .columns(self.all, |part: &Part<'t, T>| Some(&part.amount));
        let space = Column::titled("")
            .gap(2)
            .draw(|_, line, part: &Part<'t, T>| {
                line.push_spaces(part.total().map_or(0, |_| 2));
            });
        columns.push(space);
        columns
    }
}

/// The table of processes.
pub(super) fn processes<'t>(known: &'t Known<'_>) -> Table<'t, Part<'t, ProcessTotal>> {
    let profile = known.profile;
    let of = |part: &Part<'t, ProcessTotal>| part.total().expect("JSON has no row for the rest");
    let row = move |part: &Part<'t, ProcessTotal>| &profile.processes[of(part).process.index()];
    let name = Column::titled("Process")
        .last()
        .draw(|page, line, part: &Part<'t, ProcessTotal>| match part.of {
            Of::One(total) => push_process(page.columns, line, known, total),
            Of::Rest(count, noun) => push_rest(line, count, noun),
        })
        .member("process", "number", move |json, key, part| {
            json.number(key, u64::from(of(part).process.0));
        })
        .member("pid", "number", move |json, key, part| {
            json.number(key, u64::from(row(part).pid));
        })
        .member("command", "text", move |json, key, part| {
            json.text(key, profile.strings.get(row(part).command));
        })
        .member("parent", "number?", move |json, key, part| {
            let parent = parent(profile, &known.programs, of(part).process);
            json.number_or_null(key, parent.map(|pid| u64::from(pid.0)));
        })
        .member("runtime", "text?", move |json, key, part| {
            json.text_or_null(key, profile.strings.get(row(part).runtime));
        })
        .member("labels?", "[label]", move |json, key, part| {
            let labels = profile.all_labels_of(of(part).process);
            if labels.is_empty() {
                return;
            }
            json.array(key, |json| {
                for (label, value) in labels {
                    json.row("", |json| {
                        json.text("key", profile.strings.get(label));
                        json.text("value", profile.strings.get(value));
                    });
                }
            });
        });
    let ends = Column::json_only()
        .member("started_seconds", "number?", move |json, key, part| {
            let first = known.programs.first(of(part).process);
            let started = profile.processes[first.index()].started;
            json.seconds(key, started.map(|time| time.0));
        })
        .member("ended_seconds", "number?", move |json, key, part| {
            json.seconds(key, row(part).ended.map(|time| time.0));
        })
        .member("exit_code", "number?", move |json, key, part| {
            let code = match row(part).end {
                ProcessEnd::Exited(code) => Some(u64::from(code)),
                _ => None,
            };
            json.number_or_null(key, code);
        })
        .member("signal", "number?", move |json, key, part| {
            let signal = match row(part).end {
                ProcessEnd::Killed(signal) => Some(u64::from(signal)),
                _ => None,
            };
            json.number_or_null(key, signal);
        });
    let cpu = (known.cpu())
        .member("user_seconds", "number?", move |json, key, part| {
            json.seconds(key, of(part).user.map(|time| time.0));
        })
        .member("system_seconds", "number?", move |json, key, part| {
            json.seconds(key, of(part).system.map(|time| time.0));
        });
    let programs = Column::json_only()
        .member("threads", "number", move |json, key, part| {
            json.number(key, of(part).threads);
        })
        .member(
            "former_programs",
            "[former_program]",
            move |json, key, part| {
                json.array(key, |json| former_programs(json, known, of(part)));
            },
        );
    let mut columns = vec![name, ends, cpu];
    columns.extend(known.kinds());
    columns.extend([programs, known.share()]);
    Table::new("process", columns)
}

/// Writes the programs that a process ran before its last one.
fn former_programs(json: &mut Json<'_>, known: &Known<'_>, total: &ProcessTotal) {
    let profile = known.profile;
    let before = total.programs.len().saturating_sub(1);
    for part in &total.programs[..before] {
        let program = &profile.processes[part.program.index()];
        json.row("", |json| {
            json.number("process", u64::from(part.program.0));
            json.text("command", profile.strings.get(program.command));
            json.seconds("user_seconds", program.user.map(|time| time.0));
            json.seconds("system_seconds", program.system.map(|time| time.0));
            known.amount_members(json, &part.amount);
        });
    }
}

/// The table of commands.
pub(super) fn commands<'t>(known: &'t Known<'_>) -> Table<'t, Part<'t, CommandTotal>> {
    let profile = known.profile;
    let of = |part: &Part<'t, CommandTotal>| part.total().expect("JSON has no row for the rest");
    let name = Column::titled("Command")
        .last()
        .draw(|page, line, part: &Part<'t, CommandTotal>| match part.of {
            Of::One(total) => push_command(page.columns, line, known, total),
            Of::Rest(count, noun) => push_rest(line, count, noun),
        })
        .member("command", "text", move |json, key, part| {
            json.text(key, command_name(profile, of(part).first));
        })
        .member("processes", "number", move |json, key, part| {
            json.number(key, of(part).processes);
        });
    let mut columns = vec![name, known.cpu()];
    columns.extend(known.kinds());
    columns.push(known.share());
    Table::new("command", columns)
}

/// The host and the version of a process, of which a store has many.
fn host_of(profile: &Profile, process: ProcessId) -> Option<String> {
    let value = |key: &str| {
        let value = profile.label_of(process, profile.strings.find(key)?)?;
        Some(profile.strings.get(value))
    };
    match (value("host"), value("version")) {
        (Some(host), Some(version)) => Some(format!("{version} on {host}")),
        (Some(host), None) => Some(format!("on {host}")),
        (None, version) => version.map(str::to_owned),
    }
}

/// The table of threads.
pub(super) fn threads<'t>(known: &'t Known<'_>) -> Table<'t, Part<'t, ThreadTotal>> {
    let profile = known.profile;
    let of = |part: &Part<'t, ThreadTotal>| part.total().expect("JSON has no row for the rest");
    let row = move |part: &Part<'t, ThreadTotal>| profile.threads.get(of(part).thread);
    let name = Column::titled("Thread")
        .last()
        .draw(|_, line, part: &Part<'t, ThreadTotal>| match part.of {
            Of::One(total) => push_thread(line, known, total),
            Of::Rest(count, noun) => push_rest(line, count, noun),
        })
        .member("thread", "number", move |json, key, part| {
            json.number(key, row(part).number);
        })
        .member("tid", "number", move |json, key, part| {
            json.number(key, u64::from(row(part).tid));
        })
        .member("name", "text?", move |json, key, part| {
            json.text_or_null(key, profile.strings.get(row(part).name));
        })
        .member("process", "number", move |json, key, part| {
            json.number(key, u64::from(row(part).process.0));
        });
    let alive = Column::json_only().member("alive_seconds", "number?", move |json, key, part| {
        json.seconds(key, of(part).alive.map(|time| time.0));
    });
    let cpu = (known.cpu()).member("cpu_seconds", "number?", move |json, key, part| {
        json.seconds(key, of(part).cpu.map(|time| time.0));
    });
    let gil_wait = Column::right("GIL wait", DURATION)
        .then(2)
        .when(known.has_gil_waits)
        .draw(|_, line, part: &Part<'_, ThreadTotal>| {
            let Some(total) = part.total() else { return };
            let wait = total
                .gil_wait
                .map_or(String::new(), |time| duration(time.0));
            let style = match (total.gil_wait, total.alive) {
                (Some(wait), Some(alive)) if wait.0 * 5 > alive.0 => Style::color(Color::Yellow),
                _ => Style::PLAIN,
            };
            line.push_fmt(format_args!("{wait:>DURATION$}  "), style);
        })
        .member("gil_wait_seconds", "number?", move |json, key, part| {
            json.seconds(key, of(part).gil_wait.map(|time| time.0));
        });
    let mut columns = vec![name, alive, cpu];
    columns.extend(known.kinds());
    columns.extend([gil_wait, known.share()]);
    Table::new("thread", columns)
}

fn push_process(columns: usize, line: &mut Line, known: &Known<'_>, total: &ProcessTotal) {
    let Known {
        profile, programs, ..
    } = known;
    let process = &profile.processes[total.process.index()];
    line.push_fmt(format_args!("{} ", process.pid), Style::PLAIN);
    line.push_spaces(2 * depth(profile, programs, total.process));
    let mut parts = Vec::new();
    if profile.meta.question.is_some() {
        parts.extend(host_of(profile, total.process));
    }
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
    let room = columns.saturating_sub(line.width() + threads.len() + end.len());
    let command = command(profile, total.process);
    line.push(&keep_head(command, room.max(20)), Style::PLAIN);
    line.push(&threads, GRAY);
    line.push(&end, Style::color(Color::Red));
}

fn push_command(columns: usize, line: &mut Line, known: &Known<'_>, total: &CommandTotal) {
    let name = match command_name(known.profile, total.first) {
        "" => "[unknown program]",
        name => name,
    };
    line.push(&keep_head(name, columns), Style::PLAIN);
    match total.processes {
        0 => line.push("  (replaced by exec)", GRAY),
        1 => {}
        several => line.push_fmt(format_args!("  ({several} processes)"), GRAY),
    }
}

fn push_thread(line: &mut Line, known: &Known<'_>, total: &ThreadTotal) {
    let profile = known.profile;
    let thread = profile.threads.get(total.thread);
    line.push_fmt(format_args!("#{} ", thread.number), Style::PLAIN);
    line.push(profile.strings.get(thread.name), Style::PLAIN);
    if known.totals.processes.len() > 1 {
        let pid = profile.processes[thread.process.index()].pid;
        line.push_fmt(format_args!("  (process {pid})"), GRAY);
    }
}

/// Adds the text for the rows that are not shown.
fn push_rest(line: &mut Line, count: u64, noun: &str) {
    let more = counted(count, &format!("more {noun}"));
    line.push_fmt(format_args!("  {more}"), GRAY);
}

pub(super) fn share_of(amount: &Amount, all: u64) -> f64 {
    amount.weight as f64 / all.max(1) as f64
}

/// The process that started a process, whatever programs they were then.
fn parent(profile: &Profile, programs: &Programs, process: ProcessId) -> Option<ProcessId> {
    let parent = profile
        .processes
        .get(programs.first(process).index())?
        .parent;
    parent.map(|parent| programs.last(parent))
}

/// The number of a process's ancestors that are in the recording.
fn depth(profile: &Profile, programs: &Programs, process: ProcessId) -> usize {
    const DEEPEST: usize = 8;
    let parent = |id: &ProcessId| parent(profile, programs, *id);
    std::iter::successors(parent(&process), parent)
        .take(DEEPEST)
        .count()
}
