//! The tables of processes, of commands and of threads.

mod tables;

use std::io;

use profundo_analysis::{Amount, Selection, Totals};
use profundo_model::{ProcessEnd, ProcessId, Profile};

use super::shares::KindColumns;
use crate::json::Json;
use crate::naming::signals::signal_name;
use crate::page::Page;
use crate::page::line::Line;
use crate::table::Table;
use tables::{Known, Part, share_of};

/// The rows that a table has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rows {
    /// The largest number of rows.
    pub most: usize,
    /// The least share of a row. Where none has it, or but one is without it, all are shown.
    pub least: f64,
    /// The whole of the shares.
    pub all: u64,
}

impl Rows {
    /// The rows that are shown, and those that are not. They are in order, the largest first.
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
    let known = Known::new(page.profile, totals, kinds, rows.all);
    let (shown, others) = rows.split(&totals.processes, |total| total.amount);
    let shown = shown.iter().map(|total| known.process(total));
    let others = others.iter().map(|total| known.process(total));
    write(
        page,
        &tables::processes(&known),
        shown,
        Part::rest(others, "process"),
    )
}

/// Writes the table of commands: all processes that ran a program of one name are one row.
pub(super) fn write_commands(
    page: &mut Page<'_>,
    totals: &Totals,
    kinds: KindColumns,
    rows: Rows,
) -> io::Result<()> {
    let known = Known::new(page.profile, totals, kinds, rows.all);
    let (shown, others) = rows.split(&totals.commands, |total| total.amount);
    let shown = shown.iter().map(|total| known.command(total));
    let others = others.iter().map(|total| known.command(total));
    write(
        page,
        &tables::commands(&known),
        shown,
        Part::rest(others, "command"),
    )
}

/// Writes the table of threads.
pub(super) fn write_threads(
    page: &mut Page<'_>,
    totals: &Totals,
    kinds: KindColumns,
    rows: Rows,
) -> io::Result<()> {
    let known = Known::new(page.profile, totals, kinds, rows.all);
    let (shown, others) = rows.split(&totals.threads, |total| total.amount);
    let shown = shown.iter().map(|total| known.thread(total));
    let others = others.iter().map(|total| known.thread(total));
    write(
        page,
        &tables::threads(&known),
        shown,
        Part::rest(others, "thread"),
    )
}

/// Writes a table: its titles, the rows that are shown, and what the others add up to.
fn write<'a, T: 'a>(
    page: &mut Page<'_>,
    table: &Table<'_, Part<'a, T>>,
    shown: impl Iterator<Item = Part<'a, T>>,
    rest: Option<Part<'a, T>>,
) -> io::Result<()> {
    let mut line = Line::default();
    table.push_titles(&mut line);
    page.line(&mut line)?;
    for part in shown.chain(rest) {
        table.push_row(page, &mut line, &part);
        line.truncate(page.columns);
        page.line(&mut line)?;
    }
    Ok(())
}

/// Writes the three tables as JSON.
pub(super) fn members(
    json: &mut Json<'_>,
    profile: &Profile,
    totals: &Totals,
    selection: &Selection,
) {
    let kinds = KindColumns::new(profile, selection, 0);
    let known = Known::new(profile, totals, kinds, selection.weight(profile));
    let known = known.with_ranges(selection.mass(profile));
    let processes = tables::processes(&known);
    json.array("processes", |json| {
        for total in &totals.processes {
            json.row("", |json| processes.members(json, &known.process(total)));
        }
    });
    let commands = tables::commands(&known);
    json.array("commands", |json| {
        for total in &totals.commands {
            json.row("", |json| commands.members(json, &known.command(total)));
        }
    });
    let threads = tables::threads(&known);
    json.array("threads", |json| {
        for total in &totals.threads {
            json.row("", |json| threads.members(json, &known.thread(total)));
        }
    });
}

/// The command line of a process.
pub(super) fn command(profile: &Profile, process: ProcessId) -> &str {
    let command = profile.processes.get(process.index());
    command.map_or("", |process| profile.strings.get(process.command))
}

/// The end of a process, where it is worth a word.
pub(super) fn end(end: ProcessEnd) -> Option<String> {
    match end {
        ProcessEnd::Exited(code) if code != 0 => Some(format!("exited with {code}")),
        ProcessEnd::Killed(signal) => Some(format!("killed by {}", signal_name(signal))),
        _ => None,
    }
}

#[cfg(test)]
pub(super) fn schemas() -> Vec<(&'static str, Vec<String>)> {
    let (profile, totals) = (Profile::default(), Totals::default());
    let selection = crate::Choices::command().select(&profile);
    let kinds = KindColumns::new(&profile, &selection, 0);
    let known = Known::new(&profile, &totals, kinds, 0);
    vec![
        tables::processes(&known).schema(),
        tables::commands(&known).schema(),
        tables::threads(&known).schema(),
    ]
}
