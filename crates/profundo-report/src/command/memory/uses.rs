//! The uses of one process's memory, over time: a row for each thing that is known.

use std::{io, iter};

use profundo_analysis::{Figure, ProcessMemory, Use};
use profundo_model::{Gauge, Nanos};

use super::super::BOLD;
use super::NUMBER;
use crate::page::Page;
use crate::page::chart::sparkline;
use crate::page::line::{Line, Style};
use crate::page::palette::Color;
use crate::page::units::{bytes, duration, short_count};

/// A value at each reading of the memory, by the reading's number.
type Value<'a> = &'a dyn Fn(usize) -> Option<u64>;

/// The row of one use of memory, over time.
struct Row {
    name: String,
    most: u64,
    /// `None`: before the first reading.
    most_at: Option<Nanos>,
    end: u64,
    stretches: Vec<Option<u64>>,
}

/// The span of time that pictures show, in this number of columns.
#[derive(Debug, Clone, Copy)]
struct Span {
    from: Nanos,
    to: Nanos,
    columns: usize,
}

/// Writes what a process's memory was used for.
pub(super) fn write(
    page: &mut Page<'_>,
    memory: &ProcessMemory<'_>,
    (from, to): (Nanos, Nanos),
) -> io::Result<()> {
    let columns = if page.columns >= super::super::WIDE {
        40
    } else {
        20
    };
    let span = Span { from, to, columns };
    let rows = rows(memory, span);
    let mut line = Line::default();
    for title in ["Peak", "at", "End"] {
        line.push_fmt(format_args!("{title:>NUMBER$}"), BOLD);
    }
    let title = format!("Over {}", duration(to.0 - from.0));
    line.push_fmt(format_args!("  {title:<columns$}  Of what"), BOLD);
    line.truncate(page.columns);
    page.line(&mut line)?;
    // One scale for all, so that they can be compared.
    let top = rows.iter().map(|row| row.most).max().unwrap_or(0);
    for row in &rows {
        let at = row.most_at.map_or("before".to_owned(), |at| duration(at.0));
        let numbers = [bytes(row.most), at, bytes(row.end)];
        write_row(
            page,
            &numbers,
            &sparkline(&row.stretches, top),
            &row.name,
            columns,
        )?;
    }
    if !memory.knows_resident() {
        return Ok(());
    }
    write_faults(page, memory, span)?;
    if let Some(reason) = unknown(memory) {
        let text = format!(" what allocators keep without using it is not known: {reason}.");
        page.marked("Slack:", Color::Yellow, &text)?;
    }
    Ok(())
}

fn write_row(
    page: &mut Page<'_>,
    numbers: &[String; 3],
    picture: &str,
    name: &str,
    columns: usize,
) -> io::Result<()> {
    let mut line = Line::default();
    for text in numbers {
        line.push_fmt(format_args!("{text:>NUMBER$}"), Style::PLAIN);
    }
    line.push_spaces(2);
    line.push_fmt(
        format_args!("{picture:<columns$}"),
        Style::color(Color::Cyan),
    );
    line.push_spaces(2);
    line.push(name, Style::PLAIN);
    line.truncate(page.columns);
    page.line(&mut line)
}

