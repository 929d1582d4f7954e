//! The lines above the table: the program, its time by kind, the table and its part of the past.

use profundo_analysis::palette::Hue;
use profundo_model::Kind;
use profundo_report::text::{bytes, duration, keep_head, keep_tail, percent, width};
use ratatui::style::Style;

use super::{BOLD, CHOSEN, FAINT, Pen, Surroundings, hue, parts_of};
use crate::picture::{Head, Memory, Picture};
use crate::state::State;
use crate::window::Span;

/// The least time for which CPU time per second can be measured.
const MEASURABLE: u64 = 100_000_000;

/// Draws the program and its figures.
pub fn head(pen: &mut Pen<'_>, head: &Head) {
    let columns = usize::from(pen.area.width);
    let mut facts = facts(head);
    // Facts that do not fit are left out from the end; the command keeps a third of the line, if it
    // needs that.
    let number = match head.pid {
        0 => String::new(),
        pid => pid.to_string(),
    };
    let digits = number.len();
    let least = (width(&head.command) + digits + 3).min(columns / 3);
    let mut line = facts.join(" · ");
    while width(&line) + least > columns && facts.len() > 1 {
        facts.pop();
        line = facts.join(" · ");
    }
    let room = columns.saturating_sub(width(&line) + 2);
    let command = keep_head(&head.command, room.saturating_sub(digits + 1));
    let end = pen.text(0, 0, &command, BOLD);
    pen.text(end + 1, 0, &number, FAINT);
    pen.right(pen.area.width, 0, &line, Style::new());
}

/// The known facts, the most important first.
fn facts(head: &Head) -> Vec<String> {
    let mut facts = vec![seconds(head.elapsed)];
    if head.elapsed >= MEASURABLE {
        facts.push(format!("CPU {:.0} %", head.cpu * 100.0));
    }
    if let Some(memory) = &head.memory {
        facts.push(memory_of(memory));
    }
    if head.others > 0 {
        facts.push(format!("{} processes", head.others + 1));
    }
    match head.threads {
        0 => {}
        1 => facts.push("1 thread".to_owned()),
        threads => facts.push(format!("{threads} threads")),
    }
    facts.push(format!("itself {}", percent_or_0(head.own_cpu)));
    facts.push(format!("{} samples/s", head.rate.round()));
    if let Some(ended) = &head.ended {
        facts.insert(0, ended.clone());
    }
    facts
}

/// Memory and its trend. For several processes it is an upper bound: the sum counts shared memory
/// repeatedly.
fn memory_of(memory: &Memory) -> String {
    let most = match memory.peak {
        Some(_) => "RSS",
        None => "RSS ≤",
    };
    let now = format!("{most} {}", bytes(memory.resident));
    match memory.grown {
        Some(grown) => format!("{now} ({})", signed(grown)),
        None => now,
    }
}

/// Growth or shrinkage in bytes.
pub fn signed(grown: i64) -> String {
    match grown {
        0 => "±0".to_owned(),
        1.. => format!("+{}", bytes(grown.unsigned_abs())),
        _ => format!("−{}", bytes(grown.unsigned_abs())),
    }
}

/// An elapsed time.
fn seconds(nanos: u64) -> String {
    match nanos as f64 / 1e9 {
        short if short < 9.95 => format!("{short:.1} s"),
        some if some < 999.5 => format!("{some:.0} s"),
        _ => duration(nanos),
    }
}

pub fn percent_or_0(share: f64) -> String {
    match percent(share) {
        text if text.is_empty() => "0.0 %".to_owned(),
        text => format!("{text} %"),
    }
}

/// The character that fills a kind's bar.
fn sign(kind: Kind) -> String {
    Hue::from(kind).tint().sign.to_string()
}

