//! Our own table: the columns of `pstats`, with times in the units that suit them, and with calls
//! and resumptions apart.

use std::io;

use profundo_analysis::{Counted, Place};
use profundo_model::{Clock, FileId};

use super::Trace;
use super::sheet::Sheet;
use crate::command::{BOLD, GRAY, heat};
use crate::naming::Names;
use crate::page::Page;
use crate::page::line::{Line, Style};
use crate::page::units::{counted, duration};
use crate::page::width::{keep_head, keep_tail, width};

/// The width of a time.
const TIME: usize = 8;

pub(super) fn write(page: &mut Page<'_>, view: &Trace, sheet: &Sheet<'_>) -> io::Result<()> {
    write_head(page, view, sheet)?;
    if sheet.rows.is_empty() {
        return Ok(());
    }
    let names = names(page, sheet);
    let columns = Columns::new(
        sheet,
        sheet
            .rows
            .iter()
            .map(|&row| &sheet.table.functions[row].counted),
    );
    let mut line = Line::default();
    columns.push_titles(&mut line);
    line.push("filename:lineno(function)", BOLD);
    line.truncate(page.columns);
    page.line(&mut line)?;
    let all = sheet.table.sum().own;
    for &row in &sheet.rows {
        let function = &sheet.table.functions[row];
        columns.push(&mut line, sheet, &function.counted, all);
        push_name(page, &mut line, &names, function.place, columns.width());
        line.truncate(page.columns);
        page.line(&mut line)?;
    }
    write_unseen(page, sheet)?;
    page.plain("")
}

/// Writes how many rows are left out, which would be too many for a terminal.
pub(super) fn write_unseen(page: &mut Page<'_>, sheet: &Sheet<'_>) -> io::Result<()> {
    match sheet.unseen {
        0 => Ok(()),
        unseen => page.plain(&format!(
            "… and {unseen} more: `--limit {}` shows all",
            sheet.table.functions.len()
        )),
    }
}

/// Writes what all calls add up to, and how the rows are ordered.
pub(super) fn write_head(page: &mut Page<'_>, view: &Trace, sheet: &Sheet<'_>) -> io::Result<()> {
    let sum = sheet.table.sum();
    let (all, primitive) = sheet.calls(&sum);
    let mut line = Line::default();
    line.push(&counted(all, "function call"), BOLD);
    if all != primitive {
        line.push(&format!(" ({primitive} primitive calls)"), Style::PLAIN);
    }
    if sum.begun.resumes > 0 {
        line.push(
            &format!(" and {}", counted(sum.begun.resumes, "generator resume")),
            Style::PLAIN,
        );
    }
    let clock = page.profile.traced.clock;
    if clock != Clock::None {
        line.push(" in ", Style::PLAIN);
        line.push(&format!("{:.3} seconds", sum.own as f64 / 1e9), BOLD);
    }
    if clock == Clock::Cpu {
        line.push(" of CPU time", Style::PLAIN);
    }
    page.line(&mut line)?;
    page.plain("")?;
    if sheet.rows.is_empty() {
        return page.plain("No function is left by the restrictions.");
    }
    let mut words = format!("Ordered by: {}", view.order(page.profile).words());
    if let (Some((all, ..)), Some((_, left, _))) = (sheet.left_out.first(), sheet.left_out.last()) {
        words += &format!("; {left} of {all} functions are shown");
    }
    page.plain(&words)?;
    page.plain("")
}

/// Short names of the files of what is shown.
pub(super) fn names<'a>(page: &Page<'a>, sheet: &Sheet<'_>) -> Names<'a> {
    let rows = sheet.rows.iter();
    Names::of_places(
        page.profile,
        rows.map(|&row| sheet.table.functions[row].place),
    )
}

/// The widths of the columns of figures.
pub(super) struct Columns {
    calls: usize,
    /// The width of the column of resumptions, if there are any.
    resumes: Option<usize>,
    /// True if there are times for each call.
    pub each: bool,
    /// True if there are times.
    timed: bool,
}

