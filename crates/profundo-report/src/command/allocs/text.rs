//! Allocations as text. The numbers of blocks and their lifetimes need a wider screen.

use std::borrow::Borrow;
use std::cell::RefCell;
use std::io;

use profundo_analysis::{
    Allocations, Figure, Filter, HeapLine, Held, Holding, Leak, Peak, Place, Selection, Sum, Whole,
    goes_on,
};
use profundo_model::{Domain, Engine, FileId, ProcessId, Profile};
use rustc_hash::FxHashMap;

use super::table::{self, Known, Of, Row, SIZE};
use super::{Allocs, names};
use crate::command::{BOLD, GRAY, heat};
use crate::naming::Names;
use crate::naming::source::{Source, shown};
use crate::naming::statements::Statements;
use crate::page::Page;
use crate::page::line::{Line, Style};
use crate::page::palette::Color;
use crate::page::units::{bytes, counted, duration, percent, whole_percent};
use crate::page::width::{keep_head, keep_tail, width};
use crate::quality::how_allocations;
use crate::table::Table;

/// Seconds in which a leak would show.
const LONG_ENOUGH: f64 = 1.0;

/// The number of samples that make a size more than a guess.
const SUPPORT: u64 = 3;

/// Writes the report.
pub(super) fn write(view: &Allocs, page: &mut Page<'_>, _: &Selection) -> io::Result<()> {
    let statements = view.statements_of(page.profile);
    let Some(found) = view.found(page.profile, &statements) else {
        let text = super::why_none(page.profile);
        return page.marked("Warning:", Color::Yellow, text);
    };
    let names = names(page.profile, &found);
    let known = Known::new(&found, page.columns);
    let places = Places::new(&names, &statements, view.from_disk);
    let is_shown = Shown {
        is_exact: known.is_exact,
        small_rows: view.small_rows,
        limit: view.limit,
    };
    crate::quality::write_grave(page, view.options.quality, &[Whole::Allocated])?;
    write_total(page, &found)?;
    page.plain("")?;
    let trend = if known.is_wide { 12 } else { 8 };
    let table = table::lines(known, &statements, trend, |page, line, row| match row.of {
        Of::One(of) => places.push(page, line, of.of),
        Of::Rest(count) => push_rest(line, count),
    });
    is_shown.write(page, &table, &found.lines, |row| row.held)?;
    page.plain("")?;
    let table = table::functions(known, &statements, |page, line, row| match row.of {
        Of::One(of) => push_function(page, line, &names, of.of),
        Of::Rest(count) => push_rest(line, count),
    });
    is_shown.write(page, &table, &found.functions, |row| row.held)?;
    write_types(page, &found, known, is_shown)?;
    write_peaks(page, &found, &places, view.limit.min(5))?;
    write_leaks(page, &found.leaks, &places, view.limit)?;
    write_unreachable(page, &found, &places, view.limit)?;
    write_copies(page, &found, &places, view.limit)?;
    page.plain("")?;
    view.write_end(page, &found)
}

impl Allocs {
    fn write_end(&self, page: &mut Page<'_>, found: &Allocations) -> io::Result<()> {
        if let Some(words) = self.options.choices.words() {
            page.marked("Only:", Color::Cyan, &format!(" {words}."))?;
            if !have_sums_passed(page.profile, &self.options.choices.filter) {
                page.marked("Note:", Color::Cyan, SUMS_DO_NOT_PASS)?;
            }
        }
        if self.options.quality != Some(false) {
            let records = found.total.allocated.seen();
            page.sentence(&how_allocations(
                page.profile,
                found.sampling,
                found.coarsest,
                records,
            ))?;
            for note in &page.profile.meta.notes {
                page.marked("Note:", Color::Cyan, &format!(" {note}"))?;
            }
        }
        Ok(())
    }
}

/// Whether there are no sums of allocations, or they can pass the filter.
fn have_sums_passed(profile: &Profile, filter: &Filter) -> bool {
    profile.heap.sites.is_empty() || filter.is_timeless()
}

