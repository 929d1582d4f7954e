//! Processes' use of the machine's memory over time.

mod json;
mod table;
mod uses;

use std::io;

use profundo_analysis::{ProcessMemory, Selection, Whole, gauges};
use profundo_model::{Nanos, Profile};

use super::totals::command;
use super::{BOLD, GRAY, View, ViewOptions, write_end};
use crate::Choices;
use crate::json::Json;
use crate::page::Page;
use crate::page::chart::chart;
use crate::page::line::{Line, Style};
use crate::page::palette::Color;
use crate::page::units::{bytes, duration, short_count};
use crate::page::width::keep_head;
pub(super) use json::members;
use table::{Known, NUMBER};

/// A report on processes' use of the machine's memory over time.
#[derive(Debug, Clone)]
pub struct Memory {
    options: ViewOptions,
    limit: usize,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            options: ViewOptions::default(),
            limit: 40,
        }
    }
}

impl Memory {
    /// A report of all processes, but for the smallest of very many.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the number of processes that are shown at most.
    pub fn limit(mut self, rows: usize) -> Self {
        self.limit = rows;
        self
    }
}

impl View for Memory {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn options(&self) -> &ViewOptions {
        &self.options
    }

    fn options_mut(&mut self) -> &mut ViewOptions {
        &mut self.options
    }

    fn text(&self, page: &mut Page<'_>, selection: &Selection) -> io::Result<()> {
        let profile = page.profile;
        if profile.heap.gauges.is_empty() {
            let text = " memory was not looked at: that wants `--memory` (see `profundo doctor`), and a program \
                        that does not end at once.";
            return page.marked("Warning:", Color::Yellow, text);
        }
        crate::quality::write_grave(page, self.options.quality, &[Whole::Allocated])?;
        let found = of(profile, selection, &self.options.choices);
        match found.first() {
            Some(largest) => {
                if largest.knows_resident() {
                    write_chart(page, &self.options.choices, largest)?;
                    page.plain("")?;
                }
                uses::write(page, largest, span(profile, &self.options.choices))?;
                // A single process was described already.
                if found.len() > 1 || largest.most_swapped > 0 || largest.peak_is_earlier {
                    page.plain("")?;
                    write_table(page, &self.options.choices, &found, self.limit)?;
                }
                write_news(page, &found)?;
            }
            None => {
                let words = self.options.choices.words().unwrap_or_default();
                let text = format!(" no look at memory passes the filter: {words}.");
                page.marked("Warning:", Color::Yellow, &text)?;
            }
        }
        page.plain("")?;
        write_end(page, &self.options.choices, selection, self.options.quality)
    }

    fn members(&self, profile: &Profile, selection: &Selection, json: &mut Json<'_>) {
        members(
            json,
            profile,
            &of(profile, selection, &self.options.choices),
        );
    }
}

/// The memory of processes in a selection.
pub(super) fn of<'a>(
    profile: &'a Profile,
    selection: &Selection,
    choices: &Choices,
) -> Vec<ProcessMemory<'a>> {
    gauges(profile, selection, &choices.filter)
}

/// The span of time that pictures are of: the same for all.
fn span(profile: &Profile, choices: &Choices) -> (Nanos, Nanos) {
    let last = profile.heap.gauges.iter().map(|look| look.time).max();
    let end = profile.meta.duration.max(last.unwrap_or_default());
    let from = choices.filter.from.unwrap_or_default();
    let to = choices.filter.to.unwrap_or(end).min(end);
    (from.min(to), to)
}

/// Writes a picture of the largest process.
fn write_chart(
    page: &mut Page<'_>,
    choices: &Choices,
    memory: &ProcessMemory<'_>,
) -> io::Result<()> {
    const ROWS: usize = 6;
    const WIDEST: usize = 100;
    let profile = page.profile;
    let span = span(profile, choices);
    let columns = page.columns.saturating_sub(NUMBER + 2).clamp(10, WIDEST);
    let values = memory.stretches(span.0, span.1, columns);
    let mut line = Line::default();
    line.push_fmt(format_args!("{:>NUMBER$}  ", "In memory"), BOLD);
    push_process(&mut line, profile, memory, page.columns);
    line.truncate(page.columns);
    page.line(&mut line)?;
    let top = values.iter().flatten().copied().max().unwrap_or(0);
    for (at, row) in chart(&values, top, ROWS).iter().enumerate() {
        let label = match at {
            0 => bytes(top),
            _ if at + 1 == ROWS => "0 B".to_owned(),
            _ => String::new(),
        };
        let tick = if label.is_empty() { '│' } else { '┤' };
        line.push_fmt(format_args!("{label:>NUMBER$} {tick}"), GRAY);
        line.push(row, Style::color(Color::Cyan));
        page.line(&mut line)?;
    }
    let (from, to) = (duration(span.0.0), duration(span.1.0));
    line.push_spaces(NUMBER + 2);
    line.push(&from, GRAY);
    line.push_spaces(columns.saturating_sub(from.chars().count() + to.chars().count()));
    line.push(&to, GRAY);
    page.line(&mut line)
}

