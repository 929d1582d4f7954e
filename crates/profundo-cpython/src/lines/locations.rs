//! The location table of 3.11 and later (`co_linetable`).
//!
//! ```text
//! ┌───┬──────────┬────────────┐
//! │ 1 │ form (4) │ length − 1 │  then bytes whose top bit is 0
//! └───┴──────────┴────────────┘
//! ```
//!
//! The length counts code units of two bytes. The forms 0 to 9 stay on the line and have columns in
//! a nibble or two, 10 to 12 move on by 0 to 2 lines with a column in each of two bytes, 13 has a
//! line's delta only, 14 has everything, 15 nothing.

use super::{Position, Range};

/// `co_linetable` of 3.11 and later.
#[derive(Debug, Clone)]
pub(super) struct Locations<'a> {
    bytes: &'a [u8],
    end: u32,
    line: i32,
}

const BEGIN: u8 = 0x80;

impl<'a> Locations<'a> {
    pub(super) fn new(bytes: &'a [u8], line: i32) -> Self {
        Self {
            bytes,
            end: 0,
            line,
        }
    }

    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.bytes.split_first()?;
        if byte & BEGIN != 0 {
            return None;
        }
        self.bytes = rest;
        Some(byte)
    }

    /// Six bits a byte, the lowest first; bit 6 says that there is more.
    fn varint(&mut self) -> Option<u32> {
        let mut value = 0;
        for shift in (0..32).step_by(6) {
            let byte = self.byte()?;
            value |= u32::from(byte & 0x3F).checked_shl(shift)?;
            if byte & 0x40 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// With the sign in the lowest bit.
    fn signed(&mut self) -> Option<i32> {
        let value = self.varint()?;
        let magnitude = (value >> 1) as i32;
        Some(if value & 1 == 0 {
            magnitude
        } else {
            -magnitude
        })
    }

    fn move_by(&mut self, lines: i32) -> Option<i32> {
        self.line = self.line.wrapping_add(lines);
        Some(self.line)
    }

    fn position(&mut self, form: u8) -> Option<Position> {
        if form == 15 {
            return Some(Position::default());
        }
        if form == 14 {
            let lines = self.signed()?;
            let line = self.move_by(lines);
            let more = self.varint()? as i32;
            // One more than the column, so that 0 is none.
            let column = self.varint()?.checked_sub(1);
            let end_column = self.varint()?.checked_sub(1);
            return Some(Position {
                line,
                end_line: line.map(|line| line.wrapping_add(more)),
                column,
                end_column,
            });
        }
        let mut found = Position::default();
        found.line = match form {
            13 => {
                let lines = self.signed()?;
                self.move_by(lines)
            }
            10..=12 => self.move_by(i32::from(form) - 10),
            _ => Some(self.line),
        };
        found.end_line = found.line;
        match form {
            10..=12 => {
                found.column = Some(u32::from(self.byte()?));
                found.end_column = Some(u32::from(self.byte()?));
            }
            0..=9 => {
                let byte = u32::from(self.byte()?);
                let column = u32::from(form) << 3 | byte >> 4;
                found.column = Some(column);
                found.end_column = Some(column + (byte & 15));
            }
            _ => {}
        }
        Some(found)
    }
}

impl Iterator for Locations<'_> {
    type Item = Range;

    fn next(&mut self) -> Option<Range> {
        let (&head, rest) = self.bytes.split_first()?;
        if head & BEGIN == 0 {
            return None;
        }
        self.bytes = rest;
        let start = self.end;
        let position = self.position(head >> 3 & 15)?;
        self.end = start.saturating_add((u32::from(head & 7) + 1) * 2);
        Some(Range {
            start,
            end: self.end,
            position,
        })
    }
}
