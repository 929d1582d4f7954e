//! The time in system calls, their number and their errors: by call, and by the line that makes
//! it.

use std::io;

use profundo_analysis::{
    Selection, SyscallAmount, SyscallRow, Syscalls as Answer, Whole, error_name, syscalls as answer,
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
/// The name of calls of which none was sampled.
const NO_LINE: &str = "[calls of which no line is known]";
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

    fn answer(&self, profile: &Profile, selection: &Selection) -> Answer {
        let choices = &self.options.choices;
        answer(profile, selection, &choices.filter, choices.shown)
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
        let found = self.answer(profile, selection);
        let names = Names::of_places(profile, found.lines.iter().filter_map(|row| row.at));
        crate::quality::write_grave(page, self.options.quality, &[Whole::Threads])?;
        let is_counted = found.is_counted;
        let calls = calls(is_counted, |_, line, row| {
            push_call(line, row);
            push_errors(line, row);
        });
        write_table(page, &calls, &found.calls, self.limit, is_counted)?;
        page.plain("")?;
        let is_sampled = found.is_sampled;
        let lines = lines(profile, is_sampled, |_, line, row| {
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
        write_table(page, &lines, &found.lines, self.limit, is_sampled)?;
        if found.unplaced.calls > 0 {
            let row = SyscallRow {
                call: Some(NO_LINE.to_owned()),
                at: None,
                amount: found.unplaced,
                range: None,
                errors: Vec::new(),
            };
            write_row(page, &lines, &row)?;
        }
        page.plain("")?;
        let mut line = Line::default();
        total(is_counted).push_row(page, &mut line, &found.total);
        line.push("in all", BOLD);
        line.truncate(page.columns);
        page.line(&mut line)?;
        let times = match has_waits(profile) {
            true => "how long calls waited is measured, how long they ran is sampled.",
            false => {
                "only time on a CPU was recorded, and that is sampled: `--wall` records waits too."
            }
        };
        let counts = match (is_counted, profile.syscalls.is_empty()) {
            (true, _) if is_sampled => {
                "How often they were made, and how often they failed, is the kernel's count. Which \
                 lines made them is sampled: 95 % of the numbers are within their ±."
            }
            (true, _) => {
                "How often they were made, and how often they failed, is the kernel's count."
            }
            (false, true) => {
                "How often they were made, and how often they failed, is recorded with `--syscalls`."
            }
            (false, false) => {
                "They were counted by thread and by second, so not for this selection."
            }
        };
        page.marked("Calls:", Color::Cyan, &format!(" {times} {counts}"))?;
        page.plain("")?;
        write_end(page, &self.options.choices, selection, self.options.quality)
    }

    fn members(&self, profile: &Profile, selection: &Selection, json: &mut Json<'_>) {
        let found = self.answer(profile, selection);
        members(json, profile, &found);
    }
}

fn has_waits(profile: &Profile) -> bool {
    let mut samples = profile.samples.iter();
    samples.any(|sample| sample.state == State::WallWaiting)
}

fn members(json: &mut Json<'_>, profile: &Profile, found: &Answer) {
    json.is("has_waits", has_waits(profile));
    json.is("is_counted", found.is_counted);
    let unplaced = found.is_sampled.then_some(found.unplaced.calls);
    json.number_or_null("calls_without_line", unplaced);
    total(found.is_counted).members(json, &found.total);
    let calls = calls(found.is_counted, undrawn);
    json.array("calls", |json| {
        for row in &found.calls {
            json.object("", |json| calls.members(json, row));
        }
    });
    let lines = lines(profile, found.is_sampled, undrawn);
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

/// The errors of a row's calls, and how many had each.
fn push_errors(line: &mut Line, row: &SyscallRow) {
    for (number, (error, count)) in row.errors.iter().enumerate() {
        let before = if number == 0 { "  " } else { ", " };
        line.push_fmt(format_args!("{before}{} {count}", error_name(*error)), GRAY);
    }
}

fn write_row(
    page: &mut Page<'_>,
    table: &Table<'_, SyscallRow>,
    row: &SyscallRow,
) -> io::Result<()> {
    let mut line = Line::default();
    table.push_row(page, &mut line, row);
    line.truncate(page.columns);
    page.line(&mut line)
}

fn write_table(
    page: &mut Page<'_>,
    table: &Table<'_, SyscallRow>,
    rows: &[SyscallRow],
    limit: usize,
    is_counted: bool,
) -> io::Result<()> {
    let mut line = Line::default();
    table.push_titles(&mut line);
    line.truncate(page.columns);
    page.line(&mut line)?;
    for row in rows.iter().take(limit) {
        write_row(page, table, row)?;
    }
    let rest = rows.get(limit..).unwrap_or_default();
    if !rest.is_empty() {
        let mut sum = SyscallAmount::default();
        rest.iter().for_each(|row| sum += row.amount);
        total(is_counted).push_row(page, &mut line, &sum);
        line.push_fmt(format_args!("{} more", rest.len()), GRAY);
        line.truncate(page.columns);
        page.line(&mut line)?;
    }
    Ok(())
}

/// The numbers of calls, where they were counted.
fn numbers<'a, R: 'a>(is_counted: bool, amount: fn(&R) -> &SyscallAmount) -> Vec<Column<'a, R>> {
    let number = |title, number: fn(&SyscallAmount) -> u64, name| {
        let column = Column::right(title, NUMBER).when(is_counted);
        let column = column.text(move |row: &R| {
            let text = match number(amount(row)) {
                0 => String::new(),
                number => number.to_string(),
            };
            (text, Style::PLAIN)
        });
        column.member(name, "number?", move |json, key, row| {
            json.number_or_null(key, is_counted.then(|| number(amount(row))));
        })
    };
    vec![
        number("Calls", |amount| amount.calls, "count"),
        number("Failed", |amount| amount.failed, "failed_count"),
    ]
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
fn total<'a>(is_counted: bool) -> Table<'a, SyscallAmount> {
    let mut columns = numbers(is_counted, |amount| amount);
    columns.extend(amounts(|amount| amount));
    Table::new("syscall_amount", columns)
}

/// The table of calls.
fn calls<'a>(
    is_counted: bool,
    draw: impl Fn(&mut Page<'_>, &mut Line, &SyscallRow) + 'a,
) -> Table<'a, SyscallRow> {
    let call = Column::titled("System calls").last().draw(draw);
    let call = call.member("call", "text?", |json, key, row: &SyscallRow| {
        json.text_or_null(key, row.call.as_deref().unwrap_or_default());
    });
    let call = call.member("errors", "[syscall_error]", |json, key, row| {
        json.array(key, |json| {
            for error in &row.errors {
                json.row("", |json| errors().members(json, error));
            }
        });
    });
    let mut columns = vec![call];
    columns.extend(numbers(is_counted, |row: &SyscallRow| &row.amount));
    columns.extend(amounts(|row: &SyscallRow| &row.amount));
    Table::new("syscall", columns)
}

/// The errors of a call, in JSON.
fn errors<'a>() -> Table<'a, (u32, u64)> {
    let error = Column::json_only();
    let error = error.member("error", "text", |json, key, row: &(u32, u64)| {
        json.text(key, &error_name(row.0));
    });
    let error = error.member("count", "number", |json, key, row| json.number(key, row.1));
    Table::new("syscall_error", vec![error])
}

/// The table of lines.
fn lines<'a>(
    profile: &'a Profile,
    is_sampled: bool,
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
    let range = Column::right("±", NUMBER).when(is_sampled);
    let range = range.text(|row: &SyscallRow| {
        let text = row.range.map(|range| range.calls.to_string());
        (text.unwrap_or_default(), Style::PLAIN)
    });
    let range = range.member("count_plus_minus", "number?", |json, key, row| {
        json.number_or_null(key, row.range.map(|range| range.calls));
    });
    let range = range.member("sampled_calls", "number?", |json, key, row| {
        json.number_or_null(key, row.range.map(|range| range.samples));
    });
    let mut columns = vec![at];
    let mut numbers = numbers(is_sampled, |row: &SyscallRow| &row.amount).into_iter();
    columns.extend(numbers.next());
    columns.push(range);
    columns.extend(numbers);
    columns.extend(amounts(|row: &SyscallRow| &row.amount));
    Table::new("syscall_line", columns)
}

#[cfg(test)]
pub(super) fn schemas() -> Vec<(&'static str, Vec<String>)> {
    let profile = Profile::default();
    vec![
        total(true).schema(),
        errors().schema(),
        calls(true, undrawn).schema(),
        lines(&profile, true, undrawn).schema(),
    ]
}
