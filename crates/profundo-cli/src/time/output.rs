//! The output of the report: stderr, because the standard output is the program's, or a file.

use std::io::{self, BufWriter, IsTerminal, Write};

use anyhow::{Context, Result};
use profundo_console::output::{Kind, TIME, Text};
use profundo_report::{Look, When};

use crate::options::Time;

#[derive(Debug)]
pub struct Output {
    text: Option<Text>,
    /// True if the file begins with a line that says what it is.
    has_head: bool,
}

impl Output {
    /// Opens the file, if one is named, so that an error comes before the program runs.
    pub fn open(options: &Time) -> Result<Self> {
        let Some(path) = &options.output else {
            return Ok(Self {
                text: None,
                has_head: false,
            });
        };
        let text = match options.append {
            true => Text::append(path)?,
            false => Text::create(path, Kind::Time, &[], options.force)?,
        };
        let has_head = !options.posix && !options.paper.json && text.begins_a_file();
        Ok(Self {
            text: Some(text),
            has_head,
        })
    }

    /// Writes the report as it was asked for.
    pub fn write(&mut self, report: profundo_report::Time, options: &Time) -> Result<()> {
        let look = Look::new()
            .width(options.paper.width)
            .colors(options.paper.color.unwrap_or(When::Auto));
        match self.text.take() {
            Some(text) => {
                let has_head = self.has_head;
                let report = report.look(look);
                text.write(|out| {
                    if has_head {
                        writeln!(out, "{TIME}")?;
                    }
                    Ok(print(&report, out, options)?)
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
