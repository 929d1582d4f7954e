//! The table of what threads wait for.

use std::io;

use profundo_analysis::{Place, WaitRow};
use profundo_model::{Profile, Wait};

use crate::line::{Line, Style};
use crate::names::Names;
use crate::palette::Color;
use crate::printer::Page;
use crate::units::{counted, duration, percent};
use crate::views::{BOLD, GRAY, heat};

/// For how long threads waited that had something to do. That other programs had the CPU is no waiting of the program's.
pub(super) fn waited(rows: &[WaitRow]) -> u64 {
    let rows = rows
        .iter()
        .filter(|row| !row.is_idle && row.wait != Some(Wait::Cpu));
    rows.map(|row| row.weight).sum()
}

/// Writes what was waited for, and which lines did.
pub(super) fn write_waits(
    page: &mut Page<'_>,
    rows: &[WaitRow],
    names: &Names<'_>,
    (all, is_few): (u64, bool),
    limit: usize,
) -> io::Result<()> {
    let mut line = Line::default();
    let title = if is_few { "" } else { "Time %" };
    line.push_fmt(
        format_args!("{title:<6}      Waited Threads  Where threads wait"),
        BOLD,
    );
    page.line(&mut line)?;
    // Those that are idle stand last, however few rows are wanted.
    let (idle, rows): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.is_idle);
    let (rows, others) = rows.split_at(limit.min(rows.len()));
    for row in rows.iter().copied().chain(idle) {
        let share = row.weight as f64 / all.max(1) as f64;
        let text = if is_few {
            String::new()
        } else {
            percent(share)
        };
        line.push_fmt(format_args!("{text:>6}"), heat(share));
        line.push_fmt(format_args!("{:>12}", duration(row.weight)), Style::PLAIN);
        line.push_fmt(format_args!("{:>8}  ", row.threads), Style::PLAIN);
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
        let several = several(page.profile, row, names);
        let what = match row.what {
            _ if row.is_idle => "",
            _ if several.is_some() => several.as_deref().unwrap_or_default(),
            Some(what) => names.function(what),
            None => "[waits]",
        };
        line.push(what, GRAY);
        line.truncate(page.columns);
        page.line(&mut line)?;
    }
    if !others.is_empty() {
        let waited: u64 = others.iter().map(|row| row.weight).sum();
        let share = match is_few {
            true => String::new(),
            false => percent(waited as f64 / all.max(1) as f64),
        };
        let places = counted(others.len() as u64, "other place");
        let text = format!("{share:>6}{:>12}{:>8}  {places}", duration(waited), "");
        line.push(&text, GRAY);
        page.line(&mut line)?;
    }
    Ok(())
}

/// What is said of all that one line waits for, where that is not one thing.
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

/// Locks that one line waits for: how many there are and who holds them, where either is to be said.
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

/// A thread by the number and the name that the other tables have, where it is in them: `1234 (name)` otherwise.
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
