//! The flat table: a row for each function at each line.

use std::io;

use profundo_analysis::{FlatRow, Selection, traced};

use super::printer::Printer;
use super::table::{Column, Row, Table};
use crate::naming::weighs::Weighs;
use crate::page::units::duration;
use crate::page::width::digits;

/// Writes the table, whose rows are in order.
pub(crate) fn write(
    printer: &mut Printer<'_>,
    rows: &[FlatRow],
    selection: &Selection,
) -> io::Result<()> {
    if Weighs::of(printer.profile) == Weighs::Traced {
        return write_traced(printer, rows, selection);
    }
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

/// Writes the callers of counted calls: their times, and their numbers.
fn write_traced(
    printer: &mut Printer<'_>,
    rows: &[FlatRow],
    selection: &Selection,
) -> io::Result<()> {
    let calls = traced(printer.profile, selection);
    let calls = |row: &FlatRow| {
        let counted = calls.of(printer.profile, row.place);
        counted.map_or(0, |counted| counted.begun.calls)
    };
    let most = rows.iter().map(calls).max().unwrap_or(0);
    let time = |title| Column { title, width: 11 };
    let table = Table {
        columns: vec![
            time("Time"),
            time("Own time"),
            Column {
                title: "Calls",
                width: digits(most).max(6),
            },
        ],
        has_lines: true,
        rows: rows
            .iter()
            .map(|row| Row {
                numbers: vec![
                    duration(row.count),
                    duration(row.overhead),
                    calls(row).to_string(),
                ],
                place: row.place,
                location: row.location,
                shown: row.count >= printer.report.mincount,
            })
            .collect(),
    };
    table.write(printer)
}