impl Columns {
    pub(super) fn new<'a>(sheet: &Sheet<'_>, rows: impl Iterator<Item = &'a Counted>) -> Self {
        let (mut calls, mut resumes) = (6, 7);
        for row in rows {
            calls = calls.max(sheet.calls_text(row).len());
            resumes = resumes.max(row.begun.resumes.to_string().len());
        }
        Self {
            calls,
            resumes: sheet.has_resumes().then_some(resumes),
            each: true,
            timed: sheet.is_timed,
        }
    }

    pub(super) fn width(&self) -> usize {
        let times = match (self.timed, self.each) {
            (false, _) => 0,
            (true, false) => 2,
            (true, true) => 4,
        };
        self.calls + 1 + self.resumes.map_or(0, |width| width + 1) + times * (TIME + 1) + 1
    }

    pub(super) fn push_titles(&self, line: &mut Line) {
        let calls = self.calls;
        line.push_fmt(format_args!("{:>calls$} ", "ncalls"), BOLD);
        if let Some(resumes) = self.resumes {
            line.push_fmt(format_args!("{:>resumes$} ", "resumes"), BOLD);
        }
        for title in ["tottime", "percall", "cumtime", "percall"] {
            if self.timed && (self.each || title != "percall") {
                line.push_fmt(format_args!("{title:>TIME$} "), BOLD);
            }
        }
        line.push_spaces(1);
    }

    /// Adds the figures; `all` is what all functions took.
    pub(super) fn push(&self, line: &mut Line, sheet: &Sheet<'_>, counted: &Counted, all: u64) {
        let width = self.calls;
        let (calls, primitive) = sheet.calls(counted);
        line.push_fmt(
            format_args!("{:>width$} ", sheet.calls_text(counted)),
            Style::PLAIN,
        );
        if let Some(width) = self.resumes {
            let text = match counted.begun.resumes {
                0 => String::new(),
                some => some.to_string(),
            };
            line.push_fmt(format_args!("{text:>width$} "), Style::PLAIN);
        }
        let mut time = |nanos: u64, calls: u64| {
            let share = nanos as f64 / all.max(1) as f64;
            push_time(line, &duration(nanos), heat(share));
            if self.each {
                let each = nanos.checked_div(calls).map_or(String::new(), duration);
                push_time(line, &each, GRAY);
            }
        };
        if self.timed {
            time(counted.own, calls);
            time(counted.total, primitive);
        }
        line.push_spaces(1);
    }
}

fn push_time(line: &mut Line, text: &str, style: Style) {
    line.push_spaces(TIME.saturating_sub(width(text)));
    line.push(text, style);
    line.push_spaces(1);
}

/// Adds a function as `pstats` names it, with a short file. If it does not fit, the file is
/// shortened, and then the name.
pub(super) fn push_name(
    page: &mut Page<'_>,
    line: &mut Line,
    names: &Names<'_>,
    place: Place,
    taken: usize,
) {
    let columns = page.columns.saturating_sub(taken).max(20);
    let name = names.function(place);
    let frame = match place {
        Place::Frame(frame) => *page.profile.frames.get(frame),
        _ => Default::default(),
    };
    if frame.file == FileId(0) {
        line.push("{", GRAY);
        // All of these begin in the same way, and end in what they are.
        let name = match name.starts_with("built-in ") {
            true => keep_tail(name, columns - 2),
            false => keep_head(name, columns - 2),
        };
        line.push(&name, Style::PLAIN);
        return line.push("}", GRAY);
    }
    let at = names.at(place);
    let room = columns.saturating_sub(width(name) + 2).max(columns / 3);
    let at = keep_tail(&at, room);
    let style = Style { link: true, ..GRAY };
    line.push(&at, style);
    line.push("(", GRAY);
    let room = columns.saturating_sub(width(&at) + 2);
    line.push(&keep_head(name, room), Style::PLAIN);
    line.push(")", GRAY);
    line.link = page.link(frame.file, frame.line);
}
