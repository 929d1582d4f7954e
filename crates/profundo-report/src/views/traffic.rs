//! What was read and written: by file, and by line.

use std::io;

use profundo_analysis::{Io as Answer, IoAmount, IoRow, Selection, Whole, io as answer};
use profundo_model::Profile;

use super::{BOLD, GRAY, place, view, write_empty, write_end};
use crate::json::Json;
use crate::line::{Line, Style};
use crate::names::Names;
use crate::palette::Color;
use crate::printer::Page;
use crate::units::{bytes, duration};
use crate::width::keep_tail;
use crate::{Choices, Look};

/// What has no file.
const NO_FILE: &str = "[file not known]";
/// What has no line.
const NO_LINE: &str = "[line not known]";
/// What no sample was near to.
const UNSEEN: &str = "[without a sample]";

/// How wide a number is.
const NUMBER: usize = 9;

/// What was read and written, by file and by line.
#[derive(Debug, Clone)]
pub struct Io {
    choices: Choices,
    look: Look,
    quality: Option<bool>,
    limit: usize,
}

impl Default for Io {
    fn default() -> Self {
        Self {
            choices: Choices::command(),
            look: Look::default(),
            quality: None,
            limit: 40,
        }
    }
}

view!(Io);

impl Io {
    /// All files and lines, but for the smallest of very many.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many files and how many lines are shown at most.
    pub fn limit(mut self, rows: usize) -> Self {
        self.limit = rows;
        self
    }

    fn report(&self) -> &'static str {
        "io"
    }

    fn text(&self, page: &mut Page<'_>, selection: &Selection) -> io::Result<()> {
        let profile = page.profile;
        let found = of(profile, selection, &self.choices);
        if profile.traffic.is_empty() {
            let text = " what is read and written was not recorded: that wants `--wall`, and a kernel \
                        that counts it (see `profundo doctor`).";
            return page.marked("Warning:", Color::Yellow, text);
        }
        if found == Answer::default() && write_empty(page, &self.choices, selection)? {
            return Ok(());
        }
        let names = Names::of_places(profile, found.lines.iter().filter_map(|row| row.of));
        crate::quality::write_grave(page, self.quality, &[Whole::Traffic])?;
        write(page, &found, &names, self.limit)?;
        page.plain("")?;
        let mut total = Line::default();
        push_amount(&mut total, &found.total);
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
        write_end(page, &self.choices, selection, self.quality)
    }

    fn members(&self, profile: &Profile, selection: &Selection, json: &mut Json<'_>) {
        let found = of(profile, selection, &self.choices);
        members(json, profile, &found);
    }
}

/// What was read and written in a selection.
pub(super) fn of(profile: &Profile, selection: &Selection, choices: &Choices) -> Answer {
    answer(profile, selection, &choices.filter, choices.shown)
}

/// Writes both tables, as far as `limit`; or a sentence, where no file and no line of it is known.
pub(super) fn write(
    page: &mut Page<'_>,
    found: &Answer,
    names: &Names<'_>,
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
    write_titles(page, "Files that are read and written")?;
    write_rows(page, &found.files, found, limit, |line, of, columns| {
        let Some(file) = of else {
            return line.push(NO_FILE, GRAY);
        };
        let columns = columns.saturating_sub(line.width());
        line.push(&keep_tail(file, columns.max(20)), Style::color(Color::Blue));
    })?;
    page.plain("")?;
    write_titles(page, "Lines that read and write")?;
    write_rows(page, &found.lines, found, limit, |line, of, _| {
        let Some(at) = *of else {
            return line.push(NO_LINE, GRAY);
        };
        let place = names.at(at);
        if !place.is_empty() {
            line.push(&place, Style::color(Color::Blue));
            line.push_spaces(2);
        }
        line.push(names.function(at), Style::PLAIN);
    })
}

/// Whether any file or any line is known.
fn is_known(found: &Answer) -> bool {
    found.files.iter().any(|row| row.of.is_some()) || found.lines.iter().any(|row| row.of.is_some())
}

