//! The time in system calls: by call, and by the line that makes it.

use std::io;

use profundo_analysis::{
    Selection, SyscallAmount, SyscallRow, Syscalls as Answer, Whole, syscalls as answer,
};
use profundo_model::{Profile, State};

use super::{BOLD, GRAY, View, ViewOptions, write_empty, write_end};
use crate::json::{Json, place};
use crate::naming::Names;
use crate::page::Page;
use crate::page::line::{Line, Style};
use crate::page::palette::Color;
use crate::page::units::duration;
use crate::table::{Column, Table, undrawn};

/// The name of time in a call that is not known.
const NO_CALL: &str = "[page fault, or call not known]";
/// The width of a number.
const NUMBER: usize = 9;

/// A report on the time in system calls, by call and by line.
#[derive(Debug, Clone)]
pub struct Syscalls {
    options: ViewOptions,
    limit: usize,
}

impl Default for Syscalls {
    fn default() -> Self {
        Self {
            options: ViewOptions::default(),
            limit: 40,
        }
    }
}

impl Syscalls {
    /// A report of all calls and lines, but for the smallest of very many.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the number of calls and of lines that are shown at most.
    pub fn limit(mut self, rows: usize) -> Self {
        self.limit = rows;
        self
    }
}

impl View for Syscalls {
    fn name(&self) -> &'static str {
        "syscalls"
    }

    fn options(&self) -> &ViewOptions {
        &self.options
    }

    fn options_mut(&mut self) -> &mut ViewOptions {
        &mut self.options
    }

    fn text(&self, page: &mut Page<'_>, selection: &Selection) -> io::Result<()> {
        let profile = page.profile;
        if write_empty(page, &self.options.choices, selection)? {
            return Ok(());
        }
        let found = answer(profile, selection, self.options.choices.shown);
        let names = Names::of_places(profile, found.lines.iter().filter_map(|row| row.at));
        crate::quality::write_grave(page, self.options.quality, &[Whole::Threads])?;
        let calls = calls(|_, line, row| push_call(line, row));
        write_table(page, &calls, &found.calls, self.limit)?;
        page.plain("")?;
        let lines = lines(profile, |_, line, row| {
            push_call(line, row);
            let Some(at) = row.at else { return };
            line.push("  ", Style::PLAIN);
            let at_line = names.at(at);
            if !at_line.is_empty() {
                line.push(&at_line, Style::color(Color::Blue));
                line.push_spaces(2);
            }
            line.push(names.function(at), Style::PLAIN);
        });
        write_table(page, &lines, &found.lines, self.limit)?;
        page.plain("")?;
        let mut line = Line::default();
        total().push_row(page, &mut line, &found.total);
        line.push("in all", BOLD);
        line.truncate(page.columns);
        page.line(&mut line)?;
        let text = match has_waits(profile) {
            true => {
                " how long calls waited is measured, how long they ran is sampled. How often they \
                 were made, and how often they failed, is not recorded: that takes the kernel's \
                 tracepoints (`perf trace -s`, `strace -c`)."
            }
            false => {
                " only time on a CPU was recorded, and that is sampled: `--wall` records waits too. \
                 How often calls were made, and how often they failed, is not recorded: that takes \
                 the kernel's tracepoints (`perf trace -s`, `strace -c`)."
            }
        };
        page.marked("Calls:", Color::Cyan, text)?;
        page.plain("")?;
        write_end(page, &self.options.choices, selection, self.options.quality)
    }

    fn members(&self, profile: &Profile, selection: &Selection, json: &mut Json<'_>) {
        let found = answer(profile, selection, self.options.choices.shown);
        members(json, profile, &found);
    }
}

fn has_waits(profile: &Profile) -> bool {
    let mut samples = profile.samples.iter();
    samples.any(|sample| sample.state == State::WallWaiting)
}

fn members(json: &mut Json<'_>, profile: &Profile, found: &Answer) {
    json.is("has_waits", has_waits(profile));
    total().members(json, &found.total);
    let calls = calls(undrawn);
    json.array("calls", |json| {
        for row in &found.calls {
            json.row("", |json| calls.members(json, row));
        }
    });
    let lines = lines(profile, undrawn);
    json.array("lines", |json| {
        for row in &found.lines {
            json.object("", |json| lines.members(json, row));
        }
    });
}

