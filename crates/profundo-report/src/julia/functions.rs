//! The table of functions: the share of each in the time, alone and with what it called, and
//! the range in which the true share lies 95 times in 100.

use std::io;

use profundo_analysis::{Estimate, FunctionShare, is_exact};

use super::printer::Printer;
use super::table::{Column, Row, Table};
use crate::page::units::{share_text, share_title};

/// Writes the table, whose rows are in order.
pub(crate) fn write(printer: &mut Printer<'_>, rows: &[FunctionShare]) -> io::Result<()> {
    let is_few = rows.iter().any(|row| row.own.few.is_some());
    let has_range = !is_exact(printer.profile) && !is_few;
    let range = Column {
        title: "95 % range",
        width: 12,
    };
    let mut columns = Vec::new();
    for (title, width) in [("Self %", 7), ("Total %", 8)] {
        let title = share_title(title, is_few);
        // As wide as `29 of 29`.
        let width = if is_few { 9 } else { width };
        columns.push(Column { title, width });
        columns.extend(has_range.then_some(range));
    }
    let table = Table {
        columns,
        has_lines: false,
        rows: rows
            .iter()
            .map(|row| Row {
                numbers: ([row.own, row.total].iter())
                    .flat_map(|share| cells(share).into_iter().take(if has_range { 2 } else { 1 }))
                    .collect(),
                place: row.place,
                location: None,
                shown: row.count >= printer.report.mincount,
            })
            .collect(),
    };
    table.write(printer)
}

fn cells(estimate: &Estimate) -> [String; 2] {
    let Estimate {
        share, interval, ..
    } = estimate;
    let range = format!("{:.1}–{:.1}", interval.low * 100.0, interval.high * 100.0);
    match estimate.few {
        Some(_) => [share_text(estimate), String::new()],
        None => [format!("{:.1}", share * 100.0), range],
    }
}
