//! The lines below the table: the keys, and the current message.

use profundo_report::text::{keep_tail, width};
use ratatui::style::Style;

use super::{BOLD, CHOSEN, FAINT, Pen, Surroundings};
use crate::picture::Picture;
use crate::state::State;

/// The keys that fit, the most needed first.
pub fn keys(pen: &mut Pen<'_>, state: &State, picture: &Picture) {
    let row = pen.area.height - 1;
    let room = usize::from(pen.area.width);
    if state.is_typing {
        let typed = keep_tail(&format!("/{}", state.filter), room - 1);
        let end = pen.text(0, row, &typed, BOLD);
        let end = pen.text(end, row, " ", CHOSEN);
        pen.text(end + 1, row, "Enter keep  Esc all", FAINT);
        return;
    }
    let sort = format!("s sort: {}", state.order_word());
    let filter = match state.filter.is_empty() {
        true => "/ filter".to_owned(),
        false => format!("/{}  Esc all", state.filter),
    };
    let pause = match state.paused {
        true => "Space go on",
        false => "Space pause",
    };
    let back = state.detail.is_some() || state.help;
    let quit = match picture.head.ended {
        Some(_) => "q end",
        None => "q quit",
    };
    let mut words = vec!["? help", quit];
    if back {
        words.push("Esc back");
    }
    words.extend([&*sort, "w window", &*filter, pause]);
    if !back {
        words.push("Enter closer");
    }
    words.push("Tab next table");
    let mut line = String::new();
    for word in words {
        let with = match line.as_str() {
            "" => word.to_owned(),
            line => format!("{line}  {word}"),
        };
        if width(&with) <= room {
            line = with;
        }
    }
    pen.text(0, row, &line, FAINT);
}

/// The message above the keys: the last action, current work, or the file of the output.
pub fn note(picture: &Picture, around: Surroundings<'_>) -> Option<String> {
    if let Some(message) = around.message {
        return Some(message.to_owned());
    }
    if picture.head.is_naming {
        return Some("looking up names…".to_owned());
    }
    if let Some(note) = &picture.head.note {
        return Some(format!("Note: {note}"));
    }
    let output = around.output?;
    Some(format!("output: {}", output.display()))
}

const TABLES: &str = "1 2 3 4 5, Tab, ← →";

const HELP: [(&str, &str); 12] = [
    (
        TABLES,
        "functions, lines, threads, processes (--wall: waits)",
    ),
    ("↑ ↓ PgUp PgDn Home End", "choose a row"),
    ("Enter", "the chosen row's callers and its hottest stack"),
    ("Esc", "back; undo the filter, the choice"),
    ("s r", "sort by self, by total, by name; reverse the order"),
    ("w W", "the window: 2, 5, 10, 30, 60 s, since the start"),
    ("/", "show only what has this in its name or file"),
    ("Space", "pause: the page stays as it is, sampling goes on"),
    ("Ctrl-L Ctrl-Z", "draw the page anew; suspend, `fg` goes on"),
    ("q", "leave; a program that top started goes on"),
    ("Ctrl-C", "interrupt the program that top started, or leave"),
    ("? h", "this page; any key leaves it"),
];

/// The meaning of the words on the page.
const WORDS: [(&str, &str); 6] = [
    ("CPU", "of all processes together; 100 % is one CPU"),
    (
        "RSS (+ −)",
        "memory, its growth in the window; ≤: shared is twice in",
    ),
    ("itself", "what profundo takes"),
    (
        "Py Nat Sys Wait Unr",
        "Python, native, system calls, waiting, not readable",
    ),
    ("3 of 5", "samples: fewer than 30 are too few for shares"),
    (
        "[unknown function]",
        "code without a name; its module follows",
    ),
];

/// The explanation of the keys and the words.
pub fn help(pen: &mut Pen<'_>, state: &State, around: Surroundings<'_>) {
    let output = around.output.map(|output| output.display().to_string());
    let output = output.as_deref().map(|output| ("output", output));
    let all = HELP.into_iter().chain(WORDS).chain(output);
    for (row, (keys, what)) in (3..).zip(all) {
        if row + 1 >= pen.area.height {
            break;
        }
        let (keys, what) = match (keys, state.has_waits) {
            (TABLES, true) => (TABLES, "functions, lines, threads, processes, waits"),
            (keys, _) => (keys, what),
        };
        pen.text(1, row, keys, BOLD);
        pen.text(25, row, what, Style::new());
    }
}
