//! Allocations as text. What there is no room for is left to wider screens: the numbers of blocks and how long they
//! live.

use std::io;

use profundo_analysis::{
    Allocations, Figure, HeapLine, Held, Holding, Leak, Peak, Place, Selection, Sum, Whole,
};
use profundo_model::{Domain, FileId, Profile, Sampling};
use rustc_hash::FxHashMap;

use super::{Allocs, names};
use crate::line::{Line, Style};
use crate::names::Names;
use crate::palette::Color;
use crate::printer::Page;
use crate::quality::how_allocations;
use crate::source::{Source, shown};
use crate::units::{bytes, counted, duration, percent, sparkline, whole_percent};
use crate::views::{BOLD, GRAY, WIDE, heat};
use crate::width::{keep_head, keep_tail, width};

/// Seconds in which a leak would show.
const LONG_ENOUGH: f64 = 1.0;

/// So many samples make a size more than a guess.
const SUPPORT: u64 = 3;

/// How wide a size is.
const SIZE: usize = 9;

impl Allocs {
    pub(super) fn text(&self, page: &mut Page<'_>, selection: &Selection) -> io::Result<()> {
        let Some(found) = self.found(page.profile, selection) else {
            let text = " what is allocated was not recorded: that wants `--memory`.";
            return page.marked("Warning:", Color::Yellow, text);
        };
        let names = names(page.profile, &found);
        let mut table = Table::new(page, &found, &names, self.from_disk);
        table.small_rows |= self.small_rows;
        crate::quality::write_grave(page, self.quality, &[Whole::Allocated])?;
        write_total(page, &found)?;
        page.plain("")?;
        table.write_titles(page, "Lines that allocate")?;
        table.write_lines(page, &found.lines, self.limit)?;
        page.plain("")?;
        table.trend = 0;
        table.write_titles(page, "Functions that allocate")?;
        let functions = found.functions.iter().map(|row| &row.held);
        let shown = table.shown(self.limit, functions);
        for row in found.functions.iter().take(shown) {
            table.write_row(page, &row.held, |page, line, columns| {
                push_function(page, line, &names, row.of, columns);
                Ok(())
            })?;
        }
        table.write_rest(page, found.functions.iter().skip(shown).map(|it| it.held))?;
        write_types(page, &found, &table, self.limit)?;
        write_peaks(page, &found, &mut table, self.limit.min(5))?;
        write_leaks(page, &found.leaks, &mut table, self.limit)?;
        write_unreachable(page, &found, &mut table, self.limit)?;
        write_copies(page, &found, &mut table, self.limit)?;
        page.plain("")?;
        self.write_end(page, &found)
    }

