//! The table that `perf report --stdio` prints, with or without stacks below its rows.
//!
//! It has shares of two digits. Weights are the periods where these are a column, else the shares
//! of the event count in the head. A row is the weight of a function of its own; the stacks below
//! it say from where it was called.

mod columns;
mod tree;

use profundo_model::{StackId, State, ThreadId};
use rustc_hash::FxHashMap;

use super::comments;
use super::event::{Events, Sampled};
use super::symbol::Symbol;
use crate::reader::{Reader, Table};
use crate::{Builder, Error, Source};
use columns::{Column, Columns};
use tree::{Stack, Tree};

pub(crate) const READER: Reader = Reader(&Table {
    name: "perf report",
    writers: "`perf report --stdio`",
    is_start,
    fill,
});

/// Whether a head says what was sampled, and a line of titles follows.
fn is_start(start: &[u8]) -> bool {
    let text = String::from_utf8_lossy(start);
    let mut lines = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .peekable();
    let mut has_event = false;
    while let Some(line) = lines.next_if(|line| line.starts_with('#')) {
        has_event |= event_of(line).is_some();
        let below = lines.peek().copied().unwrap_or_default();
        if has_event && Columns::of(line, below).is_some() {
            return true;
        }
    }
    false
}

/// The number of samples and the event: `# Samples: 63  of event 'cpu-clock'`.
fn event_of(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_prefix("# Samples: ")?;
    let (samples, rest) = rest.split_once(" of event")?;
    let name = rest.split('\'').nth(1).unwrap_or_default();
    Some((samples.trim(), name))
}

/// A row of the table.
#[derive(Debug, Default)]
struct Row<'a> {
    /// The shares in percent.
    own: f64,
    total: f64,
    /// Nanoseconds or events, where there is a column.
    period: Option<u64>,
    samples: Option<u64>,
    thread: &'a str,
    module: &'a str,
    symbol: &'a str,
    is_kernel: bool,
    stacks: Vec<Stack>,
}

/// The table of an event.
#[derive(Debug, Default)]
struct Part<'a> {
    event: &'a str,
    samples: u64,
    /// The sum of the weights; 0 where it is unknown.
    count: u64,
    /// Whether rows count what their functions call.
    has_totals: bool,
    rows: Vec<Row<'a>>,
}

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    let text = String::from_utf8_lossy(source.bytes);
    let mut events = Events::default();
    let parts = read(&text, builder, &mut events);
    let has_stacks = (parts.iter().flat_map(|part| &part.rows)).any(|row| !row.stacks.is_empty());
    let has_counts = parts.iter().any(|part| part.count > 0);
    let mut threads = FxHashMap::default();
    for part in parts {
        add(builder, &mut events, &mut threads, &part);
    }
    events.finish(builder, source.options.value.as_deref())?;
    builder.note(match has_stacks {
        true => "`perf report` prints shares of two digits, and no times",
        false => "`perf report` printed no stacks, and no times",
    });
    if !has_counts {
        builder.note("the file has no number of events: weights are parts of 100 000");
    }
    Ok(())
}

fn read<'a>(text: &'a str, builder: &mut Builder, events: &mut Events) -> Vec<Part<'a>> {
    let mut parts: Vec<Part<'a>> = Vec::new();
    let mut columns = None;
    let mut tree: Option<Tree> = None;
    let mut command = String::new();
    let mut lines = text.lines().peekable();
    // Stacks repeat the names of their trunk, which must not take memory without bound.
    let mut room = (1 << 21) + text.len() / 4;
    let mut finish = |parts: &mut Vec<Part<'a>>, tree: Option<Tree>| {
        if let Some(row) = parts.last_mut().and_then(|part| part.rows.last_mut())
            && let Some(tree) = tree
        {
            row.stacks = tree.stacks(row.total.max(row.own), &mut room);
        }
    };
    while let Some(line) = lines.next() {
        if line.starts_with('#') {
            finish(&mut parts, tree.take());
            if let Some((samples, event)) = event_of(line) {
                columns = None;
                parts.push(Part {
                    event,
                    samples: scaled(samples),
                    ..Part::default()
                });
            } else if let Some(count) = line.strip_prefix("# Event count (approx.): ")
                && let Some(part) = parts.last_mut()
            {
                part.count = count.trim().parse().unwrap_or(0);
            } else if let Some(found) = Columns::of(line, lines.peek().copied().unwrap_or_default())
                && let Some(part) = parts.last_mut()
            {
                part.has_totals = found.has(Column::Total);
                columns = Some(found);
            } else {
                comments::take(&line.as_bytes()[1..], builder, events, &mut command);
            }
            continue;
        }
        let (Some(columns), Some(part)) = (&columns, parts.last_mut()) else {
            continue;
        };
        if let Some(row) = row(columns, line) {
            finish(&mut parts, tree.take());
            if let Some(part) = parts.last_mut() {
                part.rows.push(row);
            }
        } else if let Some(row) = part.rows.last() {
            let tree = tree.get_or_insert_default();
            tree.add(line, row.total.max(row.own));
        }
    }
    finish(&mut parts, tree);
    parts
}

