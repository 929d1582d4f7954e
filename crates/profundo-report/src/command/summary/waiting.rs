//! The table of what threads wait for.

use std::io;

use profundo_analysis::{Place, WaitRow};
use profundo_model::{Profile, Wait};

use crate::command::shares::{GRAY, heat};
use crate::json::{Json, place};
use crate::naming::Names;
use crate::page::Page;
use crate::page::line::{Line, Style};
use crate::page::palette::Color;
use crate::page::units::{counted, duration, percent};
use crate::table::{Column, Table, undrawn};

/// For how long threads waited that had something to do. That other programs had the CPU is no
/// waiting of the program's.
pub(super) fn waited(rows: &[WaitRow]) -> u64 {
    let rows = rows
        .iter()
        .filter(|row| !row.is_idle && row.wait != Some(Wait::Cpu));
    rows.map(|row| row.weight).sum()
}

/// A row: what was waited for, or what the rows are that are not shown.
struct Waited<'a> {
    /// Nanoseconds.
    weight: u64,
    of: Of<'a>,
}

enum Of<'a> {
    One(&'a WaitRow),
    Others(usize),
}

impl<'a> Waited<'a> {
    fn one(row: &'a WaitRow) -> Self {
        Self {
            weight: row.weight,
            of: Of::One(row),
        }
    }

    fn row(&self) -> Option<&'a WaitRow> {
        match self.of {
            Of::One(row) => Some(row),
            Of::Others(_) => None,
        }
    }

    fn json(&self) -> &'a WaitRow {
        self.row().expect("JSON has no row for others")
    }
}

/// The whole of the shares of waits.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Whole {
    /// The weight of all.
    pub weight: u64,
    /// True if there are too few samples for shares.
    pub is_few: bool,
}

/// The table of waits. `place` draws where the threads waited.
fn table<'a, 'r: 'a>(
    profile: &'a Profile,
    whole: Whole,
    place: impl Fn(&mut Page<'_>, &mut Line, &Waited<'r>) + 'a,
) -> Table<'a, Waited<'r>> {
    let Whole { weight, is_few } = whole;
    let title = if is_few { "" } else { "Time %" };
    let share = (Column::left(title, 6).first()).text(move |row: &Waited<'r>| {
        let share = row.weight as f64 / weight.max(1) as f64;
        let text = match is_few {
            true => String::new(),
            false => format!("{:>6}", percent(share)),
        };
        (text, row.row().map_or(GRAY, |_| heat(share)))
    });
    let place = (Column::titled("Where threads wait").last())
        .draw(place)
        .member("kind", "text?", |json, key, row: &Waited<'r>| {
            let row = row.json();
            let kind = row.wait.map_or("", Wait::name);
            json.text_or_null(key, if row.is_idle { "idle" } else { kind });
        })
        .member("what", "wait_place?", |json, key, row| {
            place_members(json, key, profile, row.json().what);
        })
        .member("at", "wait_place?", |json, key, row| {
            place_members(json, key, profile, row.json().at);
        })
        .member("inside", "wait_place?", |json, key, row| {
            place_members(json, key, profile, row.json().inside);
        })
        .member("locks?", "number", |json, key, row| {
            several_members(json, key, row.json(), Wait::Lock);
        })
        .member("children?", "number", |json, key, row| {
            several_members(json, key, row.json(), Wait::Child);
        })
        .member("joined_threads?", "number", |json, key, row| {
            several_members(json, key, row.json(), Wait::Thread);
        });
    let waited = Column::right("Waited", 12)
        .text(|row: &Waited<'r>| (duration(row.weight), style(row)))
        .member("seconds", "number", |json, key, row| {
            json.seconds(key, Some(row.json().weight));
        });
    let threads = (Column::right("Threads", 8).then(2))
        .text(|row: &Waited<'r>| {
            let threads = row.row().map(|row| row.threads.to_string());
            (threads.unwrap_or_default(), style(row))
        })
        .member("threads", "number", |json, key, row| {
            json.number(key, row.json().threads as u64);
        });
    Table::new("wait", vec![place, share, waited, threads])
}

fn style(row: &Waited<'_>) -> Style {
    row.row().map_or(GRAY, |_| Style::PLAIN)
}

fn place_members(json: &mut Json<'_>, key: &str, profile: &Profile, at: Option<Place>) {
    match at {
        Some(at) => json.row(key, |json| place(json, profile, at)),
        None => json.null(key),
    }
}

/// Writes the number of things of a kind that were waited for.
fn several_members(json: &mut Json<'_>, key: &str, row: &WaitRow, kind: Wait) {
    if row.wait == Some(kind) && !row.is_idle {
        json.number(key, row.whats.len() as u64);
    }
}

