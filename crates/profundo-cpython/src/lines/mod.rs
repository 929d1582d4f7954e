//! From an instruction to a line, by the line table that was copied from the code object.
//!
//! There have been three formats. Each is an iterator of ranges of instructions in ascending order,
//! over bytes that may be anything: malformed bytes end it.
//!
//! ```
//! use profundo_cpython::lines::position;
//!
//! // 3.11 and later: two code units on the first line plus one, columns 4 to 9.
//! let table = [0x80 | 11 << 3 | 1, 4, 9];
//! let found = position(12, &table, 10, 2).unwrap();
//! assert_eq!(found.line, Some(11));
//! assert_eq!((found.column, found.end_column), (Some(4), Some(9)));
//! ```

mod deltas;
mod locations;

use deltas::{Deltas, NumberTable};
use locations::Locations;

/// The position of some instructions. Lines count from 1, columns are bytes and count from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Position {
    /// The line; `None` for code that the compiler added.
    pub line: Option<i32>,
    /// The line of the expression's end, where that is known.
    pub end_line: Option<i32>,
    /// The column of its first byte.
    pub column: Option<u32>,
    /// The column behind its last byte.
    pub end_column: Option<u32>,
}

/// Adjacent instructions with one position, as offsets in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// The first instruction.
    pub start: u32,
    /// Behind the last instruction. The last range of an old table has no end.
    pub end: u32,
    /// The position of all of them.
    pub position: Position,
}

/// The ranges of a line table.
#[derive(Debug, Clone)]
pub struct Ranges<'a>(Format<'a>);

#[derive(Debug, Clone)]
enum Format<'a> {
    NumberTable(NumberTable<'a>),
    Deltas(Deltas<'a>),
    Locations(Locations<'a>),
}

impl<'a> Ranges<'a> {
    /// The ranges of this table, of this minor version, for code that begins on this line.
    pub fn new(minor: u8, table: &'a [u8], first_line: i32) -> Self {
        Self(match minor {
            ..=9 => Format::NumberTable(NumberTable::new(table, first_line)),
            10 => Format::Deltas(Deltas::new(table, first_line)),
            _ => Format::Locations(Locations::new(table, first_line)),
        })
    }
}

impl Iterator for Ranges<'_> {
    type Item = Range;

    fn next(&mut self) -> Option<Range> {
        match &mut self.0 {
            Format::NumberTable(ranges) => ranges.next(),
            Format::Deltas(ranges) => ranges.next(),
            Format::Locations(ranges) => ranges.next(),
        }
    }
}

/// The position of the instruction at this offset; `None` if the table does not reach that far. A
/// negative `offset`, before the first instruction, has the first line.
pub fn position(minor: u8, table: &[u8], first_line: i32, offset: i32) -> Option<Position> {
    let Ok(offset) = u32::try_from(offset) else {
        return Some(Position {
            line: Some(first_line),
            ..Position::default()
        });
    };
    Ranges::new(minor, table, first_line)
        .find(|range| (range.start..range.end).contains(&offset))
        .map(|range| range.position)
}

#[cfg(test)]
mod tests;