/// A row, if the line is one.
fn row<'a>(columns: &Columns, line: &'a str) -> Option<Row<'a>> {
    let share = |column| {
        let cell = columns.cell(line, column).strip_suffix('%')?;
        let share: f64 = cell.trim().parse().ok()?;
        (0.0..=100.0).contains(&share).then_some(share)
    };
    let (own, total) = (share(Column::Own), share(Column::Total));
    let total = total.or(own)?;
    let number = |column| columns.cell(line, column).parse().ok();
    let symbol = columns.cell(line, Column::Symbol);
    // A mark of the part of the system stands before it.
    let (mark, symbol) = match symbol.split_once(' ') {
        Some((mark, symbol)) if mark.len() == 3 && mark.starts_with('[') => (mark, symbol.trim()),
        _ => ("", symbol),
    };
    let thread = match columns.cell(line, Column::Command) {
        "" => columns.cell(line, Column::Thread),
        command => command,
    };
    let module = columns.cell(line, Column::Module);
    let symbol = match (columns.has(Column::Symbol), module) {
        (true, _) => symbol,
        // There is nothing better.
        (false, "") => thread,
        (false, module) => module,
    };
    Some(Row {
        own: own.unwrap_or(0.0),
        total,
        period: number(Column::Period),
        samples: number(Column::Samples),
        thread,
        module,
        symbol,
        is_kernel: mark == "[k]",
        stacks: Vec::new(),
    })
}

/// `63`, `12K`, `3M`.
fn scaled(text: &str) -> u64 {
    let (digits, scale) = match text.as_bytes().last() {
        Some(b'K') => (&text[..text.len() - 1], 1_000),
        Some(b'M') => (&text[..text.len() - 1], 1_000_000),
        Some(b'G') => (&text[..text.len() - 1], 1_000_000_000),
        _ => (text, 1),
    };
    digits
        .parse::<u64>()
        .map_or(0, |number| number.saturating_mul(scale))
}

/// Adds the samples of a table.
fn add<'a>(
    builder: &mut Builder,
    events: &mut Events,
    threads: &mut FxHashMap<&'a str, ThreadId>,
    part: &Part<'a>,
) {
    let name = if part.count > 0 { part.event } else { "" };
    let event = events.id(name.as_bytes());
    let all = if part.count > 0 {
        part.count as f64
    } else {
        100_000.0
    };
    let is_callers_first = is_callers_first(part);
    let places = Places::of(part);
    for row in &part.rows {
        let weight = (row.own / 100.0 * all).round() as u64;
        let weight = row.period.unwrap_or(weight);
        if weight == 0 {
            continue;
        }
        let samples = (row.own / 100.0 * part.samples as f64).round() as u64;
        let samples = row.samples.unwrap_or(samples).max(1);
        let number = (1 << 32) + threads.len() as u64;
        let thread =
            *(threads.entry(row.thread)).or_insert_with(|| builder.thread(0, number, row.thread));
        let mut before = (0.0, 0, 0);
        // Without a column of its share, the period says it.
        let own = match row.own > 0.0 {
            true => row.own,
            false => weight as f64 / all * 100.0,
        };
        for (share, names) in stacks(part, row, own, is_callers_first) {
            let Some(stack) = places.stack(builder, row, &names) else {
                continue;
            };
            // The parts add up to the whole.
            let until = before.0 + share;
            let sum = |whole: u64| (whole as f64 * until).round() as u64;
            let (weights, counts) = (sum(weight).min(weight), sum(samples).min(samples));
            events.push(Sampled {
                event,
                period: Some(weights.saturating_sub(before.1)),
                samples: u32::try_from(counts.saturating_sub(before.2)).unwrap_or(u32::MAX),
                time: None,
                stack,
                thread,
                state: if row.is_kernel {
                    State::System
                } else {
                    State::Running
                },
            });
            before = (until, weights.max(before.1), counts.max(before.2));
        }
    }
}

