//! The tables before 3.11: pairs of bytes, an instruction's delta and a line's.
//!
//! Up to 3.9 (`co_lnotab`) a pair says where the next line begins. In 3.10 (`co_linetable`) a pair
//! is a range and its line; −128 is no line at all.

use super::{Position, Range};

/// The delta of instructions without a line.
const NO_LINE: i8 = -128;

fn on(line: Option<i32>) -> Position {
    Position {
        line,
        ..Position::default()
    }
}

/// `co_lnotab` of 3.8 and 3.9.
#[derive(Debug, Clone)]
pub(super) struct NumberTable<'a> {
    pairs: &'a [u8],
    start: u32,
    line: i32,
    is_over: bool,
}

impl<'a> NumberTable<'a> {
    pub(super) fn new(pairs: &'a [u8], line: i32) -> Self {
        Self {
            pairs,
            start: 0,
            line,
            is_over: false,
        }
    }
}

impl Iterator for NumberTable<'_> {
    type Item = Range;

    fn next(&mut self) -> Option<Range> {
        if self.is_over {
            return None;
        }
        let (start, line) = (self.start, self.line);
        if let Some((&[delta, lines], rest)) = self.pairs.split_first_chunk() {
            self.pairs = rest;
            self.line = self.line.wrapping_add(i32::from(lines as i8));
            // A delta of lines that does not fit a byte takes several pairs: empty ranges.
            self.start = self.start.saturating_add(u32::from(delta));
            return Some(Range {
                start,
                end: self.start,
                position: on(Some(line)),
            });
        }
        self.is_over = true;
        Some(Range {
            start,
            end: u32::MAX,
            position: on(Some(line)),
        })
    }
}

/// `co_linetable` of 3.10.
#[derive(Debug, Clone)]
pub(super) struct Deltas<'a> {
    pairs: &'a [u8],
    end: u32,
    line: i32,
}

impl<'a> Deltas<'a> {
    pub(super) fn new(pairs: &'a [u8], line: i32) -> Self {
        Self {
            pairs,
            end: 0,
            line,
        }
    }
}

impl Iterator for Deltas<'_> {
    type Item = Range;

    fn next(&mut self) -> Option<Range> {
        let (&[delta, lines], rest) = self.pairs.split_first_chunk()?;
        self.pairs = rest;
        let start = self.end;
        self.end = self.end.saturating_add(u32::from(delta));
        let line = if lines as i8 == NO_LINE {
            None
        } else {
            self.line = self.line.wrapping_add(i32::from(lines as i8));
            Some(self.line)
        };
        Some(Range {
            start,
            end: self.end,
            position: on(line),
        })
    }
}