/// Writes the table of processes, as far as `limit`.
pub(super) fn write(
    page: &mut Page<'_>,
    choices: &Choices,
    found: &[ProcessMemory<'_>],
    limit: usize,
) -> io::Result<()> {
    // Its columns are those of resident memory.
    if !found.iter().any(ProcessMemory::knows_resident) {
        return Ok(());
    }
    write_table(page, choices, found, limit)?;
    write_news(page, found)
}

fn write_table(
    page: &mut Page<'_>,
    choices: &Choices,
    found: &[ProcessMemory<'_>],
    limit: usize,
) -> io::Result<()> {
    let profile = page.profile;
    let known = Known {
        profile,
        span: span(profile, choices),
        picture: if page.columns >= super::WIDE { 40 } else { 20 },
        top: found.iter().map(|memory| memory.peak).max().unwrap_or(0),
        has_swapped: found.iter().any(|memory| memory.most_swapped > 0),
    };
    let table = table::table(known, |page, line, memory| {
        push_process(line, profile, memory, page.columns);
    });
    let mut line = Line::default();
    table.push_titles(&mut line);
    line.truncate(page.columns);
    page.line(&mut line)?;
    for memory in found.iter().take(limit) {
        table.push_row(page, &mut line, memory);
        line.truncate(page.columns);
        page.line(&mut line)?;
    }
    let rest = found.len().saturating_sub(limit);
    if rest > 0 {
        line.push_fmt(format_args!("{rest} more"), GRAY);
        page.line(&mut line)?;
    }
    Ok(())
}

/// Writes the remarks.
fn write_news(page: &mut Page<'_>, found: &[ProcessMemory<'_>]) -> io::Result<()> {
    write_growth(page, found)?;
    write_reading(page, found)
}

/// Names the processes that grow, where that is certain.
fn write_growth(page: &mut Page<'_>, found: &[ProcessMemory<'_>]) -> io::Result<()> {
    const SHOWN: usize = 3;
    let growing = found.iter().filter_map(|memory| {
        let growth = memory.growth.filter(|growth| growth.is_sure())?;
        // What is sure may still be next to nothing.
        let grown = growth.rate * growth.seconds;
        (grown >= 1e6 && grown >= memory.end as f64 * 0.02).then_some((memory, growth))
    });
    for (memory, growth) in growing.take(SHOWN) {
        let rate = |rate: f64| format!("{}/s", bytes(rate.max(0.0).round() as u64));
        let pid = page.profile.processes[memory.process.index()].pid;
        let text = format!(
            " process {pid} grew by {} ({} to {} with 95 % certainty) in its last {}.",
            rate(growth.rate),
            rate(growth.low),
            rate(growth.high),
            duration((growth.seconds * 1e9) as u64)
        );
        page.marked("Growth:", Color::Yellow, &text)?;
    }
    Ok(())
}

/// Names the processes that had to read memory back.
fn write_reading(page: &mut Page<'_>, found: &[ProcessMemory<'_>]) -> io::Result<()> {
    let most = found.iter().max_by_key(|memory| memory.major_faults);
    let Some(memory) = most.filter(|memory| memory.major_faults >= 1000) else {
        return Ok(());
    };
    let pid = page.profile.processes[memory.process.index()].pid;
    let text = format!(
        " {} page faults of process {pid} had to read from storage.",
        short_count(memory.major_faults)
    );
    page.marked("Faults:", Color::Yellow, &text)
}

fn push_process(line: &mut Line, profile: &Profile, memory: &ProcessMemory<'_>, columns: usize) {
    let pid = profile.processes[memory.process.index()].pid;
    line.push_fmt(format_args!("{pid} "), GRAY);
    let room = columns.saturating_sub(line.width()).max(8);
    let command = command(profile, memory.process);
    line.push(&keep_head(command, room), Style::PLAIN);
}

#[cfg(test)]
pub(super) fn schema() -> (&'static str, Vec<String>) {
    let profile = Profile::default();
    table::table(Known::off_screen(&profile), crate::table::undrawn).schema()
}
