//! The page: a head, a table, a line of keys. It is a function of the numbers and the choices, and of
//! the room that there is.

use std::path::Path;

use profundo_analysis::Split;
use profundo_report::text::{duration, keep_head, keep_tail, percent, whole_percent, width};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use super::picture::{Detail, Head, Picture, Row, View};
use super::state::{Order, State};
use super::window::Span;

/// What stands around the table and does not come from the program.
#[derive(Debug, Clone, Copy, Default)]
pub struct Surroundings<'a> {
    /// Whether there are colours.
    pub colors: bool,
    /// Where the program's output goes.
    pub output: Option<&'a Path>,
    /// What was done last.
    pub said: Option<&'a str>,
}

/// Narrower or lower than this there is no page.
const LEAST: (u16, u16) = (24, 6);

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
        pen.text(0, 0, "too small", Style::new());
        return;
    }
    let Some(picture) = picture else {
        pen.text(0, 0, "profundo top: looking…", Style::new());
        return;
    };
    head(&mut pen, &picture.head, picture);
    bar(&mut pen, &picture.head);
    if let Some(warning) = warning(picture, area.height) {
        let text = keep_head(&format!("Warning: {warning}"), usize::from(area.width));
        pen.text(0, 2, &text, Style::new().fg(Color::Yellow));
        // All else is one row lower.
        (pen.area.y, pen.area.height) = (area.y + 1, area.height - 1);
    }
    tabs(&mut pen, state, picture);
    let bottom = pen.area.height - 1;
    match &picture.detail {
        _ if state.help => help(&mut pen, state),
        Some(detail) if state.detail == Some(detail.key) => {
            closer(&mut pen, state, detail, picture);
        }
        _ => table(&mut pen, state, picture),
    }
    keys(&mut pen, bottom, state, picture, around);
}

/// What stands above the table, where there is a row for it.
fn warning(picture: &Picture, height: u16) -> Option<&str> {
    (picture.head.warning.as_deref()).filter(|_| height > LEAST.1)
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
    /// Writes what has room; returns the column behind it.
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
        // The buffer leaves out what is no character to be seen.
        let (end, _) = self.buffer.set_stringn(x, y, text, room, style);
        end - self.area.x
    }

    /// Writes so that it ends before a column.
    fn right(&mut self, end: u16, row: u16, text: &str, style: Style) {
        let start = usize::from(end).saturating_sub(width(text));
        self.text(start as u16, row, text, style);
    }
}

fn head(pen: &mut Pen<'_>, head: &Head, picture: &Picture) {
    let columns = usize::from(pen.area.width);
    let own = format!("itself {}", percent_or_0(head.own_cpu));
    let mut facts = vec![
        format!("{} s", head.elapsed / 1_000_000_000),
        format!("CPU {:.0} %", head.cpu * 100.0),
        format!("{} samples/s", head.rate.round()),
        match head.threads {
            1 => "1 thread".to_owned(),
            threads => format!("{threads} threads"),
        },
        own,
    ];
    if head.others > 0 {
        facts.insert(4, format!("{} more processes", head.others));
    }
    if let Some(ended) = &head.ended {
        facts.insert(0, ended.clone());
    }
    if picture.head.lost > 0 {
        facts.push(format!("{} lost", head.lost));
    }
    // What has no room is left out from the end; the command keeps a third of the line.
    let least = columns / 3;
    let mut line = facts.join(" · ");
    while width(&line) + least > columns && facts.len() > 1 {
        facts.pop();
        line = facts.join(" · ");
    }
    let room = columns.saturating_sub(width(&line) + 2);
    let command = keep_head(&head.command, room.saturating_sub(digits(head.pid) + 1));
    let end = pen.text(0, 0, &command, BOLD);
    pen.text(end + 1, 0, &head.pid.to_string(), FAINT);
    pen.right(pen.area.width, 0, &line, Style::new());
}

fn digits(number: u32) -> usize {
    number.to_string().len()
}

fn percent_or_0(share: f64) -> String {
    match percent(share) {
        text if text.is_empty() => "0.0 %".to_owned(),
        text => format!("{text} %"),
    }
}

const KINDS: [(&str, &str, Color); 5] = [
    ("█", "Python", Color::Green),
    ("▓", "native", Color::Blue),
    ("░", "system", Color::Magenta),
    ("·", "waiting", Color::DarkGray),
    ("?", "unreadable", Color::Red),
];

