//! The table: columns of numbers, and names.

use profundo_analysis::Split;
use profundo_model::Kind;
use profundo_report::text::{bytes, duration, keep_head, keep_tail, percent, whole_percent, width};
use ratatui::style::Style;

use super::head::signed;
use super::{BOLD, CHOSEN, FAINT, Pen, hue, parts_of};
use crate::picture::{Picture, Row, View};
use crate::state::{Order, State};

/// The rows that explain an empty table.
pub const WHY_ROWS: usize = 4;
/// The width of `29 of 29`, with the gap before it.
const FEW: u16 = 9;
/// The least widths of a place and of a name in a narrow row.
const LEAST_PLACE: usize = 6;
const LEAST_NAME: usize = 8;

/// The columns of numbers before a name: their heads and widths.
struct Columns {
    heads: Vec<(&'static str, u16)>,
    name: &'static str,
}

impl Columns {
    /// The columns that leave room for names.
    fn of(picture: &Picture, width: u16, has_waits: bool) -> Self {
        let view = picture.view;
        let (first, few, name) = match view {
            View::Functions => ("Self %", "Self", "Function"),
            View::Lines => ("Self %", "Self", "Line"),
            View::Threads => ("CPU %", "CPU", "Thread"),
            View::Processes => ("CPU %", "CPU %", "Process"),
            View::Waits => ("Time %", "Time %", "Waits for"),
        };
        let heads = match view {
            View::Waits => of_waits(first, width),
            View::Processes => of_processes(first, width),
            _ if picture.is_few => of_few(few, width, view),
            _ => of_shares(first, width, view, picture.head.split, has_waits),
        };
        Self { heads, name }
    }

