//! A report as rows for other programs: CSV, JSON lines, Parquet.

use std::io::{IsTerminal, Write, stdout};

use anyhow::Result;
use profundo_console::{output, stderr};
use profundo_tables::{Table, find, tables, write_csv, write_json_lines, write_parquet};

use crate::options::{self, Style};

/// The rows that were asked for.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    format: Format,
    table: Option<&'a str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Csv,
    JsonLines,
    Parquet,
}

impl<'a> Rows<'a> {
    /// `None` where the report is a text or a document. Ends the program with a hint where options
    /// do not go together.
    pub fn of(style: &'a Style) -> Option<Self> {
        let format = match (style.csv, style.jsonl, style.parquet) {
            (true, ..) => Format::Csv,
            (_, true, _) => Format::JsonLines,
            (.., true) => Format::Parquet,
            _ if style.table.is_some() => {
                options::refuse("`--table` chooses what --csv, --jsonl or --parquet write")
            }
            _ => return None,
        };
        let is_to_terminal = match style.report_to.as_deref() {
            Some(path) if !output::is_stdout(path) => false,
            _ => stdout().is_terminal(),
        };
        if format == Format::Parquet && is_to_terminal {
            options::refuse("Parquet is not for a terminal: `-o FILE` writes it to a file");
        }
        let table = style.table.as_deref();
        Some(Self { format, table })
    }

    /// Writes the rows of a report of this name, which is there as JSON.
    pub fn write(self, json: &[u8], report: &str, out: &mut (impl Write + ?Sized)) -> Result<()> {
        let tables = tables(&String::from_utf8_lossy(json))?;
        if self.format == Format::JsonLines {
            let chosen: Vec<&Table> = match self.table {
                Some(name) => vec![find(&tables, Some(name))?],
                None => tables.iter().collect(),
            };
            let mut bytes = Vec::new();
            write_json_lines(&chosen, &mut bytes)?;
            out.write_all(&bytes)?;
            return Ok(());
        }
        // The table that a report is named after is what it is about.
        let of_report = match report {
            "tree" => "nodes",
            report => report,
        };
        let usual = tables.iter().find(|table| table.name == of_report);
        let table = match (self.table, usual) {
            (None, Some(usual)) => usual,
            (name, _) => find(&tables, name)?,
        };
        if self.table.is_none() && tables.len() > 1 {
            let others = tables.iter().map(|table| &table.name[..]);
            let others: Vec<&str> = others.filter(|name| *name != table.name).collect();
            stderr::note(&format!(
                "this is the table {}; `--table NAME` writes another: {}",
                table.name,
                others.join(", ")
            ));
        }
        let mut bytes = Vec::new();
        match self.format {
            Format::Parquet => write_parquet(table, &mut bytes)?,
            _ => write_csv(table, &mut bytes)?,
        }
        out.write_all(&bytes)?;
        Ok(())
    }
}