/// The parts of the time, as in [`KINDS`].
fn parts_of(split: Split) -> [u64; KINDS.len()] {
    [
        split.python,
        split.native,
        split.system,
        split.waiting,
        split.unreadable,
    ]
}

fn bar(pen: &mut Pen<'_>, head: &Head) {
    let split = head.split;
    let parts = parts_of(split);
    let all = split.sum().max(1) as f64;
    let mut words = Vec::new();
    for ((sign, name, color), part) in KINDS.into_iter().zip(parts) {
        if part > 0 {
            words.push((
                sign,
                format!("{name} {}", percent_or_0(part as f64 / all)),
                color,
            ));
        }
    }
    let room: usize = words.iter().map(|(_, word, _)| width(word) + 4).sum();
    let columns = usize::from(pen.area.width).saturating_sub(room);
    let mut at = 0;
    if columns >= 8 {
        let mut ends = 0.0;
        for ((sign, _, color), part) in KINDS.into_iter().zip(parts) {
            ends += part as f64 / all * columns as f64;
            let length = (ends.round() as usize).saturating_sub(usize::from(at));
            let style = Style::new().fg(color);
            at = pen.text(at, 1, &sign.repeat(length), style);
        }
        at = columns as u16;
    }
    for (sign, word, color) in words {
        let next = pen.text(at + 1, 1, sign, Style::new().fg(color));
        at = pen.text(next + 1, 1, &word, Style::new()) + 1;
    }
}

fn tabs(pen: &mut Pen<'_>, state: &State, picture: &Picture) {
    let mut right = vec![span(state.span, picture.length)];
    if state.paused {
        right.insert(0, "PAUSED".to_owned());
    }
    let line = right.join(" · ");
    let mut at = 0;
    for (number, &view) in (1..).zip(state.views()) {
        let style = if view == state.view { CHOSEN } else { FAINT };
        let word = format!(" {number} {} ", view.name());
        if usize::from(at) + width(&word) + width(&line) >= usize::from(pen.area.width)
            && view != state.view
        {
            continue;
        }
        at = pen.text(at, 2, &word, style);
    }
    let room = usize::from(pen.area.width.saturating_sub(at + 1));
    pen.right(pen.area.width, 2, &keep_tail(&line, room), BOLD);
}

fn span(span: Span, length: u64) -> String {
    match span {
        Span::Last(seconds) if length < seconds * 900_000_000 => {
            format!("last {}", duration(length))
        }
        Span::Last(seconds) => format!("last {seconds} s"),
        Span::SinceStart => "since the start".to_owned(),
    }
}

/// The columns of numbers before a name: their heads and widths.
struct Columns {
    heads: Vec<(&'static str, u16)>,
    name: &'static str,
}

impl Columns {
    /// Those that leave room for names.
    fn of(view: View, width: u16, split: Split, has_waits: bool) -> Self {
        let has_python = split.has_python();
        let kinds: &[(&str, u16)] = match (has_python, has_waits) {
            (true, true) => &[("Py", 4), ("Nat", 4), ("Sys", 4), ("Wait", 5)],
            (true, false) => &[("Py", 4), ("Nat", 4), ("Sys", 4)],
            (false, true) => &[("Nat", 4), ("Sys", 4), ("Wait", 5)],
            (false, false) => &[("Nat", 4), ("Sys", 4)],
        };
        let (first, name) = match view {
            View::Functions => ("Self %", "Function"),
            View::Lines => ("Self %", "Line"),
            View::Threads => ("CPU %", "Thread"),
            View::Waits => ("Time %", "Waits for"),
        };
        let mut heads = vec![(first, 6)];
        if view == View::Waits {
            if width >= 40 {
                heads.extend([("Time", 9), ("Threads", 8)]);
            }
        } else {
            if width >= 50 {
                heads.extend_from_slice(kinds);
                if split.unreadable > 0 {
                    heads.push(("Unr", 4));
                }
            }
            if width >= 36 && view != View::Threads {
                heads.push(("Total %", 8));
            }
        }
        Self { heads, name }
    }