    fn width(&self) -> u16 {
        self.heads.iter().map(|(_, width)| width).sum()
    }
}

type Heads = Vec<(&'static str, u16)>;

fn of_waits(first: &'static str, width: u16) -> Heads {
    let mut heads = vec![(first, 6)];
    if width >= 40 {
        heads.extend([("Time", 9), ("Threads", 8)]);
    }
    heads
}

fn of_processes(first: &'static str, width: u16) -> Heads {
    let mut heads = vec![(first, 6)];
    if width >= 30 {
        heads.push(("Memory", 9));
    }
    if width >= 50 {
        heads.push(("Growth", 9));
    }
    if width >= 60 {
        heads.extend([("Peak", 9), ("Threads", 8)]);
    }
    heads
}

fn of_few(first: &'static str, width: u16, view: View) -> Heads {
    let mut heads = vec![(first, FEW)];
    if width >= 40 && view != View::Threads {
        heads.push(("Total", FEW));
    }
    heads
}

fn of_shares(first: &'static str, width: u16, view: View, split: Split, has_waits: bool) -> Heads {
    let kinds: &[(&str, u16)] = match (split.has_python(), has_waits) {
        (true, true) => &[("Py", 4), ("Nat", 4), ("Sys", 4), ("Wait", 5)],
        (true, false) => &[("Py", 4), ("Nat", 4), ("Sys", 4)],
        (false, true) => &[("Nat", 4), ("Sys", 4), ("Wait", 5)],
        (false, false) => &[("Nat", 4), ("Sys", 4)],
    };
    let mut heads = vec![(first, 6)];
    if width >= 50 {
        heads.extend_from_slice(kinds);
        if split.unreadable > 0 {
            heads.push(("Unr", 4));
        }
    }
    if width >= 36 && view != View::Threads {
        heads.push(("Total %", 8));
    }
    heads
}

/// Draws the table.
pub fn draw(pen: &mut Pen<'_>, state: &mut State, picture: &Picture) {
    // Functions and lines have CPU time only.
    let has_waits = state.has_waits && picture.view == View::Threads;
    let columns = Columns::of(picture, pen.area.width, has_waits);
    let mut at = 0;
    for &(head, width) in &columns.heads {
        let is_order = match state.order {
            Order::Own => at == 0,
            Order::Total => ["Total %", "Total", "Memory"].contains(&head),
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
        for (row, why) in (4..).zip(why_nothing(state, picture)).take(shown.max(1)) {
            let room = usize::from(pen.area.width.saturating_sub(2));
            pen.text(2, row, &keep_head(&why, room), FAINT);
        }
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

/// The reason why a table is empty, in up to [`WHY_ROWS`] lines.
fn why_nothing(state: &State, picture: &Picture) -> Vec<String> {
    if !state.filter.is_empty() {
        return vec!["nothing has this in its name".to_owned()];
    }
    let head = &picture.head;
    match picture.view {
        View::Waits => return vec!["nothing waited".to_owned()],
        View::Processes => return vec!["no process is alive".to_owned()],
        _ if picture.samples > 0 => return vec!["nothing was seen of it in this time".to_owned()],
        _ => {}
    }
    let seen = duration(picture.length);
    let mut why = vec![match head.ended {
        Some(_) => format!("no sample was taken: it used too little CPU time in {seen}"),
        None => match head.counted {
            // The kernel counts what is too short for a sample.
            Some(used @ 1..) => {
                format!(
                    "no sample in these {seen}, for {} of CPU time",
                    duration(used)
                )
            }
            _ => format!("no CPU time was used in these {seen}"),
        },
    }];
    if head.cpu > 0.01 && head.ended.is_none() {
        why.push("its threads end before a sample is due: `-r 1000` samples more often".to_owned());
    }
    if let Some(asleep) = &head.asleep {
        why.push(format!("the main thread of {} {asleep}", head.pid));
    }
    if head.ended.is_none() {
        why.push(match state.has_waits {
            true => "table 5 shows what its threads wait for".to_owned(),
            false => "`--wall` shows where threads wait, and for how long".to_owned(),
        });
    }
    why
}

fn draw_row(
    pen: &mut Pen<'_>,
    line: u16,
    row: &Row,
    picture: &Picture,
    columns: &Columns,
    is_chosen: bool,
) {
    let and = |style: Style| {
        if is_chosen {
            style.patch(CHOSEN)
        } else {
            style
        }
    };
    let mut at = 0;
    for &(head, width) in &columns.heads {
        at += width;
        pen.right(at, line, &cell(head, row, picture), and(Style::new()));
    }
    let start = columns.width() + 2;
    let room = usize::from(pen.area.width.saturating_sub(start));
    // If both do not fit, the place is more important than the name.
    let place = match picture.view {
        View::Functions if width(&row.name) + 2 + width(&row.at) > room => {
            let most = room.saturating_sub(LEAST_NAME + 2);
            keep_tail(&row.at, most)
        }
        _ => row.at.clone(),
    };
    let for_name = match picture.view {
        View::Functions if width(&place) >= LEAST_PLACE => room.saturating_sub(width(&place) + 2),
        _ => room,
    };
    // A shortened name loses its beginning, which similar names share.
    let name = match picture.view {
        View::Functions | View::Lines => keep_tail(&row.name, for_name),
        _ => keep_head(&row.name, for_name),
    };
    let end = pen.text(start, line, &name, and(color(row)));
    if !place.is_empty() && usize::from(pen.area.width - end) > LEAST_PLACE {
        let room = usize::from(pen.area.width - end - 2);
        let place = match picture.view {
            View::Functions => keep_tail(&place, room),
            _ => keep_head(&place, room),
        };
        pen.text(end + 2, line, &place, and(FAINT));
    }
}

/// The text of a column.
fn cell(head: &str, row: &Row, picture: &Picture) -> String {
    let whole = picture.whole.max(1) as f64;
    let share = |part: u64| part as f64 / whole;
    let sizes = row.sizes;
    match head {
        "Py" => whole_percent(share(row.split.python)),
        "Nat" => whole_percent(share(row.split.native)),
        "Sys" => whole_percent(share(row.split.system)),
        "Wait" => whole_percent(share(row.split.waiting)),
        "Unr" => whole_percent(share(row.split.unreadable)),
        "Total %" => percent(share(row.total)),
        "Total" => of(row.total, picture.whole),
        "Self" | "CPU" => of(row.own, picture.whole),
        "Time" => duration(row.own),
        // A size that was not read is unknown, not zero.
        "Memory" => sizes.map_or_else(unknown, |sizes| bytes(sizes.resident)),
        "Growth" => sizes
            .and_then(|sizes| sizes.grown)
            .map_or_else(unknown, signed),
        "Peak" => sizes.map_or_else(unknown, |sizes| bytes(sizes.peak)),
        "Threads" if picture.view == View::Processes && sizes.is_none() => unknown(),
        "Threads" => row.threads.to_string(),
        "CPU %" if picture.view == View::Processes => match sizes {
            Some(sizes) if sizes.length > 0 => format!("{:.1}", share(row.own) * 100.0),
            _ => unknown(),
        },
        _ => percent(share(row.own)),
    }
}

fn unknown() -> String {
    "?".to_owned()
}

/// A number of samples, of all.
fn of(part: u64, whole: u64) -> String {
    match part {
        0 => String::new(),
        part => format!("{part} of {whole}"),
    }
}

/// The colour of the kind that has most of a row's time.
fn color(row: &Row) -> Style {
    let parts = parts_of(row.split);
    let most = parts.iter().map(|(_, part)| *part).max().unwrap_or(0);
    let kind = parts.iter().find(|(_, part)| *part == most && most > 0);
    match kind {
        Some((kind, _)) if *kind != Kind::Waiting => hue(*kind),
        _ => Style::new(),
    }
}
