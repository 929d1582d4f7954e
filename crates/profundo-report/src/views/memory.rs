//! What processes had of the machine's memory over time.

mod uses;

use std::io;

use profundo_analysis::{Figure, ProcessMemory, Selection, Use, Whole, gauges};
use profundo_model::{Nanos, Profile};

use super::chart::{chart, sparkline};
use super::totals::command;
use super::{BOLD, GRAY, view, write_end};
use crate::json::Json;
use crate::line::{Line, Style};
use crate::palette::Color;
use crate::printer::Page;
use crate::units::{bytes, duration, short_count};
use crate::width::keep_head;
use crate::{Choices, Look};

/// How wide a number is.
const NUMBER: usize = 9;

/// What processes had of the machine's memory over time.
#[derive(Debug, Clone)]
pub struct Memory {
    choices: Choices,
    look: Look,
    quality: Option<bool>,
    limit: usize,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            choices: Choices::command(),
            look: Look::default(),
            quality: None,
            limit: 40,
        }
    }
}

view!(Memory);

impl Memory {
    /// All processes, but for the smallest of very many.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many processes are shown at most.
    pub fn limit(mut self, rows: usize) -> Self {
        self.limit = rows;
        self
    }

    fn report(&self) -> &'static str {
        "memory"
    }

    fn text(&self, page: &mut Page<'_>, selection: &Selection) -> io::Result<()> {
        let profile = page.profile;
        if profile.heap.gauges.is_empty() {
            let text = " memory was not looked at: that wants `--memory` (see `profundo doctor`), and a program \
                        that does not end at once.";
            return page.marked("Warning:", Color::Yellow, text);
        }
        crate::quality::write_grave(page, self.quality, &[Whole::Allocated])?;
        let found = of(profile, selection, &self.choices);
        match found.first() {
            Some(largest) => {
                write_chart(page, &self.choices, largest)?;
                page.plain("")?;
                uses::write(page, largest, span(profile, &self.choices))?;
                // One that is alone has been told of.
                if found.len() > 1 || largest.most_swapped > 0 || largest.peak_is_earlier {
                    page.plain("")?;
                    write_table(page, &self.choices, &found, self.limit)?;
                }
                write_news(page, &found)?;
            }
            None => {
                let words = self.choices.words().unwrap_or_default();
                let text = format!(" no look at memory passes the filter: {words}.");
                page.marked("Warning:", Color::Yellow, &text)?;
            }
        }
        page.plain("")?;
        write_end(page, &self.choices, selection, self.quality)
    }

    fn members(&self, profile: &Profile, selection: &Selection, json: &mut Json<'_>) {
        members(json, profile, &of(profile, selection, &self.choices));
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
    let span = span(profile, choices);
    let columns = if page.columns >= super::WIDE { 40 } else { 20 };
    let swaps = found.iter().any(|memory| memory.most_swapped > 0);
    let mut line = Line::default();
    for title in ["Peak", "at", "End", "PSS"] {
        line.push_fmt(format_args!("{title:>NUMBER$}"), BOLD);
    }
    if swaps {
        line.push_fmt(format_args!("{:>NUMBER$}", "Swapped"), BOLD);
    }
    line.push_fmt(format_args!("{:>8}  ", "Faults"), BOLD);
    let title = format!("RSS over {}", duration(span.1.0 - span.0.0));
    line.push_fmt(format_args!("{title:<columns$}  Process"), BOLD);
    line.truncate(page.columns);
    page.line(&mut line)?;
    let top = found.iter().map(|memory| memory.peak).max().unwrap_or(0);
    for memory in found.iter().take(limit) {
        let at = match memory.peak_is_earlier {
            true => "before".to_owned(),
            false => duration(memory.peak_at.0),
        };
        let shared = memory.proportional.map_or(String::new(), bytes);
        for text in [bytes(memory.peak), at, bytes(memory.end), shared] {
            line.push_fmt(format_args!("{text:>NUMBER$}"), Style::PLAIN);
        }
        if swaps {
            let text = match memory.most_swapped {
                0 => String::new(),
                some => bytes(some),
            };
            line.push_fmt(format_args!("{text:>NUMBER$}"), Style::color(Color::Yellow));
        }
        let faults = memory.minor_faults.saturating_add(memory.major_faults);
        line.push_fmt(format_args!("{:>8}  ", short_count(faults)), Style::PLAIN);
        let picture = sparkline(&memory.stretches(span.0, span.1, columns), top);
        line.push(&picture, Style::color(Color::Cyan));
        line.push_spaces(2);
        push_process(&mut line, profile, memory, page.columns);
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

/// Says what is remarkable.
fn write_news(page: &mut Page<'_>, found: &[ProcessMemory<'_>]) -> io::Result<()> {
    write_growth(page, found)?;
    write_reading(page, found)
}

/// Says who grows, where that is sure.
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

/// Says who had to read its memory back.
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

/// Writes all of it.
pub(super) fn members(json: &mut Json<'_>, profile: &Profile, found: &[ProcessMemory<'_>]) {
    /// So many looks are told of each process.
    const LOOKS: usize = 200;
    json.array("memory", |json| {
        for memory in found {
            json.object("", |json| {
                let process = &profile.processes[memory.process.index()];
                json.number("process", u64::from(memory.process.0));
                json.number("pid", u64::from(process.pid));
                json.text("command", command(profile, memory.process));
                json.number("peak_bytes", memory.peak);
                let peak_at = (!memory.peak_is_earlier).then_some(memory.peak_at.0);
                json.seconds("peak_at_seconds", peak_at);
                json.number("start_bytes", memory.start);
                json.number("end_bytes", memory.end);
                json.number_or_null("proportional_bytes", memory.proportional);
                json.number_or_null("most_proportional_bytes", memory.most_proportional);
                for (name, field) in USES {
                    let figures = memory.uses.iter().filter_map(field);
                    let most = figures.max_by_key(|figure| figure.value);
                    json.number_or_null(name, most.map(|most| most.value));
                    if let Some(most) = most.filter(|most| !most.is_exact()) {
                        json.number(&format!("{name}_low"), most.low);
                        json.number(&format!("{name}_high"), most.high);
                    }
                }
                let arenas = memory.looks.iter().map(|look| look.arenas).max();
                json.number("most_arena_bytes", arenas.unwrap_or(0));
                json.is("is_forked", memory.is_forked);
                json.number("most_swapped_bytes", memory.most_swapped);
                json.number("minor_faults", memory.minor_faults);
                json.number("major_faults", memory.major_faults);
                match memory.growth {
                    Some(growth) => json.row("growth", |json| {
                        json.rate("bytes_per_second", growth.rate);
                        json.rate("bytes_per_second_low", growth.low);
                        json.rate("bytes_per_second_high", growth.high);
                        json.seconds("seconds", Some((growth.seconds * 1e9) as u64));
                    }),
                    None => json.null("growth"),
                }
                json.array("looks", |json| looks_members(json, memory, LOOKS));
            });
        }
    });
}