/// Writes what was waited for, and which lines did.
pub(super) fn write_waits(
    page: &mut Page<'_>,
    rows: &[WaitRow],
    names: &Names<'_>,
    whole: Whole,
    limit: usize,
) -> io::Result<()> {
    let profile = page.profile;
    let table = table(profile, whole, |_, line, row| match row.of {
        Of::One(row) => push_place(line, profile, names, row),
        Of::Others(count) => {
            let places = counted(count as u64, "other place");
            line.push(&places, GRAY);
        }
    });
    let mut line = Line::default();
    table.push_titles(&mut line);
    page.line(&mut line)?;
    // Those that are idle stand last, however few rows are wanted.
    let (idle, rows): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.is_idle);
    let (rows, others) = rows.split_at(limit.min(rows.len()));
    for row in rows.iter().copied().chain(idle) {
        table.push_row(page, &mut line, &Waited::one(row));
        line.truncate(page.columns);
        page.line(&mut line)?;
    }
    if !others.is_empty() {
        let others = Waited {
            weight: others.iter().map(|row| row.weight).sum(),
            of: Of::Others(others.len()),
        };
        table.push_row(page, &mut line, &others);
        page.line(&mut line)?;
    }
    Ok(())
}

/// Writes what was waited for as JSON.
pub(super) fn members(json: &mut Json<'_>, profile: &Profile, rows: &[WaitRow]) {
    let table = table(profile, Whole::default(), undrawn);
    for row in rows {
        json.object("", |json| table.members(json, &Waited::one(row)));
    }
}

/// Adds where threads waited, and for what.
fn push_place(line: &mut Line, profile: &Profile, names: &Names<'_>, row: &WaitRow) {
    if row.is_idle {
        line.push("idle: never worked, waiting in ", GRAY);
        line.push(row.at.map_or("", |at| names.function(at)), Style::PLAIN);
        line.push_spaces(2);
    }
    let at = row.at.map(|at| names.at(at)).unwrap_or_default();
    if !at.is_empty() {
        line.push(&at, Style::color(Color::Blue));
        line.push_spaces(2);
    }
    if let Some(at) = row.at.filter(|_| !row.is_idle) {
        line.push(names.function(at), Style::PLAIN);
        line.push_spaces(2);
    }
    if let Some(inside) = row.inside {
        line.push_fmt(format_args!("› {}  ", names.at(inside)), GRAY);
    }
    let several = several(profile, row, names);
    let what = match row.what {
        _ if row.is_idle => "",
        _ if several.is_some() => several.as_deref().unwrap_or_default(),
        Some(what) => names.function(what),
        None => "[waits]",
    };
    line.push(what, GRAY);
}

/// The words for all that one line waits for, where that is not one thing.
pub(super) fn several(profile: &Profile, row: &WaitRow, names: &Names<'_>) -> Option<String> {
    let children = row.whats.len();
    match row.wait {
        Some(Wait::Child) if children > 1 => Some(format!("[waits for {children} children]")),
        Some(Wait::Thread) if children > 1 => {
            Some(format!("[waits for the end of {children} threads]"))
        }
        _ => locks(profile, row, names),
    }
}

/// The locks that one line waits for: their number and their holders, where either is worth saying.
fn locks(profile: &Profile, row: &WaitRow, names: &Names<'_>) -> Option<String> {
    if row.wait != Some(Wait::Lock) {
        return None;
    }
    let holder = |&what: &Place| {
        let (_, holder) = names.function(what).split_once(", held by thread ")?;
        Some(holder.trim_end_matches(']').to_owned())
    };
    let mut holders: Vec<String> = row.whats.iter().filter_map(holder).collect();
    holders.sort_unstable();
    holders.dedup();
    let count = row.whats.len();
    let what = match count {
        0 | 1 if holders.is_empty() => return None,
        0 | 1 => "a lock".to_owned(),
        several => format!("{several} locks"),
    };
    Some(match &holders[..] {
        [] => format!("[waits for {what}]"),
        [one] => format!("[waits for {what} held by {}]", thread(profile, one)),
        several => format!("[waits for {what} held by {} threads]", several.len()),
    })
}

/// A thread by the number and the name that the other tables have, where it is in them: `1234
/// (name)` otherwise.
fn thread(profile: &Profile, holder: &str) -> String {
    let tid = holder
        .split_once(' ')
        .and_then(|(tid, _)| tid.parse::<u32>().ok());
    let known = profile
        .threads
        .iter()
        .find(|(_, thread)| Some(thread.tid) == tid);
    match known {
        Some((_, thread)) => {
            let name = profile.strings.get(thread.name);
            format!("thread {} {name}", thread.number)
        }
        None => format!("thread {holder}"),
    }
}

#[cfg(test)]
pub(in crate::command) fn schema() -> (&'static str, Vec<String>) {
    table(&Profile::default(), Whole::default(), undrawn).schema()
}
