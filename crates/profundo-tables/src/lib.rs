//! The tables of a report for spreadsheets and data frames: CSV, JSON lines and Parquet.
//!
//! A report as JSON (`docs/json.md`) is a document with arrays of rows. Each array is a [`Table`]
//! of its name: `functions`, `lines`. Rows within rows are a table of their own, whose rows have
//! the plain members of the rows around them too: a line has its file. So every report has tables,
//! without a line of code for each.
//!
//! It knows neither profiles nor reports, only their JSON.
//!
//! ```
//! let report = r#"{"profundo": {"report": "lines"}, "files": [
//!     {"file": "a.py", "lines": [{"line": 3, "share": 0.5}]}]}"#;
//! let tables = profundo_tables::tables(report)?;
//! let lines = profundo_tables::find(&tables, Some("lines"))?;
//! let mut csv = Vec::new();
//! profundo_tables::write_csv(lines, &mut csv)?;
//! assert_eq!(csv, b"file,line,share\na.py,3,0.5\n");
//! # Ok::<(), profundo_tables::Error>(())
//! ```

#![forbid(unsafe_code)]

mod columns;
mod error;
mod flatten;
mod write;

pub use error::Error;
pub use flatten::{Table, find, tables};
pub use write::{write_csv, write_json_lines, write_parquet};
