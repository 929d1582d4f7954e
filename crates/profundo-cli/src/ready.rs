//! How reports are printed whose answer was found before: `diff` and `regressions`.

use std::io::{self, BufWriter, IsTerminal};

use anyhow::{Context, Result};
use profundo_console::options::Paper;
use profundo_report::{Error, Look, Ready, When};

/// The appearance on standard output. A file or a pipe has `uncut` columns, unless the options or
/// `COLUMNS` say how many.
pub fn look(paper: &Paper, uncut: Option<usize>) -> Look {
    let is_terminal = io::stdout().is_terminal();
    let uncut = uncut.filter(|_| !is_terminal && std::env::var_os("COLUMNS").is_none());
    Look::new()
        .terminal(is_terminal)
        .width(paper.width.or(uncut))
        .colors(paper.color.unwrap_or(When::Auto))
}

/// Prints a report, as text or as JSON.
pub fn print(report: &impl Ready, paper: &Paper) -> Result<()> {
    let out = BufWriter::new(io::stdout().lock());
    let written = match paper.json {
        true => report.write_json(out),
        false => report.write(out),
    };
    let plain = |error| match error {
        Error::Write(source) => source.into(),
        other => anyhow::Error::new(other),
    };
    written.map_err(plain).context("cannot write the report")
}
