//! The columns of the tables of files and of lines.

use profundo_analysis::{IoAmount, IoRow, Place};

use crate::json::place_at;
use crate::naming::statements::Statements;
use crate::page::Page;
use crate::page::line::{Line, Style};
use crate::page::units::{bytes, duration};
use crate::table::{Column, Table};

/// The width of a number.
const NUMBER: usize = 9;

/// A row of either table, or what stands for others.
pub(super) struct Row<'a, K> {
    pub amount: IoAmount,
    pub of: Of<'a, K>,
}

pub(super) enum Of<'a, K> {
    /// A file or a line; `None` is not known.
    One(Option<&'a K>),
    /// The bytes that no sample was near to.
    Unseen,
    /// This many rows that are not shown.
    Others(usize),
}

impl<'a, K> Row<'a, K> {
    pub(super) fn one(row: &'a IoRow<K>) -> Self {
        Self {
            amount: row.amount,
            of: Of::One(row.of.as_ref()),
        }
    }

    fn known(&self) -> Option<&'a K> {
        match self.of {
            Of::One(of) => of,
            Of::Unseen | Of::Others(_) => None,
        }
    }
}

/// The columns of bytes read and written, and of the time that took.
fn amounts<'a, R: 'a>(amount: fn(&R) -> &IoAmount) -> Vec<Column<'a, R>> {
    let column = |title, number: fn(&IoAmount) -> u64, text: fn(u64) -> String, then| {
        (Column::right(title, NUMBER).then(then)).text(move |row| {
            let text = match number(amount(row)) {
                0 => String::new(),
                number => text(number),
            };
            (text, Style::PLAIN)
        })
    };
    vec![
        column("Read", |amount| amount.read, bytes, 0).member(
            "read_bytes",
            "number",
            move |json, key, row| json.number(key, amount(row).read),
        ),
        column("Written", |amount| amount.written, bytes, 0).member(
            "written_bytes",
            "number",
            move |json, key, row| json.number(key, amount(row).written),
        ),
        column("Waited", |amount| amount.waited, duration, 0).member(
            "waited_seconds",
            "number",
            move |json, key, row| json.seconds(key, Some(amount(row).waited)),
        ),
        column("CPU", |amount| amount.cpu, duration, 0).member(
            "cpu_seconds",
            "number",
            move |json, key, row| json.seconds(key, Some(amount(row).cpu)),
        ),
        column(
            "Samples",
            |amount| amount.samples,
            |number| number.to_string(),
            2,
        )
        .member("samples", "number", move |json, key, row| {
            json.number(key, amount(row).samples)
        }),
    ]
}

/// The columns of what all of it adds up to.
pub(super) fn total<'a>() -> Table<'a, IoAmount> {
    Table::new("io_amount", amounts(|amount| amount))
}

/// The table of files.
pub(super) fn files<'a>(
    draw: impl Fn(&mut Page<'_>, &mut Line, &Row<'a, String>) + 'a,
) -> Table<'a, Row<'a, String>> {
    let file = Column::titled("Files that are read and written").last();
    let file = file.draw(draw).member("file", "text?", |json, key, row| {
        json.text_or_null(key, row.known().map_or("", String::as_str));
    });
    let mut columns = vec![file];
    columns.extend(amounts(|row: &Row<'a, String>| &row.amount));
    Table::new("io_file", columns)
}

/// The table of lines.
pub(super) fn lines<'a>(
    statements: &'a Statements<'a>,
    draw: impl Fn(&mut Page<'_>, &mut Line, &Row<'a, Place>) + 'a,
) -> Table<'a, Row<'a, Place>> {
    let line = Column::titled("Lines that read and write").last();
    let line = (line.draw(draw)).member("at", "io_place?", |json, key, row| match row.known() {
        Some(at) => json.row(key, |json| {
            place_at(json, statements.profile(), *at, Some(statements.line(*at)));
        }),
        None => json.null(key),
    });
    let mut columns = vec![line];
    columns.extend(amounts(|row: &Row<'a, Place>| &row.amount));
    Table::new("io_line", columns)
}