/// Draws the time by kind, or the samples if they are few.
pub fn bar(pen: &mut Pen<'_>, picture: &Picture) {
    let split = picture.head.split;
    let parts = parts_of(split);
    let all = split.sum().max(1) as f64;
    let share = |part: u64| match picture.is_few {
        true => part.to_string(),
        false => percent_or_0(part as f64 / all),
    };
    let mut words = Vec::new();
    for (kind, part) in parts {
        if part > 0 {
            let name = Hue::from(kind).name();
            words.push((sign(kind), format!("{name} {}", share(part)), hue(kind)));
        }
    }
    if let Some((_, word, _)) = words.last_mut().filter(|_| picture.is_few) {
        *word = match split.sum() {
            1 => format!("{word} of 1 sample"),
            all => format!("{word} of {all} samples"),
        };
    }
    let room: usize = words.iter().map(|(_, word, _)| width(word) + 4).sum();
    let columns = usize::from(pen.area.width).saturating_sub(room);
    let mut at = 0;
    if columns >= 8 {
        let mut ends = 0.0;
        for (kind, part) in parts {
            ends += part as f64 / all * columns as f64;
            let length = (ends.round() as usize).saturating_sub(usize::from(at));
            at = pen.text(at, 1, &sign(kind).repeat(length), hue(kind));
        }
        at = columns as u16;
    }
    for (sign, word, style) in words {
        let next = pen.text(at + 1, 1, &sign, style);
        at = pen.text(next + 1, 1, &word, Style::new()) + 1;
    }
}

/// The room that is kept for the window's length, so that tables do not lose their names while it
/// fills.
const WINDOW: usize = 20;

/// Draws the names of the tables, and the choices in the selected one.
pub fn tabs(pen: &mut Pen<'_>, state: &State, picture: &Picture, around: Surroundings<'_>) {
    let columns = usize::from(pen.area.width);
    let mut at = 0;
    if around.is_printed {
        at = pen.text(at, 2, picture.view.name(), CHOSEN);
    } else {
        let full = |number: usize, name: &str| format!(" {number} {name} ");
        let views = || (1..).zip(state.views());
        let words = views().map(|(number, view)| width(&full(number, view.name())));
        let has_room = words.sum::<usize>() + WINDOW <= columns;
        for (number, &view) in views() {
            let (word, style) = match view == state.view {
                true => (full(number, view.name()), CHOSEN),
                false if has_room => (full(number, view.name()), FAINT),
                false => (format!(" {number} "), FAINT),
            };
            at = pen.text(at, 2, &word, style);
        }
    }
    let room = columns.saturating_sub(usize::from(at) + 1);
    pen.right(pen.area.width, 2, &choices(state, picture, room), BOLD);
}

/// The choices: the order, the filter, the part of the past. Those that do not fit are left out.
fn choices(state: &State, picture: &Picture, room: usize) -> String {
    let window = span(state.span, picture.length);
    let window = match width(&window) <= room {
        true => window,
        false => window.trim_start_matches("last ").to_owned(),
    };
    let mut parts = vec![window];
    let has_room =
        |parts: &[String], more: &str| width(&parts.join(" · ")) + 3 + width(more) <= room;
    if state.paused {
        parts.insert(0, "PAUSED".to_owned());
    }
    let filter = format!("/{}", state.filter);
    if !state.filter.is_empty() && has_room(&parts, &filter) {
        parts.insert(0, filter);
    }
    let order = state.order_name();
    if has_room(&parts, &order) {
        parts.insert(0, order);
    }
    let samples = match picture.samples {
        1 => "1 sample".to_owned(),
        samples => format!("{samples} samples"),
    };
    if has_room(&parts, &samples) {
        parts.push(samples);
    }
    keep_tail(&parts.join(" · "), room)
}

fn span(span: Span, length: u64) -> String {
    match span {
        Span::Last(all) if length < all * 900_000_000 => {
            format!("last {} of {all} s", seconds(length))
        }
        Span::Last(all) => format!("last {all} s"),
        Span::SinceStart => "since the start".to_owned(),
    }
}