fn write_titles(page: &mut Page<'_>, what: &str) -> io::Result<()> {
    let mut line = Line::default();
    for title in ["Read", "Written", "Waited", "CPU"] {
        line.push_fmt(format_args!("{title:>NUMBER$}"), BOLD);
    }
    line.push("  Samples  ", BOLD);
    line.push(what, BOLD);
    line.truncate(page.columns);
    page.line(&mut line)
}

fn write_rows<K>(
    page: &mut Page<'_>,
    rows: &[IoRow<K>],
    found: &Answer,
    limit: usize,
    push: impl Fn(&mut Line, &Option<K>, usize),
) -> io::Result<()> {
    let mut line = Line::default();
    for row in rows.iter().take(limit) {
        push_amount(&mut line, &row.amount);
        push(&mut line, &row.of, page.columns);
        line.truncate(page.columns);
        page.line(&mut line)?;
    }
    if found.unseen.read > 0 || found.unseen.written > 0 {
        push_amount(&mut line, &found.unseen);
        line.push(UNSEEN, GRAY);
        line.truncate(page.columns);
        page.line(&mut line)?;
    }
    let rest = rows.get(limit..).unwrap_or_default();
    if !rest.is_empty() {
        let mut sum = IoAmount::default();
        rest.iter().for_each(|row| sum += row.amount);
        push_amount(&mut line, &sum);
        line.push_fmt(format_args!("{} more", rest.len()), GRAY);
        line.truncate(page.columns);
        page.line(&mut line)?;
    }
    Ok(())
}

fn push_amount(line: &mut Line, amount: &IoAmount) {
    let or_nothing = |number: u64, text: fn(u64) -> String| match number {
        0 => String::new(),
        number => text(number),
    };
    let numbers = [
        or_nothing(amount.read, bytes),
        or_nothing(amount.written, bytes),
        or_nothing(amount.waited, duration),
        or_nothing(amount.cpu, duration),
        or_nothing(amount.samples, |number| number.to_string()),
    ];
    for number in numbers {
        line.push_fmt(format_args!("{number:>NUMBER$}"), Style::PLAIN);
    }
    line.push_spaces(2);
}

fn bytes_or_none(number: u64) -> String {
    match number {
        0 => "nothing".to_owned(),
        number => bytes(number),
    }
}

/// Writes all of it.
pub(super) fn members(json: &mut Json<'_>, profile: &Profile, found: &Answer) {
    amount_members(json, &found.total);
    json.number("unseen_read_bytes", found.unseen.read);
    json.number("unseen_written_bytes", found.unseen.written);
    json.number("fetched_bytes", found.storage.fetched);
    json.number("stored_bytes", found.storage.stored);
    json.array("files", |json| {
        for row in &found.files {
            json.row("", |json| {
                json.text_or_null("file", row.of.as_deref().unwrap_or(""));
                amount_members(json, &row.amount);
            });
        }
    });
    json.array("lines", |json| {
        for row in &found.lines {
            json.object("", |json| {
                match row.of {
                    Some(at) => json.row("at", |json| place(json, profile, at)),
                    None => json.null("at"),
                }
                amount_members(json, &row.amount);
            });
        }
    });
}

fn amount_members(json: &mut Json<'_>, amount: &IoAmount) {
    json.number("read_bytes", amount.read);
    json.number("written_bytes", amount.written);
    json.seconds("waited_seconds", Some(amount.waited));
    json.seconds("cpu_seconds", Some(amount.cpu));
    json.number("samples", amount.samples);
}

/// Whether it is worth a table among others.
pub(super) fn matters(found: &Answer, all: u64) -> bool {
    /// A program reads as much of its own libraries, without any wait that would tell by which line.
    const UNKNOWN: u64 = 32_000_000;
    const KNOWN: u64 = 1_000_000;
    let least = if is_known(found) { KNOWN } else { UNKNOWN };
    let bytes = found.total.read.saturating_add(found.total.written);
    bytes >= least || found.total.time() > all / 100
}
