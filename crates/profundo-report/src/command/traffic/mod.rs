//! Bytes read and written: by file, and by line.

mod table;

use std::io;

use profundo_analysis::{Io as Answer, IoAmount, IoRow, Selection, Whole, io as answer, io_joined};
use profundo_model::Profile;

use super::{BOLD, GRAY, View, ViewOptions, write_empty, write_end};
use crate::Choices;
use crate::json::Json;
use crate::naming::Names;
use crate::naming::statements::Statements;
use crate::page::Page;
use crate::page::line::{Line, Style};
use crate::page::palette::Color;
use crate::page::units::bytes;
use crate::page::width::keep_tail;
use crate::table::{Table, undrawn};
use table::{Of, Row};

/// The name of bytes without a file.
const NO_FILE: &str = "[file not known]";
/// The name of bytes without a line.
const NO_LINE: &str = "[line not known]";
/// The name of bytes that no sample was near to.
const UNSEEN: &str = "[without a sample]";

/// A report on bytes read and written, by file and by line.
#[derive(Debug, Clone)]
pub struct Io {
    options: ViewOptions,
    limit: usize,
    from_disk: bool,
    statements: bool,
}

impl Default for Io {
    fn default() -> Self {
        Self {
            options: ViewOptions::default(),
            limit: 40,
            from_disk: true,
            statements: false,
        }
    }
}

impl Io {
    /// A report of all files and lines, but for the smallest of very many.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the number of files and of lines that are shown at most.
    pub fn limit(mut self, rows: usize) -> Self {
        self.limit = rows;
        self
    }

    /// Sets whether a statement that stands on several lines counts as one, at its first line.
    pub fn statements(mut self, statements: bool) -> Self {
        self.statements = statements;
        self
    }

    /// Sets whether the text of statements that the profile does not carry is looked for on the
    /// disk.
    pub fn from_disk(mut self, from_disk: bool) -> Self {
        self.from_disk = from_disk;
        self
    }

    fn found<'a>(&self, profile: &'a Profile, selection: &Selection) -> (Answer, Statements<'a>) {
        let choices = &self.options.choices;
        let statements = Statements::new(profile, self.statements, self.from_disk);
        let found = match statements.is_asked() {
            true => {
                let first = |file, line| statements.first(file, line);
                io_joined(profile, selection, &choices.filter, choices.shown, first)
            }
            false => of(profile, selection, choices),
        };
        (found, statements)
    }
}

impl View for Io {
    fn name(&self) -> &'static str {
        "io"
    }

    fn options(&self) -> &ViewOptions {
        &self.options
    }

    fn options_mut(&mut self) -> &mut ViewOptions {
        &mut self.options
    }

    fn text(&self, page: &mut Page<'_>, selection: &Selection) -> io::Result<()> {
        let profile = page.profile;
        let (found, statements) = self.found(profile, selection);
        if profile.traffic.is_empty() {
            let text = " what is read and written was not recorded: that wants `--wall`, and a kernel \
                        that counts it (see `profundo doctor`).";
            return page.marked("Warning:", Color::Yellow, text);
        }
        if found == Answer::default() && write_empty(page, &self.options.choices, selection)? {
            return Ok(());
        }
        let names = Names::of_places(profile, found.lines.iter().filter_map(|row| row.of));
        crate::quality::write_grave(page, self.options.quality, &[Whole::Traffic])?;
        write(page, &found, &names, &statements, self.limit)?;
        page.plain("")?;
        let mut total = Line::default();
        table::total().push_row(page, &mut total, &found.total);
        total.push("in all", BOLD);
        total.truncate(page.columns);
        page.line(&mut total)?;
        let (fetched, stored) = (found.storage.fetched, found.storage.stored);
        if fetched > 0 || stored > 0 {
            let text = format!(
                " {} fetched from it, {} to be written to it.",
                bytes_or_none(fetched),
                bytes_or_none(stored)
            );
            page.marked("Storage:", Color::Cyan, &text)?;
        }
        page.plain("")?;
        write_end(page, &self.options.choices, selection, self.options.quality)
    }

    fn members(&self, profile: &Profile, selection: &Selection, json: &mut Json<'_>) {
        let (found, statements) = self.found(profile, selection);
        members(json, &statements, &found);
    }
}

/// The bytes read and written in a selection.
pub(super) fn of(profile: &Profile, selection: &Selection, choices: &Choices) -> Answer {
    answer(profile, selection, &choices.filter, choices.shown)
}