const SUMS_DO_NOT_PASS: &str = " what was allocated is summed up by process and stack here, so that it \
    passes no filter on threads, tasks, spans or time.";

/// The section of a summary: the largest lines, the peak, and what leaks.
pub(in crate::command) fn write_memory(
    page: &mut Page<'_>,
    found: &Allocations,
    filter: &Filter,
    names: &Names<'_>,
    limit: usize,
    from_disk: bool,
) -> io::Result<()> {
    let profile = page.profile;
    if !have_sums_passed(profile, filter) {
        return page.marked("Memory:", Color::Cyan, SUMS_DO_NOT_PASS);
    }
    let known = Known::new(found, page.columns);
    let statements = Statements::none(profile);
    let places = Places::new(names, &statements, from_disk);
    let limit = limit.min(5);
    let is_shown = Shown {
        is_exact: known.is_exact,
        small_rows: false,
        limit,
    };
    let trend = if known.is_wide { 12 } else { 8 };
    let table = table::lines(known, &statements, trend, |page, line, row| {
        places.push(page, line, row.one().and_then(|line| line.of));
    });
    let shown = is_shown.count(found.lines.iter().map(|row| row.held));
    let rows = found.lines.iter().take(shown);
    write_rows(page, &table, rows.map(|row| Row::new(row, row.held)))?;
    let others = found.lines.get(shown..).unwrap_or_default();
    if !others.is_empty() {
        let sum = others.iter().map(|row| row.held.allocated.bytes().value);
        let all = found.total.allocated.bytes().value.max(1);
        let share = percent(sum.sum::<u64>() as f64 / all as f64);
        let text = format!("{share:>6}  {}", counted(others.len() as u64, "other line"));
        let mut line = Line::default();
        line.push(&text, GRAY);
        page.line(&mut line)?;
    }
    write_total(page, found)?;
    write_leaks(page, &found.leaks, &places, limit)?;
    write_unreachable(page, found, &places, limit)
}

fn write_total(page: &mut Page<'_>, found: &Allocations) -> io::Result<()> {
    let (held, heap) = (&found.total, &page.profile.heap);
    let is_foreign = page.profile.meta.engine == Engine::Unknown;
    let when = match goes_on(page.profile, ProcessId(0)) {
        // Sums have no final frees that could be told from the others.
        _ if is_foreign && heap.blocks.is_empty() && heap.moments.is_empty() => {
            "at the end of the file"
        }
        true => "at the end of the recording",
        false => "when the program began to end",
    };
    let mut text = format!(" {} allocated", figure(held.allocated.bytes()));
    // Files of other tools may know neither the number of blocks nor what was freed.
    let live = held.live.bytes().value;
    if held.allocated.count().value > 0 || !is_foreign {
        text += &format!(" in {}", blocks(&held.allocated));
    }
    if live > 0 || !is_foreign {
        text += &format!(", {} of them live {when}", bytes(live));
    }
    let peak = highest(&found.peaks).map(|peak| (peak.time.0, peak.held.bytes()));
    match peak.filter(|(_, most)| most.value > 0 || !is_foreign) {
        Some((0, most)) if is_foreign => text += &format!("; at most {} at once", figure(most)),
        Some((time, most)) => text += &format!("; most at {}: {}", duration(time), figure(most)),
        None => {}
    }
    if held.share_of(Domain::Mapped) >= 0.005 {
        let share = whole_percent(held.share_of(Domain::Mapped));
        text += &format!("; {share} % are the kernel's pages");
    }
    let is_searched = !page.profile.heap.searched.is_empty();
    let has_leaks = !found.leaks.is_empty() || !unreachable(found).is_empty();
    let knows_frees = live > 0 || !is_foreign;
    if !has_leaks && knows_frees && (is_searched || found.seconds >= LONG_ENOUGH) {
        text += "; no leak was found";
    }
    page.marked("Memory:", Color::Cyan, &format!("{text}."))
}