/// Whether stacks are drawn from their roots: the row's function stands at their end.
fn is_callers_first(part: &Part<'_>) -> bool {
    let (mut first, mut last) = (0, 0);
    for row in part.rows.iter().filter(|row| row.own > 0.0) {
        for stack in row.stacks.iter().filter(|stack| stack.names.len() > 1) {
            first += usize::from(
                stack
                    .names
                    .first()
                    .is_some_and(|name| **name == *row.symbol),
            );
            last += usize::from(stack.names.last().is_some_and(|name| **name == *row.symbol));
        }
    }
    match part.has_totals {
        true => last >= first,
        false => last > first,
    }
}

/// The stacks of a row's own weight, from their roots, with their parts of it.
fn stacks<'a>(
    part: &Part<'_>,
    row: &'a Row<'_>,
    own: f64,
    is_callers_first: bool,
) -> Vec<(f64, Vec<&'a str>)> {
    let mut found: Vec<(f64, Vec<&str>)> = Vec::new();
    for stack in &row.stacks {
        let mut names: Vec<&str> = stack.names.iter().map(|name| &**name).collect();
        if !is_callers_first {
            names.reverse();
        } else if stack.is_cut {
            names.push(row.symbol);
        }
        // With totals, the stacks of what it calls are drawn as well.
        let ends_here = names.last().is_some_and(|&name| name == row.symbol);
        if ends_here || !part.has_totals {
            found.push((stack.share, names));
        }
    }
    let drawn: f64 = found.iter().map(|(share, _)| share).sum();
    // Small stacks are left out of the drawing.
    let left = match part.has_totals {
        true => 0.0,
        false => own - drawn,
    };
    if found.is_empty() || left > 0.02 * (found.len() + 1) as f64 {
        found.push((if found.is_empty() { own } else { left }, vec![row.symbol]));
    }
    let whole: f64 = found.iter().map(|(share, _)| share).sum();
    let even = 1.0 / found.len() as f64;
    for (share, _) in &mut found {
        *share = if whole > 0.0 { *share / whole } else { even };
    }
    found
}

/// The modules of functions, as far as rows say them.
struct Places<'a>(FxHashMap<&'a str, (&'a str, bool)>);

impl<'a> Places<'a> {
    fn of(part: &Part<'a>) -> Self {
        let rows = part.rows.iter();
        Self(
            rows.map(|row| (row.symbol, (row.module, row.is_kernel)))
                .collect(),
        )
    }

    fn stack(&self, builder: &mut Builder, row: &Row<'_>, names: &[&str]) -> Option<StackId> {
        let mut stack = None;
        for (index, &text) in names.iter().enumerate() {
            let name = text.strip_suffix(" (inlined)").unwrap_or(text);
            let (module, is_kernel) = match index + 1 == names.len() && name == row.symbol {
                true => (row.module, row.is_kernel),
                false => self.0.get(name).copied().unwrap_or_default(),
            };
            let symbol = Symbol {
                name: if is_address(name) { "" } else { name },
                module: if is_kernel { "[kernel]" } else { module },
                is_inlined: name.len() < text.len(),
                ..Symbol::default()
            };
            let frame = symbol.frame(builder);
            let module = symbol.module(builder);
            let location = builder.location_of(frame, module);
            stack = Some(builder.stack(stack, location));
        }
        stack
    }
}

/// Whether it is an address in place of a name.
fn is_address(name: &str) -> bool {
    let digits = name.strip_prefix("0x");
    let is_long = digits.is_some() || name.len() == 16;
    is_long && (digits.unwrap_or(name).bytes()).all(|byte| byte.is_ascii_hexdigit())
}
