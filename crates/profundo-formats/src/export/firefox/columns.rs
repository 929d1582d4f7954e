//! Columns of a table: JSON lists of numbers, of which some may be missing.

use std::io::{self, Write};

use crate::export::json;

/// Writes a column of numbers; `None` is `null`.
pub(super) fn numbers<N: std::fmt::Display>(
    out: &mut impl Write,
    name: &str,
    column: impl IntoIterator<Item = Option<N>>,
) -> io::Result<()> {
    json::list(out, name, column, |out, number| match number {
        Some(number) => write!(out, "{number}"),
        None => out.write_all(b"null"),
    })?;
    out.write_all(b",")
}

/// Writes a column of nanoseconds as milliseconds.
pub(super) fn times(
    out: &mut impl Write,
    name: &str,
    column: impl IntoIterator<Item = u64>,
) -> io::Result<()> {
    json::list(out, name, column, |out, time| json::millionths(out, time))?;
    out.write_all(b",")
}

/// Writes a column that has one value in all rows.
pub(super) fn same(out: &mut impl Write, name: &str, value: &str, rows: usize) -> io::Result<()> {
    json::list(out, name, 0..rows, |out, _| out.write_all(value.as_bytes()))?;
    out.write_all(b",")
}

/// Writes the number of rows, which ends a table.
pub(super) fn length(out: &mut impl Write, rows: usize) -> io::Result<()> {
    write!(out, "\"length\":{rows}}}")
}