fn highest(peaks: &[Peak]) -> Option<&Peak> {
    peaks.iter().max_by_key(|peak| peak.held.bytes().value)
}

fn blocks(sum: &Sum) -> String {
    let count = sum.count();
    match count.is_exact() {
        true => counted(count.value, "block"),
        false => format!("about {} blocks", rounded(count.value)),
    }
}

/// An estimated number, in three digits.
fn rounded(number: u64) -> String {
    match number {
        0..10_000 => number.to_string(),
        10_000..1_000_000 => format!("{} thousand", number / 1_000),
        1_000_000..1_000_000_000 => format!("{:.1} million", number as f64 / 1e6),
        _ => format!("{:.1} billion", number as f64 / 1e9),
    }
}

/// A size with how far the truth may be from it.
fn figure(figure: Figure) -> String {
    match figure.is_exact() {
        true => bytes(figure.value),
        false => format!("{} (±{})", bytes(figure.value), bytes(figure.margin())),
    }
}

/// Writes the types in the blocks, as far as they are known.
fn write_types(
    page: &mut Page<'_>,
    found: &Allocations,
    known: Known,
    is_shown: Shown,
) -> io::Result<()> {
    if !found.types.is_empty() {
        page.plain("")?;
        let table = table::types(known, |page, line, row| {
            let of = match row.of {
                Of::One(row) => &row.of,
                Of::Rest(count) => return push_rest(line, count),
            };
            let columns = page.columns.saturating_sub(line.width());
            line.push(&keep_head(&type_of(of), columns), Style::PLAIN);
            if of.is_buffer && !of.type_name.is_empty() {
                line.push("  growing", GRAY);
            }
        });
        is_shown.write(page, &table, &found.types, |row| row.held)?;
    }
    // A remark on few bytes helps little.
    let unknown = found.needs_debug_info.bytes().value;
    let all = found.total.allocated.bytes().value;
    if unknown > 0 && unknown >= all / 20 {
        let share = percent(unknown as f64 / all.max(1) as f64);
        let text = format!(
            " debug information would tell what {share} % of these bytes hold: build with `-g`, in Rust \
             with `debug = \"line-tables-only\"` in the profile."
        );
        page.marked("Types:", Color::Cyan, &text)?;
    }
    Ok(())
}

/// The name of a type, as Julia has it where there is none.
fn type_of(held: &Held) -> String {
    match (held.type_name.as_str(), held.is_buffer) {
        ("", true) => "BufferType".to_owned(),
        ("", false) => "UnknownType".to_owned(),
        (name, _) => name.to_owned(),
    }
}

/// The holders of the most memory at the peak of all processes, the largest first.
fn write_peaks(
    page: &mut Page<'_>,
    found: &Allocations,
    places: &Places<'_>,
    limit: usize,
) -> io::Result<()> {
    let Some(peak) = highest(&found.peaks) else {
        return Ok(());
    };
    let mut rows: Vec<&HeapLine> = found.lines.iter().collect();
    let at_peak = |row: &HeapLine| row.held.at_peak.bytes().value;
    rows.sort_by_key(|row| std::cmp::Reverse(at_peak(row)));
    rows.retain(|row| at_peak(row) > 0);
    if rows.is_empty() {
        return Ok(());
    }
    page.plain("")?;
    let mut line = Line::default();
    let several = match found.peaks.len() {
        1 => String::new(),
        many => format!(", and in all of {many} processes, each at its own"),
    };
    let title = format!(
        "{:>6}{:>SIZE$}  Who held it at the peak, at {}{several}",
        "Peak %",
        "Holding",
        duration(peak.time.0)
    );
    line.push(&title, BOLD);
    line.truncate(page.columns);
    page.line(&mut line)?;
    let all: u64 = found.peaks.iter().map(|peak| peak.held.bytes().value).sum();
    for row in rows.iter().take(limit) {
        let share = at_peak(row) as f64 / all.max(1) as f64;
        line.push_fmt(format_args!("{:>6}", percent(share)), heat(share));
        line.push_fmt(
            format_args!("{:>SIZE$}  ", bytes(at_peak(row))),
            Style::PLAIN,
        );
        places.push(page, &mut line, row.of);
        line.truncate(page.columns);
        page.line(&mut line)?;
    }
    Ok(())
}

