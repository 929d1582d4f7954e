//! Reports of Intel VTune Profiler, as `vtune -report` prints them with `-format csv` or as text:
//! the call tree (`top-down`), tables of functions, lines, modules or threads (`hotspots`,
//! `hw-events`) and the call graph (`gprof-cc`).
//!
//! ```text
//! Function Stack,CPU Time:Self,Module          Function    CPU Time  Module
//! Total,0.0,[Unknown]                          ----------  --------  ------
//!  main,0.0,app                                hash          1.234s  app
//!   hash,1.234,app
//! ```
//!
//! Times are seconds. A column `NAME:Total` holds what is called, too.

mod columns;
mod graph;
mod rows;
mod table;

use std::borrow::Cow;

use crate::quantities::sums::Sums;
use crate::reader::{Reader, Table as ReaderTable};
use crate::{Builder, Error, Source};
use columns::{Columns, Label};
use rows::Rows;
use table::Table;

pub(crate) const READER: Reader = Reader(&ReaderTable {
    name: "vtune",
    writers: "Intel VTune's `vtune -report … -format csv`",
    is_start: |start| open(start).is_some(),
    fill,
});

fn open(text: &[u8]) -> Option<Table<'_>> {
    Table::open(text, |titles| {
        columns::is_report(titles) || graph::is_report(titles)
    })
}

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    let Some(mut table) = open(source.bytes) else {
        return Err(Error::Malformed {
            format: "vtune",
            what: "no titles of columns".to_owned(),
        });
    };
    if graph::is_report(&table.titles) {
        return graph::fill(&mut table, builder);
    }
    let columns = Columns::new(&table.titles);
    let value = columns.value_of(source.options)?;
    let (kind, event) = value.kind();
    builder.weighs(kind, event);
    let label = columns.label;
    let mut rows = Rows::new(columns, value);
    let mut cells: Vec<Cow<'_, [u8]>> = Vec::new();
    let mut sums = Sums::default();
    while table.next(&mut cells) {
        let is_empty = cells.iter().all(|cell| cell.trim_ascii().is_empty());
        if !is_empty && rows.row(builder, &cells, &mut sums).is_none() {
            let line = table.line;
            builder.leave_out("rows", || format!("line {line}"));
        }
    }
    rows.finish(&mut sums);
    sums.finish(builder);
    builder.note(match label {
        Label::Stack => "the report has no times at which samples were taken",
        Label::Function => "the report has no callers and no times: `-report top-down` has callers",
        Label::Line => "the report has lines, and no callers or times",
        Label::Other => "the report has no functions, callers or times",
    });
    Ok(())
}