    fn write_end(&self, page: &mut Page<'_>, found: &Allocations) -> io::Result<()> {
        if let Some(words) = self.choices.words() {
            page.marked("Only:", Color::Cyan, &format!(" {words}."))?;
            let heap = &page.profile.heap;
            if !heap.sites.is_empty() && !self.choices.filter.is_timeless() {
                let text = " what was allocated is summed up by process and stack here, so that it \
                            passes no filter on threads, tasks or time.";
                page.marked("Note:", Color::Cyan, text)?;
            }
        }
        if self.quality != Some(false) {
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

/// The section of a summary: the largest lines, the peak, and what leaks.
pub(in crate::views) fn write_memory(
    page: &mut Page<'_>,
    found: &Allocations,
    names: &Names<'_>,
    limit: usize,
    from_disk: bool,
) -> io::Result<()> {
    let mut table = Table::new(page, found, names, from_disk);
    table.write_titles(page, "Lines that allocate")?;
    let limit = limit.min(5);
    let shown = table.shown(limit, found.lines.iter().map(|row| &row.held));
    for row in found.lines.iter().take(shown) {
        table.write_line(page, row)?;
    }
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
    write_leaks(page, &found.leaks, &mut table, limit)?;
    write_unreachable(page, found, &mut table, limit)
}

fn write_total(page: &mut Page<'_>, found: &Allocations) -> io::Result<()> {
    let held = &found.total;
    let mut text = format!(
        " {} allocated in {}, {} of them live when the program began to end",
        figure(held.allocated.bytes()),
        blocks(&held.allocated),
        bytes(held.live.bytes().value),
    );
    if let Some(peak) = highest(&found.peaks) {
        text += &format!(
            "; most at {}: {}",
            duration(peak.time.0),
            figure(peak.held.bytes())
        );
    }
    if held.share_of(Domain::Mapped) >= 0.005 {
        let share = whole_percent(held.share_of(Domain::Mapped));
        text += &format!("; {share} % are the kernel's pages");
    }
    let is_searched = !page.profile.heap.searched.is_empty();
    let has_leaks = !found.leaks.is_empty() || !unreachable(found).is_empty();
    if !has_leaks && (is_searched || found.seconds >= LONG_ENOUGH) {
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

/// What the blocks hold, as far as that is known.
fn write_types(
    page: &mut Page<'_>,
    found: &Allocations,
    table: &Table<'_>,
    limit: usize,
) -> io::Result<()> {
    if !found.types.is_empty() {
        page.plain("")?;
        table.write_titles(page, "What the blocks hold")?;
        let shown = table.shown(limit, found.types.iter().map(|row| &row.held));
        for row in found.types.iter().take(shown) {
            table.write_row(page, &row.held, |_, line, columns| {
                line.push(&keep_head(&type_of(&row.of), columns), Style::PLAIN);
                if row.of.is_buffer && !row.of.type_name.is_empty() {
                    line.push("  growing", GRAY);
                }
                Ok(())
            })?;
        }
        table.write_rest(page, found.types.iter().skip(shown).map(|it| it.held))?;
    }
    // What is said of little helps little.
    let untold = found.untold.bytes().value;
    let all = found.total.allocated.bytes().value;
    if untold > 0 && untold >= all / 20 {
        let share = percent(untold as f64 / all.max(1) as f64);
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

/// Who held most when the processes had most, the one that had most of all first.
fn write_peaks(
    page: &mut Page<'_>,
    found: &Allocations,
    table: &mut Table<'_>,
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
    let all: u64 = found.peaks.iter().map(|it| it.held.bytes().value).sum();
    for row in rows.iter().take(limit) {
        let share = at_peak(row) as f64 / all.max(1) as f64;
        line.push_fmt(format_args!("{:>6}", percent(share)), heat(share));
        line.push_fmt(
            format_args!("{:>SIZE$}  ", bytes(at_peak(row))),
            Style::PLAIN,
        );
        table.push_place(page, &mut line, row.of);
        line.truncate(page.columns);
        page.line(&mut line)?;
    }
    Ok(())
}

fn write_leaks(
    page: &mut Page<'_>,
    leaks: &[Leak],
    table: &mut Table<'_>,
    limit: usize,
) -> io::Result<()> {
    if leaks.is_empty() {
        return Ok(());
    }
    page.plain("")?;
    let mut line = Line::default();
    line.push(
        &format!(
            "{:>6}{:>SIZE$}{:>12}{:>8}  Lines that seem to leak",
            "Sure %", "At least", "a second", "Blocks"
        ),
        BOLD,
    );
    line.truncate(page.columns);
    page.line(&mut line)?;
    for leak in leaks.iter().take(limit) {
        let sure = format!("{:.0}", (leak.probability * 100.0).min(99.0));
        line.push_fmt(format_args!("{sure:>6}"), Style::color(Color::Red));
        let rate = format!("{}/s", bytes(leak.rate.max(0.0).round() as u64));
        line.push_fmt(
            format_args!(
                "{:>SIZE$}{rate:>12}{:>8}  ",
                bytes(leak.bytes.value),
                short_count(leak.count.value),
            ),
            Style::PLAIN,
        );
        table.push_place(page, &mut line, leak.of);
        line.truncate(page.columns);
        page.line(&mut line)?;
    }
    Ok(())
}

/// What nobody pointed to any more when its process ended.
fn write_unreachable(
    page: &mut Page<'_>,
    found: &Allocations,
    table: &mut Table<'_>,
    limit: usize,
) -> io::Result<()> {
    let rows = unreachable(found);
    if rows.is_empty() {
        return Ok(());
    }
    page.plain("")?;
    let mut line = Line::default();
    let (column, title) = match found.sampling {
        Sampling::All => ("", "Unreachable at exit: no pointer leads to it"),
        _ => ("±", "Unreachable at exit: no pointer leads to it"),
    };
    let title = format!(
        "{:>6}{:>SIZE$}{column:>6}{:>8}  {title}",
        "Lost %", "Size", "Blocks"
    );
    line.push(&title, BOLD);
    line.truncate(page.columns);
    page.line(&mut line)?;
    let all = found.total.unreachable.bytes().value;
    for row in rows.iter().take(limit) {
        let (size, count) = (row.held.unreachable.bytes(), row.held.unreachable.count());
        let share = size.value as f64 / all.max(1) as f64;
        line.push_fmt(
            format_args!("{:>6}", percent(share)),
            Style::color(Color::Red),
        );
        let margin = match size.is_exact() {
            true => String::new(),
            false => format!("±{}%", 100 * size.margin() / size.value.max(1)),
        };
        line.push_fmt(
            format_args!(
                "{:>SIZE$}{margin:>6}{:>8}  ",
                bytes(size.value),
                short_count(count.value)
            ),
            Style::PLAIN,
        );
        table.push_place(page, &mut line, row.of);
        line.truncate(page.columns);
        page.line(&mut line)?;
    }
    Ok(())
}

/// The lines that have something which nobody pointed to in the end, the one that has most first.
pub(in crate::views) fn unreachable(found: &Allocations) -> Vec<&HeapLine> {
    let size = |row: &HeapLine| row.held.unreachable.bytes().value;
    let has_some = |row: &&HeapLine| row.held.unreachable.seen() > 0;
    let mut rows: Vec<&HeapLine> = found.lines.iter().filter(has_some).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(size(row)));
    rows
}

fn write_copies(
    page: &mut Page<'_>,
    found: &Allocations,
    table: &mut Table<'_>,
    limit: usize,
) -> io::Result<()> {
    if found.copies.is_empty() {
        return Ok(());
    }
    page.plain("")?;
    let mut line = Line::default();
    line.push(
        &format!(
            "{:>6}{:>SIZE$}{:<6}{:>12}  Lines that copy",
            "Copy %", "Copied", " ±", "a second"
        ),
        BOLD,
    );
    line.truncate(page.columns);
    page.line(&mut line)?;
    let all = found.copied.bytes().value.max(1) as f64;
    for row in found.copies.iter().take(limit) {
        let size = row.copied.bytes();
        let share = size.value as f64 / all;
        line.push_fmt(format_args!("{:>6}", percent(share)), heat(share));
        line.push_fmt(format_args!("{:>SIZE$}", bytes(size.value)), Style::PLAIN);
        line.push_fmt(format_args!(" {:<5}", plus_minus(size)), GRAY);
        let rate = size.value as f64 / found.seconds.max(1e-9);
        let rate = format!("{}/s", bytes(rate.round() as u64));
        line.push_fmt(format_args!("{rate:>12}  "), Style::PLAIN);
        table.push_place(page, &mut line, row.of);
        line.truncate(page.columns);
        page.line(&mut line)?;
    }
    Ok(())
}

/// A number in at most five characters and a letter.
fn short_count(number: u64) -> String {
    match number {
        0..100_000 => number.to_string(),
        100_000..10_000_000 => format!("{}k", number / 1_000),
        10_000_000..10_000_000_000 => format!("{}M", number / 1_000_000),
        _ => format!("{}G", number / 1_000_000_000),
    }
}

/// The table of who has allocated what.
struct Table<'a> {
    all: f64,
    is_exact: bool,
    /// Whether rows of one or two samples are shown like others.
    small_rows: bool,
    has_python: bool,
    is_wide: bool,
    /// How many columns a trend has; 0 for none.
    trend: usize,
    names: &'a Names<'a>,
    from_disk: bool,
    sources: FxHashMap<FileId, Source>,
}

impl<'a> Table<'a> {
    fn new(page: &Page<'_>, found: &Allocations, names: &'a Names<'a>, from_disk: bool) -> Self {
        let is_wide = page.columns >= WIDE;
        Self {
            all: found.total.allocated.bytes().value as f64,
            is_exact: found.total.allocated.bytes().is_exact(),
            small_rows: false,
            has_python: found.total.share_of(Domain::Python) > 0.0,
            is_wide,
            trend: if is_wide { 12 } else { 8 },
            names,
            from_disk,
            sources: FxHashMap::default(),
        }
    }

    fn write_titles(&self, page: &mut Page<'_>, what: &str) -> io::Result<()> {
        let mut line = Line::default();
        line.push_fmt(format_args!("{:>6}{:>SIZE$}", "Size %", "Size"), BOLD);
        if !self.is_exact {
            line.push_fmt(format_args!("{:<6}", " ±"), BOLD);
        }
        if self.is_wide {
            line.push_fmt(format_args!("{:>8}", "Blocks"), BOLD);
        }
        line.push_fmt(format_args!("{:>SIZE$}{:>SIZE$}", "Live", "At peak"), BOLD);
        if self.is_wide {
            line.push_fmt(format_args!("{:>6}{:>SIZE$}", "Temp%", "Lifetime"), BOLD);
        }
        if self.has_python && self.is_wide {
            line.push_fmt(format_args!("{:>5}", "Py%"), BOLD);
        }
        if self.trend > 0 {
            let columns = self.trend;
            line.push_fmt(format_args!("  {:<columns$}", "Trend"), BOLD);
        }
        line.push_spaces(2);
        line.push(what, BOLD);
        line.truncate(page.columns);
        page.line(&mut line)
    }

    fn push_numbers(&self, line: &mut Line, held: &Holding) {
        let size = held.allocated.bytes();
        let share = size.value as f64 / self.all.max(1.0);
        line.push_fmt(format_args!("{:>6}", percent(share)), heat(share));
        line.push_fmt(format_args!("{:>SIZE$}", bytes(size.value)), Style::PLAIN);
        if !self.is_exact {
            line.push_fmt(format_args!(" {:<5}", plus_minus(size)), GRAY);
        }
        let or_nothing = |sum: &Sum| match sum.bytes().value {
            0 => String::new(),
            some => bytes(some),
        };
        if self.is_wide {
            let count = short_count(held.allocated.count().value);
            line.push_fmt(format_args!("{count:>8}"), Style::PLAIN);
        }
        line.push_fmt(
            format_args!(
                "{:>SIZE$}{:>SIZE$}",
                or_nothing(&held.live),
                or_nothing(&held.at_peak),
            ),
            Style::PLAIN,
        );
        if self.is_wide {
            let temporary = whole_percent(held.temporary_share());
            let lifetime = held.lifetime().map_or(String::new(), duration);
            line.push_fmt(
                format_args!("{temporary:>6}{lifetime:>SIZE$}"),
                Style::PLAIN,
            );
        }
        if self.has_python && self.is_wide {
            let share = whole_percent(held.share_of(Domain::Python));
            line.push_fmt(format_args!("{share:>5}"), Style::color(Color::Cyan));
        }
    }

    fn write_row(
        &self,
        page: &mut Page<'_>,
        held: &Holding,
        push: impl FnOnce(&mut Page<'_>, &mut Line, usize) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut line = Line::default();
        self.push_numbers(&mut line, held);
        line.push_spaces(2);
        let columns = page.columns.saturating_sub(line.width());
        push(page, &mut line, columns)?;
        line.truncate(page.columns);
        page.line(&mut line)
    }

    fn write_lines(
        &mut self,
        page: &mut Page<'_>,
        rows: &[HeapLine],
        limit: usize,
    ) -> io::Result<()> {
        let shown = self.shown(limit, rows.iter().map(|row| &row.held));
        for row in rows.iter().take(shown) {
            self.write_line(page, row)?;
        }
        self.write_rest(page, rows.iter().skip(shown).map(|row| row.held))
    }

    /// How many rows are shown, of these. A size that one or two samples support is hardly a guess, so the first few
    /// rows are shown whatever they rest on, and others only with more samples than that.
    fn shown<'h>(&self, limit: usize, rows: impl Iterator<Item = &'h Holding>) -> usize {
        const ALWAYS: usize = 3;
        let is_supported =
            |held: &Holding| self.is_exact || self.small_rows || held.allocated.seen() >= SUPPORT;
        let rows = rows.take(limit).enumerate();
        rows.take_while(|(at, held)| *at < ALWAYS || is_supported(held))
            .count()
    }

    fn write_line(&mut self, page: &mut Page<'_>, row: &HeapLine) -> io::Result<()> {
        let mut line = Line::default();
        self.push_numbers(&mut line, &row.held);
        let columns = self.trend;
        if columns > 0 {
            let trend = sparkline(&row.trend, columns);
            line.push_fmt(
                format_args!("  {trend:<columns$}"),
                Style::color(Color::Green),
            );
        }
        line.push_spaces(2);
        self.push_place(page, &mut line, row.of);
        line.truncate(page.columns);
        page.line(&mut line)
    }

    fn write_rest(
        &self,
        page: &mut Page<'_>,
        rest: impl Iterator<Item = Holding>,
    ) -> io::Result<()> {
        let (mut sum, mut rows) = (Holding::default(), 0_u64);
        for held in rest {
            sum += held;
            rows += 1;
        }
        if rows == 0 {
            return Ok(());
        }
        let trend = if self.trend > 0 { self.trend + 2 } else { 0 };
        self.write_row(page, &sum, |_, line, _| {
            line.push_spaces(trend);
            line.push_fmt(format_args!("{rows} more"), GRAY);
            Ok(())
        })
    }

    /// Adds a line's place, and its text or else its function.
    fn push_place(&mut self, page: &mut Page<'_>, line: &mut Line, of: Option<Place>) {
        let Some(place) = of else {
            return line.push("[the runtime itself]", GRAY);
        };
        let at = self.names.at(place);
        let (file, number) = match place {
            Place::Frame(frame) => {
                let frame = page.profile.frames.get(frame);
                (frame.file, frame.line)
            }
            _ => (FileId(0), 0),
        };
        let room = page.columns.saturating_sub(line.width());
        let text = self.source(page.profile, file, number);
        let text = text.unwrap_or_else(|| self.names.function(place).to_owned());
        if !at.is_empty() {
            // The end of a path and the start of a line say most.
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

    fn source(&mut self, profile: &Profile, file: FileId, number: u32) -> Option<String> {
        if number == 0 {
            return None;
        }
        let source = self.sources.entry(file);
        let source = source.or_insert_with(|| Source::of(profile, file, self.from_disk));
        let text = source.line(profile, file, number)?;
        Some(shown(text).trim().to_owned()).filter(|text| !text.is_empty())
    }
}

/// How far the truth may be from a size, as a share of it.
fn plus_minus(figure: Figure) -> String {
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
fn push_function(
    page: &Page<'_>,
    line: &mut Line,
    names: &Names<'_>,
    of: Option<Place>,
    columns: usize,
) {
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