fn write_leaks(
    page: &mut Page<'_>,
    leaks: &[Leak],
    places: &Places<'_>,
    limit: usize,
) -> io::Result<()> {
    if leaks.is_empty() {
        return Ok(());
    }
    page.plain("")?;
    let table = table::leaks(places.statements, |page, line, leak| {
        places.push(page, line, leak.of);
    });
    write_rows(page, &table, leaks.iter().take(limit))
}

/// Writes the blocks that were unreachable when their process ended.
fn write_unreachable(
    page: &mut Page<'_>,
    found: &Allocations,
    places: &Places<'_>,
    limit: usize,
) -> io::Result<()> {
    let rows = unreachable(found);
    if rows.is_empty() {
        return Ok(());
    }
    page.plain("")?;
    let table = table::unreachable(found, places.statements, |page, line, row| {
        places.push(page, line, row.of);
    });
    write_rows(page, &table, rows.into_iter().take(limit))
}

/// The lines with unreachable blocks at the end, the largest first.
pub(in crate::command) fn unreachable(found: &Allocations) -> Vec<&HeapLine> {
    let size = |row: &HeapLine| row.held.unreachable.bytes().value;
    let has_some = |row: &&HeapLine| row.held.unreachable.seen() > 0;
    let mut rows: Vec<&HeapLine> = found.lines.iter().filter(has_some).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(size(row)));
    rows
}

fn write_copies(
    page: &mut Page<'_>,
    found: &Allocations,
    places: &Places<'_>,
    limit: usize,
) -> io::Result<()> {
    if found.copies.is_empty() {
        return Ok(());
    }
    page.plain("")?;
    let table = table::copies(found, places.statements, |page, line, row| {
        places.push(page, line, row.of);
    });
    write_rows(page, &table, found.copies.iter().take(limit))
}

/// A number in at most five characters and a letter.
pub(super) fn short_count(number: u64) -> String {
    match number {
        0..100_000 => number.to_string(),
        100_000..10_000_000 => format!("{}k", number / 1_000),
        10_000_000..10_000_000_000 => format!("{}M", number / 1_000_000),
        _ => format!("{}G", number / 1_000_000_000),
    }
}

/// The rows that are shown, of those that are in order.
#[derive(Clone, Copy)]
struct Shown {
    is_exact: bool,
    /// True if rows of one or two samples are shown like others.
    small_rows: bool,
    limit: usize,
}

impl Shown {
    /// The number of rows that are shown, of these. A size that one or two samples support is
    /// hardly a guess, so the first few rows are shown whatever they rest on, and others only with
    /// more samples than that.
    fn count(self, rows: impl Iterator<Item = Holding>) -> usize {
        const ALWAYS: usize = 3;
        let is_supported =
            |held: &Holding| self.is_exact || self.small_rows || held.allocated.seen() >= SUPPORT;
        let rows = rows.take(self.limit).enumerate();
        rows.take_while(|(at, held)| *at < ALWAYS || is_supported(held))
            .count()
    }

    /// Writes a table: its titles, the rows that are shown, and what the others add up to.
    fn write<'a, T>(
        self,
        page: &mut Page<'_>,
        table: &Table<'a, Row<'a, T>>,
        rows: &'a [T],
        held: fn(&T) -> Holding,
    ) -> io::Result<()> {
        let (shown, others) = rows.split_at(self.count(rows.iter().map(held)));
        let mut sum = Holding::default();
        others.iter().for_each(|row| sum += held(row));
        let rest = (!others.is_empty()).then_some(Row {
            held: sum,
            of: Of::Rest(others.len() as u64),
        });
        let shown = shown.iter().map(|row| Row::new(row, held(row)));
        write_rows(page, table, shown.chain(rest))
    }
}

