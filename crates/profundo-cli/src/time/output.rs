//! Where the report goes: to stderr, because the standard output is the program's, or to a file.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, Write};

use anyhow::{Context, Result};
use profundo_report::{Look, When};

use crate::options::Time;

/// The place.
#[derive(Debug)]
pub struct Output {
    file: Option<File>,
}

impl Output {
    /// Opens the file, if one is named: what cannot be written shall be known before the program runs.
    pub fn open(options: &Time) -> Result<Self> {
        let Some(path) = &options.output else {
            return Ok(Self { file: None });
        };
        let file = OpenOptions::new()
            .create(true)
            .write(true)
            .append(options.append)
            .truncate(!options.append)
            .open(path)
            .with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self { file: Some(file) })
    }

    /// Writes the report as it was asked for.
    pub fn write(&mut self, report: profundo_report::Time, options: &Time) -> Result<()> {
        let look = Look::new()
            .width(options.paper.width)
            .colors(options.paper.color.unwrap_or(When::Auto));
        match &self.file {
            Some(file) => {
                let report = report.look(look);
                print(&report, BufWriter::new(file), options).with_context(|| {
                    let path = options.output.as_deref().unwrap_or_else(|| "".as_ref());
                    format!("cannot write {}", path.display())
                })
            }
            None => {
                let stderr = io::stderr();
                let report = report.look(look.terminal(stderr.is_terminal()));
                print(&report, BufWriter::new(stderr.lock()), options)
                    .context("cannot write the report")
            }
        }
    }
}

fn print(report: &profundo_report::Time, out: impl Write, options: &Time) -> Result<(), io::Error> {
    if options.posix {
        report.write_posix(out)
    } else if options.paper.json {
        report.write_json(out)
    } else {
        report.write(out)
    }
}