fn rows(memory: &ProcessMemory<'_>, span: Span) -> Vec<Row> {
    let reading_of = |field: fn(&Gauge) -> Option<u64>| move |at: usize| field(memory.readings[at]);
    let used = |field: fn(&Use) -> Option<Figure>| {
        move |at: usize| field(&memory.uses[at]).map(|figure| figure.value)
    };
    let since = match memory.is_forked {
        true => ", since it was forked",
        false => "",
    };
    let in_use = format!("heap in use{}{since}", margin(memory, |used| used.in_use));
    let slack = format!(
        "slack: kept, in no block{}",
        margin(memory, |used| used.slack)
    );
    // The kernel's own peak, which includes the time between two readings.
    let resident = Row {
        name: "in memory (RSS)".to_owned(),
        most: memory.peak,
        most_at: (!memory.peak_is_earlier).then_some(memory.peak_at),
        end: memory.end,
        stretches: memory.stretches(span.from, span.to, span.columns),
    };
    let all: [(String, Value<'_>); 5] = [
        ("its part of that (PSS)".to_owned(), &proportional(memory)),
        (in_use, &used(|used| used.in_use)),
        (slack, &used(|used| used.slack)),
        (
            format!("mapped by itself{since}"),
            &used(|used| used.mapped),
        ),
        (
            "Python’s arenas".to_owned(),
            &reading_of(|look| Some(look.arenas)),
        ),
    ];
    let others = (all.into_iter()).filter_map(|(name, value)| row(memory, span, name, value));
    let mut rows: Vec<Row> = iter::once(resident).chain(others).collect();
    // What the program had none of needs no row; its heap has one, however small.
    let has_row = |row: &Row| row.most > 0 || row.name.starts_with("heap");
    rows.retain(has_row);
    rows
}

/// The resident memory less others' parts of shared pages: these are read more seldom, and change
/// little.
fn proportional(memory: &ProcessMemory<'_>) -> impl Fn(usize) -> Option<u64> {
    let mut others = None;
    let each = memory.readings.iter().map(|look| {
        let seen = look
            .proportional
            .map(|part| look.resident.saturating_sub(part));
        others = seen.or(others);
        others.map(|others| look.resident.saturating_sub(others))
    });
    let each: Vec<Option<u64>> = each.collect();
    move |at| each.get(at).copied().flatten()
}

/// The row of a value; `None` if the value is unknown.
fn row(memory: &ProcessMemory<'_>, span: Span, name: String, value: Value<'_>) -> Option<Row> {
    let known = (0..memory.readings.len()).filter_map(|at| Some((at, value(at)?)));
    let (most_at, most) = known.clone().rev().max_by_key(|&(_, value)| value)?;
    let (_, end) = known.last()?;
    let stretches = memory.largest(span.from, span.to, span.columns, value);
    Some(Row {
        name,
        most,
        most_at: Some(memory.readings[most_at].time),
        end,
        stretches: (stretches.into_iter())
            .map(|at| at.and_then(value))
            .collect(),
    })
}

/// The largest margin of error of an estimate.
fn margin(memory: &ProcessMemory<'_>, field: impl Fn(&Use) -> Option<Figure>) -> String {
    let margins = memory.uses.iter().filter_map(&field);
    match margins.map(|figure| figure.margin()).max() {
        None | Some(0) => String::new(),
        Some(margin) => format!(" (±{})", bytes(margin)),
    }
}

/// Page faults have no size: they have a scale of their own.
fn write_faults(page: &mut Page<'_>, memory: &ProcessMemory<'_>, span: Span) -> io::Result<()> {
    let faults = |at: usize| {
        let look = memory.readings[at];
        look.minor_faults.saturating_add(look.major_faults)
    };
    let until = memory.largest(span.from, span.to, span.columns, |at| Some(faults(at)));
    let mut before = faults(0);
    let each: Vec<Option<u64>> = (until.iter())
        .map(|at| {
            let now = faults((*at)?);
            let more = now.saturating_sub(before);
            before = now;
            Some(more)
        })
        .collect();
    let (at, most) = (each.iter().enumerate())
        .filter_map(|(at, faults)| Some((at, (*faults)?)))
        .rev()
        .max_by_key(|&(_, faults)| faults)
        .unwrap_or((0, 0));
    let stretch = (span.to.0 - span.from.0) as f64 / span.columns.max(1) as f64;
    let rate = most as f64 / (stretch / 1e9).max(1e-9);
    let all = memory.minor_faults.saturating_add(memory.major_faults);
    let numbers = [
        format!("{}/s", short_count(rate.round() as u64)),
        duration(span.from.0 + (stretch * at as f64) as u64),
        short_count(all),
    ];
    write_row(
        page,
        &numbers,
        &sparkline(&each, most),
        "page faults",
        span.columns,
    )
}

/// The reason why the memory that allocators keep is not known, though their blocks are.
fn unknown(memory: &ProcessMemory<'_>) -> Option<&'static str> {
    let is_known = |used: &Use| used.slack.is_some();
    let in_use = memory
        .uses
        .iter()
        .rev()
        .find(|used| used.in_use.is_some())?;
    if memory.is_forked {
        return Some("the process began as a copy of another one, with that one’s memory");
    }
    if is_known(in_use) {
        return None;
    }
    Some(
        match memory.readings.iter().any(|look| look.elsewhere.is_some()) {
            true => {
                "there is less in memory than in blocks, so that parts of them were never touched"
            }
            false => "the kernel has not told whose the process’s pages are",
        },
    )
}
