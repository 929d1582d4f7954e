//! The page: a head, a table, a line of keys. It is a function of the numbers, the choices and the
//! available room.

mod foot;
mod head;
mod row_detail;
mod table;

use std::path::Path;

use profundo_analysis::Split;
use profundo_analysis::palette::{Ansi, Hue};
use profundo_model::Kind;
use profundo_report::text::{keep_head, width};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use super::picture::Picture;
use super::state::State;

/// Facts that are shown around the table and do not come from the program.
#[derive(Debug, Clone, Copy, Default)]
pub struct Surroundings<'a> {
    /// True if colours are used.
    pub colors: bool,
    /// The file of the program's output.
    pub output: Option<&'a Path>,
    /// The message on the last action.
    pub message: Option<&'a str>,
    /// True if the page is printed, so that no keys can be pressed.
    pub is_printed: bool,
}

/// The least size of a page.
const LEAST: (u16, u16) = (24, 6);
/// The height from which there is a row for text that is not the table.
const ROOMY: u16 = 10;

/// Draws the page.
pub fn draw(
    buffer: &mut Buffer,
    area: Rect,
    state: &mut State,
    picture: Option<&Picture>,
    around: Surroundings<'_>,
) {
    let mut pen = Pen {
        buffer,
        area,
        colors: around.colors,
    };
    if area.width < LEAST.0 || area.height < LEAST.1 {
        pen.text(0, 0, "too small (24 × 6)", Style::new());
        pen.text(0, 1, "q quits", Style::new());
        return;
    }
    let Some(picture) = picture else {
        pen.text(
            0,
            0,
            "profundo top: taking the first samples…",
            Style::new(),
        );
        return;
    };
    head::head(&mut pen, &picture.head);
    head::bar(&mut pen, picture);
    if let Some((text, style)) = above(picture, area.height) {
        pen.text(0, 2, &keep_head(&text, usize::from(area.width)), style);
        // Everything else is one row lower.
        (pen.area.y, pen.area.height) = (area.y + 1, area.height - 1);
    }
    head::tabs(&mut pen, state, picture, around);
    foot::keys(&mut pen, state, picture);
    if let Some(note) = foot::note(picture, around).filter(|_| pen.area.height >= ROOMY) {
        let row = pen.area.height - 2;
        pen.text(0, row, &keep_head(&note, usize::from(area.width)), FAINT);
        // The table ends above this row.
        pen.area.height -= 1;
    }
    match &picture.detail {
        _ if state.help => foot::help(&mut pen, state, around),
        Some(detail) if state.detail == Some(detail.key) => {
            row_detail::draw(&mut pen, state, detail, picture);
        }
        _ => table::draw(&mut pen, state, picture),
    }
}

/// The text above the table, if there is a row for it: what is missing from the table.
fn above(picture: &Picture, height: u16) -> Option<(String, Style)> {
    let head = &picture.head;
    match (&head.warning, &head.unread) {
        (Some(warning), _) if height > LEAST.1 => Some((
            format!("Warning: {warning}"),
            Style::new().fg(Color::Yellow),
        )),
        (None, Some(unread)) if height >= ROOMY => Some((format!("Missing: {unread}"), FAINT)),
        _ => None,
    }
}

/// Writes in rows and columns of the page.
struct Pen<'a> {
    buffer: &'a mut Buffer,
    area: Rect,
    colors: bool,
}

const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
const FAINT: Style = Style::new().add_modifier(Modifier::DIM);
const CHOSEN: Style = Style::new().add_modifier(Modifier::REVERSED);

impl Pen<'_> {
    /// Writes as much as fits; returns the column after it.
    fn text(&mut self, column: u16, row: u16, text: &str, style: Style) -> u16 {
        if column >= self.area.width || row >= self.area.height {
            return column;
        }
        let style = match self.colors {
            true => style,
            false => Style {
                fg: None,
                bg: None,
                ..style
            },
        };
        let room = usize::from(self.area.width - column);
        let (x, y) = (self.area.x + column, self.area.y + row);
        // The buffer leaves out invisible characters.
        let (end, _) = self.buffer.set_stringn(x, y, text, room, style);
        end - self.area.x
    }

    /// Writes text that ends before a column.
    fn right(&mut self, end: u16, row: u16, text: &str, style: Style) {
        let start = usize::from(end).saturating_sub(width(text));
        self.text(start as u16, row, text, style);
    }
}

/// The parts of the time, in the order of the kinds.
fn parts_of(split: Split) -> [(Kind, u64); Kind::ALL.len()] {
    let parts = [
        split.python,
        split.native,
        split.system,
        split.waiting,
        split.unreadable,
    ];
    std::array::from_fn(|at| (Kind::ALL[at], parts[at]))
}

/// The colour of a kind of time, as in reports.
fn hue(kind: Kind) -> Style {
    Style::new().fg(match Hue::from(kind).tint().ansi {
        Ansi::Red => Color::Red,
        Ansi::Green => Color::Green,
        Ansi::Yellow => Color::Yellow,
        Ansi::Magenta => Color::Magenta,
        Ansi::Cyan => Color::Cyan,
        Ansi::Gray => Color::DarkGray,
    })
}

/// The page as plain text, with at most `limit` rows.
pub fn plain(picture: &Picture, state: &mut State, columns: u16, limit: usize) -> String {
    let rows = state.rows(picture).len().min(limit);
    // The explanation for an empty table takes some lines.
    let rows = match rows {
        0 => table::WHY_ROWS,
        rows => rows,
    };
    let height = u16::try_from(rows.saturating_add(5))
        .unwrap_or(u16::MAX)
        .max(ROOMY);
    let above = above(picture, height).map_or(0, |_| 1);
    let height = height.saturating_add(above + 1);
    let area = Rect::new(0, 0, columns.max(LEAST.0), height);
    let mut buffer = Buffer::empty(area);
    let around = Surroundings {
        is_printed: true,
        ..Surroundings::default()
    };
    draw(&mut buffer, area, state, Some(picture), around);
    let mut text = lines(&buffer);
    // The last lines are keys and notes.
    text.truncate(4 + rows + usize::from(above));
    while text.last().is_some_and(String::is_empty) {
        text.pop();
    }
    text.join("\n") + "\n"
}

/// The text of a buffer, without colours.
pub fn lines(buffer: &Buffer) -> Vec<String> {
    let area = buffer.area;
    let line = |y: u16| {
        let mut line = String::new();
        let mut x = area.x;
        while x < area.right() {
            let symbol = buffer[(x, y)].symbol();
            line.push_str(symbol);
            // A wide character has two cells.
            x += (width(symbol) as u16).max(1);
        }
        line.trim_end().to_owned()
    };
    (area.y..area.bottom()).map(line).collect()
}

#[cfg(test)]
pub mod tests;
