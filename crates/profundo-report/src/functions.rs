//! The table of functions: the share of each in the time, alone and with what it called, and
//! the range in which the true share lies 95 times in 100.

use std::io;

use profundo_analysis::{Estimate, FunctionShare};

use crate::printer::Printer;
use crate::table::{Column, Row, Table};

/// Writes the table, whose rows are in order.
pub(crate) fn write(printer: &mut Printer<'_>, rows: &[FunctionShare]) -> io::Result<()> {
    let table = Table {
        columns: vec![
            Column {
                title: "Self %",
                width: 7,
            },
            Column {
                title: "95 % range",
                width: 12,
            },
            Column {
                title: "Total %",
                width: 8,
            },
            Column {
                title: "95 % range",
                width: 12,
            },
        ],
        has_lines: false,
        rows: rows
            .iter()
            .map(|row| Row {
                numbers: [row.own, row.total].iter().flat_map(cells).collect(),
                place: row.place,
                location: None,
                shown: row.count >= printer.report.mincount,
            })
            .collect(),
    };
    table.write(printer)
}

fn cells(estimate: &Estimate) -> [String; 2] {
    let Estimate { share, interval } = estimate;
    let range = format!("{:.1}–{:.1}", interval.low * 100.0, interval.high * 100.0);
    [format!("{:.1}", share * 100.0), range]
}
