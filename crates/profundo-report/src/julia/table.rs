//! Tables: columns of numbers, then file, line and function, which share what is left of the
//! screen.

use std::io;

use profundo_analysis::Place;
use profundo_model::LocationId;

use crate::naming::label::{Label, address, function, line_number};
use crate::page::Page;
use crate::page::line::{Line, Style};
use crate::page::width::{digits, keep_head, width};

/// A column of numbers, aligned to the right.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    pub title: &'static str,
    pub width: usize,
}

/// A row, before it is known how wide the columns are.
pub(crate) struct Row {
    pub numbers: Vec<String>,
    pub place: Place,
    pub location: Option<LocationId>,
    /// True if the row is shown. Rows that are not shown still count for the widths, so that hiding
    /// them does not move the others.
    pub shown: bool,
}

/// A table that is being made.
pub(crate) struct Table {
    pub columns: Vec<Column>,
    /// True if there is a column for the line.
    pub has_lines: bool,
    pub rows: Vec<Row>,
}

/// The widths of the columns of text.
struct Widths {
    file: usize,
    line: usize,
    function: usize,
}

const NO_FILE: &str = "[unknown file]";

impl Table {
    pub(crate) fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        let widths = self.widths(page);
        let mut line = Line::default();
        for title in [
            |title: &str| title.to_owned(),
            |title: &str| "=".repeat(title.len()),
        ] {
            for column in &self.columns {
                line.push(
                    &format!("{:>1$} ", title(column.title), column.width),
                    Style::PLAIN,
                );
            }
            line.push(&format!("{:1$} ", title("File"), widths.file), Style::PLAIN);
            if self.has_lines {
                line.push(
                    &format!("{:>1$} ", title("Line"), widths.line),
                    Style::PLAIN,
                );
            }
            line.push(&title("Function"), Style::PLAIN);
            page.line(&mut line)?;
        }
        for row in self.rows.iter().filter(|row| row.shown) {
            self.push_row(page, row, &widths, &mut line);
            page.line(&mut line)?;
        }
        Ok(())
    }

    /// The columns of text get what they need. Signatures are longer than the names that they
    /// are measured by, so the function is given some more if there is room. Where there is not
    /// enough for both, two parts of the space are for the file and three for the function.
    fn widths(&self, page: &Page<'_>) -> Widths {
        let (mut file, mut name, mut signature, mut line) = (6, 10, 10, 0);
        for row in &self.rows {
            if let Label::Frame(frame) = Label::of(page.profile, row.place) {
                let (prefix, rest) = page.path_widths(frame.file);
                file = file.max(match prefix + rest {
                    0 => NO_FILE.len(),
                    path => path + 1,
                });
                name = name.max(width(page.profile.strings.get(frame.function)));
                signature = signature.max(width(function(page.profile, frame)));
                line = line.max(frame.line);
            }
        }
        let line = digits(u64::from(line)).max(5);
        let numbers: usize = self.columns.iter().map(|column| column.width + 1).sum();
        let lines = if self.has_lines { line + 1 } else { 0 };
        let text = page.columns.saturating_sub(numbers + lines + 1).max(20);
        if file + name + 25 <= text || file + signature <= text {
            Widths {
                file,
                line,
                function: text - file,
            }
        } else {
            Widths {
                file: 2 * text / 5,
                line,
                function: 3 * text / 5,
            }
        }
    }

    fn push_row(&self, page: &mut Page<'_>, row: &Row, widths: &Widths, line: &mut Line) {
        for (number, column) in row.numbers.iter().zip(&self.columns) {
            line.push_spaces(column.width.saturating_sub(width(number)));
            line.push(number, Style::PLAIN);
            line.push_spaces(1);
        }
        let profile = page.profile;
        let at = row.location.and_then(|location| address(profile, location));
        let frame = match Label::of(profile, row.place) {
            Label::Frame(frame) => frame,
            Label::Reason(name) => return line.push(name, Style::PLAIN),
            Label::Unknown => {
                return match at {
                    Some(at) => line.push(&format!("@{at:#x}"), Style::PLAIN),
                    None => line.push("[any unknown stackframes]", Style::PLAIN),
                };
            }
        };
        let (prefix, rest) = page.path_widths(frame.file);
        if prefix + rest == 0 {
            line.push(&keep_head(NO_FILE, widths.file), Style::PLAIN);
            line.push_spaces(widths.file.saturating_sub(NO_FILE.len()));
        } else {
            let before = page.prefix_width(frame.file);
            let columns = widths.file.saturating_sub(before).max(1);
            page.push_path(line, frame.file, columns, frame.line);
            line.push_spaces(widths.file.saturating_sub(before + rest.min(columns)));
        }
        line.push_spaces(1);
        if self.has_lines {
            line.push(
                &format!("{:>1$} ", line_number(frame.line), widths.line),
                Style::PLAIN,
            );
        }
        let mut name = at.map_or_else(String::new, |at| format!("{at:#018x} "));
        name += function(profile, frame);
        line.push(&keep_head(&name, widths.function), Style::PLAIN);
    }
}
