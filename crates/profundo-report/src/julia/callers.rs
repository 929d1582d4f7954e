//! The table of callers: how often each of them called, and from where.

use std::io;

use profundo_analysis::Caller;

use super::printer::Printer;
use super::table::{Column, Row, Table};
use crate::page::width::digits;

/// Writes the table, or that there are no callers.
pub(crate) fn write(printer: &mut Printer<'_>, callers: &[Caller]) -> io::Result<()> {
    if callers.is_empty() {
        return printer.plain("No callers were found in the samples.");
    }
    let highest = callers.iter().map(|caller| caller.count).max().unwrap_or(0);
    let table = Table {
        columns: vec![Column {
            title: "Count",
            width: digits(highest).max(6),
        }],
        has_lines: true,
        rows: callers
            .iter()
            .map(|caller| Row {
                numbers: vec![caller.count.to_string()],
                place: caller.place,
                location: None,
                shown: caller.count >= printer.report.mincount,
            })
            .collect(),
    };
    table.write(printer)
}