/// Writes the titles of a table and these rows.
fn write_rows<R>(
    page: &mut Page<'_>,
    table: &Table<'_, R>,
    rows: impl Iterator<Item = impl Borrow<R>>,
) -> io::Result<()> {
    let mut line = Line::default();
    table.push_titles(&mut line);
    line.truncate(page.columns);
    page.line(&mut line)?;
    for row in rows {
        table.push_row(page, &mut line, row.borrow());
        line.truncate(page.columns);
        page.line(&mut line)?;
    }
    Ok(())
}

fn push_rest(line: &mut Line, rows: u64) {
    line.push_fmt(format_args!("{rows} more"), GRAY);
}

/// The names of files and functions, and the text of lines.
struct Places<'a> {
    names: &'a Names<'a>,
    statements: &'a Statements<'a>,
    from_disk: bool,
    sources: RefCell<FxHashMap<FileId, Source>>,
}

impl<'a> Places<'a> {
    fn new(names: &'a Names<'a>, statements: &'a Statements<'a>, from_disk: bool) -> Self {
        Self {
            names,
            statements,
            from_disk,
            sources: RefCell::default(),
        }
    }

    /// Adds a line's place, and its text or else its function.
    fn push(&self, page: &mut Page<'_>, line: &mut Line, of: Option<Place>) {
        let Some(place) = of else {
            return line.push("[the runtime itself]", GRAY);
        };
        let number = self.statements.line(place);
        let at = self.names.at_line(place, number);
        let file = match place {
            Place::Frame(frame) => page.profile.frames.get(frame).file,
            _ => FileId(0),
        };
        let room = page.columns.saturating_sub(line.width());
        let text = self.source(page.profile, file, number);
        let text = text.unwrap_or_else(|| self.names.function(place).to_owned());
        if !at.is_empty() {
            // The end of a path and the start of a line are the most specific parts.
            let for_text = width(&text).min(room / 2);
            let at = keep_tail(&at, room.saturating_sub(for_text + 2).max(10));
            line.link = page.link(file, number);
            let style = Style {
                link: true,
                ..Style::color(Color::Blue)
            };
            line.push(&at, style);
            line.push_spaces(2);
        }
        line.push(&text, Style::PLAIN);
    }

    fn source(&self, profile: &Profile, file: FileId, number: u32) -> Option<String> {
        if number == 0 {
            return None;
        }
        let mut sources = self.sources.borrow_mut();
        let source = sources.entry(file);
        let source = source.or_insert_with(|| Source::of(profile, file, self.from_disk));
        let text = source.line(profile, file, number)?;
        Some(shown(text).trim().to_owned()).filter(|text| !text.is_empty())
    }
}

/// The margin of error of a size, as a share of it.
pub(super) fn plus_minus(figure: Figure) -> String {
    let share = figure.margin() as f64 / figure.value.max(1) as f64 * 100.0;
    match share {
        none if none <= 0.0 => String::new(),
        tiny if tiny < 9.95 => format!("±{tiny:.1}%"),
        some if some < 99.5 => format!("±{some:.0}%"),
        // The truth may be twice as much, or hardly anything.
        _ => "rough".to_owned(),
    }
}

/// Adds a function's name and its file.
fn push_function(page: &Page<'_>, line: &mut Line, names: &Names<'_>, of: Option<Place>) {
    let columns = page.columns.saturating_sub(line.width());
    let Some(place) = of else {
        return line.push("[the runtime itself]", GRAY);
    };
    line.push(&keep_head(&names.alone(place), columns), Style::PLAIN);
    if let Place::Frame(frame) = place {
        let file = names.file(page.profile.frames.get(frame).file);
        line.push_spaces(2);
        line.push(&file, GRAY);
    }
}
