//! `list`: the recordings that there are, the newest first.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use profundo_console::stderr;
use profundo_formats::{Holds, Overview, is_being_written, overview_file};
use profundo_launch::LocalTime;
use profundo_model::SampleKind;
use profundo_report::text;
use serde_json::{Value, json};

use crate::fleet;
use crate::options::List;
use crate::recordings::{Folder, newest_first};

/// The version of the list as JSON.
const SCHEMA: u32 = 1;

/// A recording, as the list has it.
struct Row {
    path: PathBuf,
    overview: Overview,
    size: u64,
    is_being_written: bool,
}

impl Row {
    fn of(path: PathBuf) -> Option<Self> {
        let overview = overview_file(&path).ok()?;
        Some(Self {
            size: fs::metadata(&path).map_or(0, |metadata| metadata.len()),
            is_being_written: is_being_written(&path),
            overview,
            path,
        })
    }

    /// The cells of its line: number, when, how long, CPU time, kind, size, command and file.
    fn cells(&self, number: usize) -> [String; 7] {
        let meta = &self.overview.meta;
        let began = LocalTime::at((meta.started_at_unix / 1_000_000_000) as i64);
        let duration = match (self.is_being_written, self.overview.is_whole) {
            (true, _) => "running".to_owned(),
            (false, true) => text::duration(self.overview.lasted.0),
            (false, false) => "cut".to_owned(),
        };
        let cpu = self
            .overview
            .cpu
            .map_or("-".to_owned(), |cpu| text::duration(cpu.0));
        [
            format!("@{number}"),
            began.shown(),
            duration,
            cpu,
            kinds(&self.overview).join(" + "),
            text::bytes(self.size),
            self.what(),
        ]
    }

    /// The command, behind the number of recordings if it was merged.
    fn what(&self) -> String {
        let command = match self.overview.meta.is_of_machine {
            true => "processes of the machine",
            false => self.overview.command.as_deref().unwrap_or_default(),
        };
        match self.overview.origins {
            0 | 1 => command.to_owned(),
            merged => format!("({merged} merged) {command}"),
        }
    }

    fn json(&self, number: usize) -> Value {
        let meta = &self.overview.meta;
        json!({
            "name": format!("@{number}"),
            "file": self.path.display().to_string(),
            "command": self.overview.command,
            "began_unix_ns": meta.started_at_unix,
            "duration_ns": self.overview.lasted.0,
            "cpu_ns": self.overview.cpu.map(|cpu| cpu.0),
            "kinds": kinds(&self.overview),
            "merged": self.overview.origins.max(1),
            "bytes": self.size,
            "is_being_written": self.is_being_written,
            "is_whole": self.overview.is_whole,
        })
    }
}

/// The kinds of data in a recording, in words.
fn kinds(overview: &Overview) -> Vec<&'static str> {
    let Holds {
        samples,
        waits,
        blocks,
        exact_blocks,
        calls,
        lines,
        ..
    } = overview.holds;
    let time = match overview.meta.kind {
        SampleKind::Wall => "wall clock",
        SampleKind::Events => "events",
        _ => "CPU",
    };
    let is_traced = calls || lines;
    let all = [
        (calls, "calls"),
        (lines, "lines"),
        (samples && !is_traced, time),
        (waits, "I/O"),
        (blocks && !exact_blocks, "memory"),
        (exact_blocks, "exact memory"),
    ];
    let mut kinds: Vec<&str> = (all.into_iter())
        .filter(|(is_there, _)| *is_there)
        .map(|(_, name)| name)
        .collect();
    if kinds.is_empty() {
        kinds.push("empty");
    }
    kinds
}

/// The titles of the columns; the first is the name by which a recording can be meant.
const TITLES: [&str; 7] = ["", "began", "lasted", "CPU", "kind", "size", "command"];
/// Columns of numbers are set flush right.
const NUMBERS: [bool; 7] = [false, false, true, true, false, true, false];

pub fn list(options: &List) -> Result<ExitCode> {
    if let Some(place) = options.folder.as_deref()
        && (fleet::query(place).is_some() || fleet::is_folder(place))
    {
        return fleet::list(&place.to_string_lossy(), options.json);
    }
    let folder = match &options.folder {
        Some(folder) => Folder::at(folder),
        None => Folder::here(),
    };
    let rows: Vec<Row> = (newest_first(&folder).into_iter())
        .filter_map(Row::of)
        .collect();
    if options.json {
        let rows = rows.iter().zip(1..).map(|(row, number)| row.json(number));
        let rows = Value::from(rows.collect::<Vec<_>>());
        let folder = Value::from(folder.path().display().to_string());
        // The schema goes first.
        writeln!(
            io::stdout(),
            "{{\n  \"profundo\": {{\"schema\": {SCHEMA}, \"report\": \"list\"}},\n  \"folder\": {folder},\n  \"recordings\": {rows:#}\n}}"
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    if rows.is_empty() {
        let shown = folder.path().display();
        stderr::note(&format!(
            "there are no recordings in {shown}; `profundo run CMD` makes one"
        ));
        return Ok(ExitCode::SUCCESS);
    }
    io::stdout().write_all(table(&rows, folder.path()).as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn table(rows: &[Row], folder: &Path) -> String {
    let cells = rows.iter().zip(1..).map(|(row, number)| row.cells(number));
    let cells: Vec<[String; 7]> = cells.collect();
    let title = format!("Recordings in {}", folder.display());
    columns(&title, TITLES, NUMBERS, &cells)
}

/// Lines of text with their columns below each other; those of numbers are set flush right.
pub fn columns<const N: usize>(
    title: &str,
    titles: [&str; N],
    is_number: [bool; N],
    cells: &[[String; N]],
) -> String {
    let titles = titles.map(str::to_owned);
    let lines: Vec<&[String; N]> = std::iter::once(&titles).chain(cells).collect();
    let mut widths = [0; N];
    for line in &lines {
        for (width, cell) in widths.iter_mut().zip(*line) {
            *width = text::width(cell).max(*width);
        }
    }
    // Commands are not cut in a pipe.
    let columns = match io::stdout().is_terminal() {
        true => profundo_report::terminal_width(),
        false => usize::MAX,
    };
    let mut out = format!("{title}\n");
    for line in &lines {
        let mut text = String::new();
        for (index, cell) in line.iter().enumerate() {
            let gap = " ".repeat(widths[index] - text::width(cell));
            if index > 0 {
                text.push_str("  ");
            }
            match is_number[index] {
                true => text.extend([gap.as_str(), cell]),
                false => text.extend([cell.as_str(), &gap]),
            }
        }
        out.push_str(&text::keep_head(text.trim_end(), columns));
        out.push('\n');
    }
    out
}