/// Writes both tables, as far as `limit`; or a sentence, where no file and no line of it is known.
pub(super) fn write(
    page: &mut Page<'_>,
    found: &Answer,
    names: &Names<'_>,
    statements: &Statements<'_>,
    limit: usize,
) -> io::Result<()> {
    if !is_known(found) && found.unseen.read + found.unseen.written > 0 {
        let text = format!(
            " {} read and {} written, in calls too short to be sampled: their files and lines are not known.",
            bytes_or_none(found.unseen.read),
            bytes_or_none(found.unseen.written)
        );
        return page.marked("I/O:", Color::Cyan, &text);
    }
    let files = table::files(|page, line, row| {
        let file = match row.of {
            Of::One(Some(file)) => file,
            Of::One(None) => return line.push(NO_FILE, GRAY),
            ref other => return push_others(line, other),
        };
        let columns = page.columns.saturating_sub(line.width());
        line.push(&keep_tail(file, columns.max(20)), Style::color(Color::Blue));
    });
    write_table(page, &files, &found.files, found, limit)?;
    page.plain("")?;
    let lines = table::lines(statements, |_, line, row| {
        let at = match row.of {
            Of::One(Some(at)) => *at,
            Of::One(None) => return line.push(NO_LINE, GRAY),
            ref other => return push_others(line, other),
        };
        let place = names.at_line(at, statements.line(at));
        if !place.is_empty() {
            line.push(&place, Style::color(Color::Blue));
            line.push_spaces(2);
        }
        line.push(names.function(at), Style::PLAIN);
    });
    write_table(page, &lines, &found.lines, found, limit)
}

fn push_others<K>(line: &mut Line, of: &Of<'_, K>) {
    match of {
        Of::Others(count) => line.push_fmt(format_args!("{count} more"), GRAY),
        _ => line.push(UNSEEN, GRAY),
    }
}

/// True if any file or any line is known.
fn is_known(found: &Answer) -> bool {
    found.files.iter().any(|row| row.of.is_some()) || found.lines.iter().any(|row| row.of.is_some())
}

fn write_table<'a, K>(
    page: &mut Page<'_>,
    table: &Table<'a, Row<'a, K>>,
    rows: &'a [IoRow<K>],
    found: &Answer,
    limit: usize,
) -> io::Result<()> {
    let mut line = Line::default();
    table.push_titles(&mut line);
    line.truncate(page.columns);
    page.line(&mut line)?;
    let unseen = (found.unseen.read > 0 || found.unseen.written > 0).then_some(Row {
        amount: found.unseen,
        of: Of::Unseen,
    });
    let rest = rows.get(limit..).unwrap_or_default();
    let mut sum = IoAmount::default();
    rest.iter().for_each(|row| sum += row.amount);
    let others = (!rest.is_empty()).then_some(Row {
        amount: sum,
        of: Of::Others(rest.len()),
    });
    let shown = rows.iter().take(limit).map(Row::one);
    for row in shown.chain(unseen).chain(others) {
        table.push_row(page, &mut line, &row);
        line.truncate(page.columns);
        page.line(&mut line)?;
    }
    Ok(())
}

fn bytes_or_none(number: u64) -> String {
    match number {
        0 => "nothing".to_owned(),
        number => bytes(number),
    }
}

/// Writes the traffic as JSON.
pub(super) fn members(json: &mut Json<'_>, statements: &Statements<'_>, found: &Answer) {
    table::total().members(json, &found.total);
    json.number("unseen_read_bytes", found.unseen.read);
    json.number("unseen_written_bytes", found.unseen.written);
    json.number("fetched_bytes", found.storage.fetched);
    json.number("stored_bytes", found.storage.stored);
    let files = table::files(undrawn);
    json.array("files", |json| {
        for row in &found.files {
            json.row("", |json| files.members(json, &Row::one(row)));
        }
    });
    let lines = table::lines(statements, undrawn);
    json.array("lines", |json| {
        for row in &found.lines {
            json.object("", |json| lines.members(json, &Row::one(row)));
        }
    });
}

/// True if there is so much traffic that other reports show a table of it.
pub(super) fn matters(found: &Answer, all: u64) -> bool {
    /// A program reads as much of its own libraries, without any wait that would show the line.
    const UNKNOWN: u64 = 32_000_000;
    const KNOWN: u64 = 1_000_000;
    let least = if is_known(found) { KNOWN } else { UNKNOWN };
    let bytes = found.total.read.saturating_add(found.total.written);
    bytes >= least || found.total.time() > all / 100
}

#[cfg(test)]
pub(super) fn schemas() -> Vec<(&'static str, Vec<String>)> {
    let profile = Profile::default();
    vec![
        table::total().schema(),
        table::files(undrawn).schema(),
        table::lines(&Statements::none(&profile), undrawn).schema(),
    ]
}
