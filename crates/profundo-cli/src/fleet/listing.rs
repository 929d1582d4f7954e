//! `list` of a store: the services and versions in it, with their hosts, times and sums.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use profundo_console::progress::Progress;
use profundo_console::stderr;
use profundo_report::text;
use profundo_store::table::Kind;
use profundo_store::{Present, Query, present};
use serde_json::{Value, json};

use super::absent::{at, time, until, why};
use super::{Asked, cannot_read, threads};
use crate::list::columns;

/// The version of the list as JSON.
const SCHEMA: u32 = 1;
const DAY: i64 = 86_400_000;

const TITLES: [&str; 7] = [
    "service",
    "version",
    "hosts",
    "processes",
    "time",
    "CPU",
    "samples",
];
const NUMBERS: [bool; 7] = [false, false, true, true, false, true, true];

/// Prints what a query finds, by service and version. Without a time it is that of the last day.
pub fn list(text: &str, is_json: bool) -> Result<ExitCode> {
    let mut asked = Asked::new(text)?;
    let keys = text.split_once('?').map_or("", |(_, keys)| keys);
    let mut keys = keys.split('&');
    if !keys.any(|key| key.starts_with("from=")) {
        let to = asked.query.to;
        asked.query = Query {
            from: to - DAY,
            ..asked.query
        };
    }
    let query = &asked.query;
    let progress = Progress::start(format!("reading {}", query.place));
    let found = present(&*asked.store, query, threads());
    drop(progress);
    let found = found.with_context(|| cannot_read(&query.place))?;
    if let Some(first) = found.told.first() {
        match found.rows.is_empty() {
            true => bail!("{first}"),
            false => stderr::note(&format!("not all could be read: {first}")),
        }
    }
    if is_json {
        print_json(&asked, &found.rows)?;
    } else if found.rows.is_empty() {
        stderr::note(&why(&asked, &Default::default())?);
    } else {
        let cells: Vec<[String; 7]> = found
            .rows
            .iter()
            .map(|row| cells(row, query.kind))
            .collect();
        let title = format!("{} {}", query.place, time(query));
        let mut titles = TITLES;
        titles[5] = match query.kind {
            Kind::Cpu => "CPU",
            Kind::Wall => "threads' time",
            Kind::Alloc => "allocated",
        };
        let table = columns(&title, titles, NUMBERS, &cells);
        io::stdout().write_all(table.as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn cells(row: &Present, kind: Kind) -> [String; 7] {
    let number = |number: usize| match number {
        0 => "-".to_owned(),
        some => some.to_string(),
    };
    [
        row.service.clone(),
        match &row.version[..] {
            "" => "-".to_owned(),
            version => version.to_owned(),
        },
        number(row.hosts.len()),
        number(row.processes),
        format!("{} to {}", at(row.first), until(row.first, row.last)),
        match kind {
            Kind::Alloc => text::bytes(row.value),
            _ => text::duration(row.value),
        },
        row.count.to_string(),
    ]
}

fn print_json(asked: &Asked, rows: &[Present]) -> Result<()> {
    let query = &asked.query;
    let seconds = |millis: i64| Value::from(millis as f64 / 1e3);
    let row = |row: &Present| {
        let value = match query.kind {
            Kind::Alloc => Value::from(row.value),
            _ => Value::from(row.value as f64 / 1e9),
        };
        json!({
            "service": row.service,
            "version": row.version,
            "hosts": row.hosts,
            "processes": row.processes,
            "first_unix_seconds": seconds(row.first),
            "last_unix_seconds": seconds(row.last),
            "value": value,
            "samples": row.count,
        })
    };
    let rows = Value::from(rows.iter().map(row).collect::<Vec<_>>());
    let place = Value::from(query.place.clone());
    let kind = Value::from(query.kind.name());
    // The schema goes first.
    writeln!(
        io::stdout(),
        "{{\n  \"profundo\": {{\"schema\": {SCHEMA}, \"report\": \"list-store\"}},\n  \"store\": {place},\n  \
         \"type\": {kind},\n  \"from_unix_seconds\": {},\n  \"to_unix_seconds\": {},\n  \"services\": {rows:#}\n}}",
        seconds(query.from),
        seconds(query.to),
    )?;
    Ok(())
}
