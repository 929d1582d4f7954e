//! The flat table: a row for each function at each line.

use std::io;

use profundo_analysis::FlatRow;

use crate::printer::Printer;
use crate::table::{Column, Row, Table};
use crate::width::digits;

/// Writes the table, whose rows are in order.
pub(crate) fn write(printer: &mut Printer<'_>, rows: &[FlatRow]) -> io::Result<()> {
    let highest = |value: fn(&FlatRow) -> u64| digits(rows.iter().map(value).max().unwrap_or(0));
    let table = Table {
        columns: vec![
            Column {
                title: "Count",
                width: highest(|row| row.count).max(6),
            },
            Column {
                title: "Overhead",
                width: highest(|row| row.overhead).max(9),
            },
        ],
        has_lines: true,
        rows: rows
            .iter()
            .map(|row| Row {
                numbers: vec![row.count.to_string(), row.overhead.to_string()],
                place: row.place,
                location: row.location,
                shown: row.count >= printer.report.mincount,
            })
            .collect(),
    };
    table.write(printer)
}
