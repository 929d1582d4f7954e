//! The tables of a store, a file for each: its columns, and how a row goes into them and comes
//! back. `docs/fleet.md` is their contract.

mod frames;
mod labels;
mod samples;
mod segments;
mod stacks;

pub use frames::FrameRow;
pub use labels::LabelRow;
pub use samples::{Kind, SampleRow, spread, squares, whole_squares};
pub(crate) use samples::{gil_name, gil_of, squares_of, state_name, state_of};
pub use segments::SegmentRow;
pub use stacks::StackRow;

use std::ops::Range;

use crate::Error;
use crate::file::{Group, Put};
use crate::texts::Texts;

/// The version of the tables that this crate writes, and the newest one that it reads.
pub const VERSION: u32 = 1;

/// A row of a table.
pub trait Table: Sized + Send {
    /// The name, which is the folder's too.
    const NAME: &'static str;
    /// The columns, in Parquet's own notation.
    const SCHEMA: &'static str;
    /// The number of rows in a row group.
    const GROUP: usize;
    /// The sorting columns, by position.
    const SORTED_BY: &'static [i32];

    /// Writes rows, column by column, in the order of the schema.
    fn write(rows: &[Self], texts: &Texts, put: &mut Put<'_, '_>) -> Result<(), Error>;

    /// Reads some rows of a row group.
    fn read(group: &Group<'_>, rows: Range<usize>, texts: &mut Texts) -> Result<Vec<Self>, Error>;
}

/// The names of all tables, in the order in which a segment's files are written: definitions come
/// before what refers to them, and the samples, which make it count, come last.
pub const TABLES: [&str; 5] = [
    FrameRow::NAME,
    StackRow::NAME,
    LabelRow::NAME,
    SegmentRow::NAME,
    SampleRow::NAME,
];