    fn width(&self) -> u16 {
        self.heads.iter().map(|(_, width)| width).sum()
    }
}

fn table(pen: &mut Pen<'_>, state: &mut State, picture: &Picture) {
    // Functions and lines are about CPU time alone.
    let has_waits = state.has_waits && picture.view == View::Threads;
    let columns = Columns::of(picture.view, pen.area.width, picture.head.split, has_waits);
    let mut at = 0;
    for &(head, width) in &columns.heads {
        let is_order = match state.order {
            Order::Own => at == 0,
            Order::Total => head == "Total %",
            Order::Name => false,
        };
        at += width;
        pen.right(at, 3, head, if is_order { BOLD } else { FAINT });
    }
    let style = if state.order == Order::Name {
        BOLD
    } else {
        FAINT
    };
    pen.text(columns.width() + 2, 3, columns.name, style);
    let rows = state.rows(picture);
    let shown = usize::from(pen.area.height.saturating_sub(5));
    let position = state.keep_in_sight(&rows, shown);
    if rows.is_empty() {
        let why = match (state.filter.is_empty(), picture.view) {
            (false, _) => "nothing has this in its name",
            (true, View::Waits) => "nothing waited",
            (true, _) => "no CPU time was taken",
        };
        pen.text(columns.width() + 2, 4, why, FAINT);
    }
    for (line, (index, row)) in (4..).zip(rows.iter().enumerate().skip(state.above).take(shown)) {
        let is_chosen = position == Some(index);
        if is_chosen {
            let blank = " ".repeat(usize::from(pen.area.width));
            pen.text(0, line, &blank, CHOSEN);
        }
        draw_row(pen, line, row, picture, &columns, is_chosen);
    }
}

fn draw_row(
    pen: &mut Pen<'_>,
    line: u16,
    row: &Row,
    picture: &Picture,
    columns: &Columns,
    is_chosen: bool,
) {
    let whole = picture.whole.max(1) as f64;
    let share = |part: u64| part as f64 / whole;
    let and = |style: Style| {
        if is_chosen {
            style.patch(CHOSEN)
        } else {
            style
        }
    };
    let mut at = 0;
    for &(head, width) in &columns.heads {
        let text = match head {
            "Py" => whole_percent(share(row.split.python)),
            "Nat" => whole_percent(share(row.split.native)),
            "Sys" => whole_percent(share(row.split.system)),
            "Wait" => whole_percent(share(row.split.waiting)),
            "Unr" => whole_percent(share(row.split.unreadable)),
            "Total %" => percent(share(row.total)),
            "Time" => duration(row.own),
            "Threads" => row.threads.to_string(),
            _ => percent(share(row.own)),
        };
        at += width;
        pen.right(at, line, &text, and(Style::new()));
    }
    let start = columns.width() + 2;
    let room = usize::from(pen.area.width.saturating_sub(start));
    // A name that is cut loses its beginning, where all names are alike.
    let name = match picture.view {
        View::Functions | View::Lines => keep_tail(&row.name, room),
        View::Threads | View::Waits => keep_head(&row.name, room),
    };
    let end = pen.text(start, line, &name, and(color(row)));
    if !row.at.is_empty() && pen.area.width > end + 6 {
        let room = usize::from(pen.area.width - end - 2);
        let at = match picture.view {
            View::Functions => keep_tail(&row.at, room),
            _ => keep_head(&row.at, room),
        };
        pen.text(end + 2, line, &at, and(FAINT));
    }
}

/// The colour of what most of a row's time is.
fn color(row: &Row) -> Style {
    let split = row.split;
    let parts = parts_of(split);
    let most = parts.iter().copied().max().unwrap_or(0);
    let kind = KINDS
        .iter()
        .zip(parts)
        .find(|&(_, part)| part == most && most > 0);
    match kind {
        Some(((_, _, color), _)) if *color != Color::DarkGray => Style::new().fg(*color),
        _ => Style::new(),
    }
}

fn closer(pen: &mut Pen<'_>, state: &mut State, detail: &Detail, picture: &Picture) {
    let whole = picture.whole.max(1) as f64;
    let share = |part: u64| percent_or_0(part as f64 / whole);
    let mut lines: Vec<(String, Style)> = Vec::new();
    lines.push((
        format!("{}  {} of the time", detail.name, share(detail.weight)),
        BOLD,
    ));
    if !detail.callers.is_empty() {
        lines.push(("Called by".to_owned(), FAINT));
        for (caller, weight) in &detail.callers {
            lines.push((format!("{:>8}  {caller}", share(*weight)), Style::new()));
        }
    }
    if detail.stack.is_empty() {
        lines.push(("nothing was seen of it in this time".to_owned(), FAINT));
    } else {
        let head = format!(
            "Hottest stack, {}, innermost first",
            share(detail.stack_weight)
        );
        lines.push((head, FAINT));
        lines.extend(
            detail
                .stack
                .iter()
                .map(|level| (format!("  {level}"), Style::new())),
        );
    }
    let shown = usize::from(pen.area.height.saturating_sub(4));
    state.shown = shown.max(1);
    state.above = state.above.min(lines.len().saturating_sub(shown));
    let room = usize::from(pen.area.width);
    for (row, (line, style)) in (3..).zip(lines.into_iter().skip(state.above).take(shown)) {
        pen.text(0, row, &keep_head(&line, room), style);
    }
}

const HELP: [(&str, &str); 14] = [
    (
        "1 2 3 4, Tab, ← →",
        "functions, lines, threads, waits (with --wall)",
    ),
    ("↑ ↓ PgUp PgDn Home End", "choose a row"),
    ("Enter", "the chosen row's callers and its hottest stack"),
    ("Esc", "back; undo the filter, the choice"),
    ("s", "sort by self, by total, by name"),
    ("r", "reverse the order"),
    ("w W", "the window: 2, 5, 10, 30, 60 s, since the start"),
    ("/", "show only what has this in its name or file"),
    ("Space", "pause: the page stays as it is, sampling goes on"),
    ("Ctrl-L", "draw the page anew"),
    ("Ctrl-Z", "suspend; `fg` goes on"),
    ("q", "leave; a program that top started goes on"),
    ("Ctrl-C", "interrupt the program that top started, or leave"),
    ("? h", "this page; any key leaves it"),
];

fn help(pen: &mut Pen<'_>, state: &State) {
    for (row, (keys, what)) in (4..).zip(HELP) {
        if row + 1 >= pen.area.height {
            break;
        }
        pen.text(1, row, keys, BOLD);
        let what = match (keys, state.has_waits) {
            ("1 2 3 4, Tab, ← →", true) => "functions, lines, threads, waits",
            _ => what,
        };
        pen.text(25, row, what, Style::new());
    }
}

fn keys(pen: &mut Pen<'_>, row: u16, state: &State, picture: &Picture, around: Surroundings<'_>) {
    let room = usize::from(pen.area.width);
    if state.is_typing {
        let end = pen.text(
            0,
            row,
            &keep_tail(&format!("/{}", state.filter), room - 1),
            BOLD,
        );
        pen.text(end, row, " ", CHOSEN);
        return;
    }
    let left = match (around.said, state.filter.is_empty()) {
        (Some(said), _) => said.to_owned(),
        (None, false) => format!("/{}  (Esc: all)", state.filter),
        (None, true) => {
            let order = match state.order {
                Order::Own => "self",
                Order::Total => "total",
                Order::Name => "name",
            };
            format!(
                "? help  q quit  s sort: {order}  w window  / filter  Space pause  Enter closer"
            )
        }
    };
    let right = match (around.output, &picture.head.note) {
        (Some(output), _) => format!("output: {}", output.display()),
        (None, Some(note)) => note.clone(),
        (None, None) => String::new(),
    };
    // The keys are known soon, and help is the first of them.
    let right = match right.is_empty() || room < 50 {
        true => String::new(),
        false => keep_tail(&right, room * 2 / 3),
    };
    let room = room.saturating_sub(width(&right) + 2);
    pen.text(0, row, &keep_head(&left, room), FAINT);
    pen.right(pen.area.width, row, &right, FAINT);
}

/// The page as plain text, with all rows up to a limit.
pub fn plain(picture: &Picture, state: &mut State, columns: u16, limit: usize) -> String {
    let rows = state.rows(picture).len().min(limit).max(1);
    let above = usize::from(picture.head.warning.is_some());
    let height = u16::try_from(rows + 5 + above).unwrap_or(u16::MAX);
    let area = Rect::new(0, 0, columns.max(LEAST.0), height.max(LEAST.1));
    let mut buffer = Buffer::empty(area);
    draw(
        &mut buffer,
        area,
        state,
        Some(picture),
        Surroundings::default(),
    );
    let mut text = lines(&buffer);
    // The last line is of keys.
    text.truncate(4 + rows + above);
    text.remove(2 + above);
    text.join("\n") + "\n"
}

/// What a buffer shows, without colours.
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