/// What is told of the uses of memory, at their largest.
type Field = fn(&Use) -> Option<Figure>;
const USES: [(&str, Field); 3] = [
    ("most_in_use_bytes", |used| used.in_use),
    ("most_slack_bytes", |used| used.slack),
    ("most_mapped_bytes", |used| used.mapped),
];

fn looks_members(json: &mut Json<'_>, memory: &ProcessMemory<'_>, most: usize) {
    let (Some(first), Some(last)) = (memory.looks.first(), memory.looks.last()) else {
        return;
    };
    let resident = |at: usize| Some(memory.looks[at].resident);
    let mut looks = memory.largest(first.time, last.time, most, resident);
    if memory.looks.len() <= most {
        looks = (0..memory.looks.len()).map(Some).collect();
    }
    looks.dedup();
    for at in looks.into_iter().flatten() {
        let (look, used) = (memory.looks[at], memory.uses[at]);
        json.row("", |json| {
            json.seconds("at_seconds", Some(look.time.0));
            json.number("resident_bytes", look.resident);
            json.number_or_null("proportional_bytes", look.proportional);
            json.number("anonymous_bytes", look.anonymous);
            for (name, figure) in [
                ("in_use_bytes", used.in_use),
                ("slack_bytes", used.slack),
                ("mapped_bytes", used.mapped),
            ] {
                json.number_or_null(name, figure.map(|figure| figure.value));
            }
            json.number("arena_bytes", look.arenas);
            json.number("swapped_bytes", look.swapped);
            json.number("minor_faults", look.minor_faults);
            json.number("major_faults", look.major_faults);
        });
    }
}