fn push_call(line: &mut Line, row: &SyscallRow) {
    match &row.call {
        Some(call) => line.push(call, Style::PLAIN),
        None => line.push(NO_CALL, GRAY),
    }
}

fn write_table(
    page: &mut Page<'_>,
    table: &Table<'_, SyscallRow>,
    rows: &[SyscallRow],
    limit: usize,
) -> io::Result<()> {
    let mut line = Line::default();
    table.push_titles(&mut line);
    line.truncate(page.columns);
    page.line(&mut line)?;
    for row in rows.iter().take(limit) {
        table.push_row(page, &mut line, row);
        line.truncate(page.columns);
        page.line(&mut line)?;
    }
    let rest = rows.get(limit..).unwrap_or_default();
    if !rest.is_empty() {
        let mut sum = SyscallAmount::default();
        rest.iter().for_each(|row| sum += row.amount);
        total().push_row(page, &mut line, &sum);
        line.push_fmt(format_args!("{} more", rest.len()), GRAY);
        line.truncate(page.columns);
        page.line(&mut line)?;
    }
    Ok(())
}

fn amounts<'a, R: 'a>(amount: fn(&R) -> &SyscallAmount) -> Vec<Column<'a, R>> {
    let time = |title, time: fn(&SyscallAmount) -> u64, name| {
        let column = Column::right(title, NUMBER).text(move |row: &R| {
            let text = match time(amount(row)) {
                0 => String::new(),
                time => duration(time),
            };
            (text, Style::PLAIN)
        });
        column.member(name, "number", move |json, key, row| {
            json.seconds(key, Some(time(amount(row))));
        })
    };
    let samples = Column::right("Samples", NUMBER)
        .then(2)
        .text(move |row: &R| (amount(row).samples.to_string(), Style::PLAIN));
    vec![
        time("Waited", |amount| amount.waited, "waited_seconds"),
        time("CPU", |amount| amount.cpu, "cpu_seconds"),
        samples.member("samples", "number", move |json, key, row| {
            json.number(key, amount(row).samples);
        }),
    ]
}

/// The columns of what all of it adds up to.
fn total<'a>() -> Table<'a, SyscallAmount> {
    Table::new("syscall_amount", amounts(|amount| amount))
}

/// The table of calls.
fn calls<'a>(draw: impl Fn(&mut Page<'_>, &mut Line, &SyscallRow) + 'a) -> Table<'a, SyscallRow> {
    let call = Column::titled("System calls").last().draw(draw);
    let call = call.member("call", "text?", |json, key, row: &SyscallRow| {
        json.text_or_null(key, row.call.as_deref().unwrap_or_default());
    });
    let mut columns = vec![call];
    columns.extend(amounts(|row: &SyscallRow| &row.amount));
    Table::new("syscall", columns)
}

/// The table of lines.
fn lines<'a>(
    profile: &'a Profile,
    draw: impl Fn(&mut Page<'_>, &mut Line, &SyscallRow) + 'a,
) -> Table<'a, SyscallRow> {
    let at = Column::titled("Lines that make them").last().draw(draw);
    let at = at.member("at", "io_place?", |json, key, row: &SyscallRow| {
        match row.at {
            Some(at) => json.row(key, |json| place(json, profile, at)),
            None => json.null(key),
        }
    });
    let at = at.member("call", "text?", |json, key, row: &SyscallRow| {
        json.text_or_null(key, row.call.as_deref().unwrap_or_default());
    });
    let mut columns = vec![at];
    columns.extend(amounts(|row: &SyscallRow| &row.amount));
    Table::new("syscall_line", columns)
}

#[cfg(test)]
pub(super) fn schemas() -> Vec<(&'static str, Vec<String>)> {
    let profile = Profile::default();
    vec![
        total().schema(),
        calls(undrawn).schema(),
        lines(&profile, undrawn).schema(),
    ]
}
