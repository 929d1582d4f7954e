//! A payload is a table by columns. Each column carries its number and its length, so a reader
//! skips unknown columns and takes 0 for missing ones: in this way fields are added without a new
//! version.
//!
//! ```text
//! payload = first row (uv), number of rows (uv), column…
//! column  = number (uv), length in bytes (uv), bytes
//! uv      = unsigned LEB128, low 7 bits first, at most 10 bytes
//! sv      = zigzag, then uv: 0, -1, 1, -2 … are 0, 1, 2, 3 …
//! ```

use crate::Damage;

/// The number of columns in version 1; higher ones are skipped.
const COLUMNS: usize = 32;

pub(super) fn put_uv(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(super) fn put_sv(out: &mut Vec<u8>, value: i64) {
    put_uv(out, zigzag(value));
}

/// Maps small numbers of either sign to small unsigned numbers.
pub(super) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// A payload under construction.
pub(super) struct Payload {
    bytes: Vec<u8>,
    column: Vec<u8>,
}

impl Payload {
    pub(super) fn new(first: usize, rows: usize) -> Self {
        let mut bytes = Vec::new();
        put_uv(&mut bytes, first as u64);
        put_uv(&mut bytes, rows as u64);
        Self {
            bytes,
            column: Vec::new(),
        }
    }

    /// Appends the column that `fill` writes.
    pub(super) fn column(&mut self, number: u8, fill: impl FnOnce(&mut Vec<u8>)) {
        self.column.clear();
        fill(&mut self.column);
        put_uv(&mut self.bytes, u64::from(number));
        put_uv(&mut self.bytes, self.column.len() as u64);
        self.bytes.extend_from_slice(&self.column);
    }

    /// Appends a column of plain numbers.
    pub(super) fn plain(&mut self, number: u8, values: impl Iterator<Item = u64>) {
        self.column(number, |out| values.for_each(|value| put_uv(out, value)));
    }

    /// Appends a column of plain numbers, unless all of them are 0: a missing column means that.
    pub(super) fn sparse(&mut self, number: u8, values: impl Iterator<Item = u64>) {
        let values: Vec<u64> = values.collect();
        if values.iter().any(|&value| value != 0) {
            self.plain(number, values.into_iter());
        }
    }

    /// Appends a column of differences from the row before, the first from 0.
    pub(super) fn delta(&mut self, number: u8, values: impl Iterator<Item = u64>) {
        self.column(number, |out| {
            let mut previous = 0_u64;
            for value in values {
                put_sv(out, value.wrapping_sub(previous) as i64);
                previous = value;
            }
        });
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// A payload taken apart.
pub(super) struct Columns<'a> {
    pub(super) first: u64,
    pub(super) rows: usize,
    columns: [Option<&'a [u8]>; COLUMNS],
}

impl<'a> Columns<'a> {
    pub(super) fn parse(payload: &'a [u8]) -> Result<Self, Damage> {
        let mut rest = Column {
            number: 0,
            bytes: payload,
            absent: false,
            previous: 0,
        };
        let first = rest.plain()?;
        let rows = rest.plain()?;
        // Each table has a column with at least a byte a row, so more rows than bytes are
        // impossible.
        let rows = usize::try_from(rows)
            .ok()
            .filter(|&rows| rows <= payload.len());
        let rows = rows.ok_or(Damage::Length)?;
        let mut columns = [None; COLUMNS];
        while !rest.bytes.is_empty() {
            let number = rest.plain()?;
            let len = rest.plain()?;
            let bytes = rest.take(len)?;
            if let Some(column) = usize::try_from(number)
                .ok()
                .and_then(|n| columns.get_mut(n))
            {
                *column = Some(bytes);
            }
        }
        Ok(Self {
            first,
            rows,
            columns,
        })
    }

    /// The indices of these rows in their table.
    pub(super) fn indices(&self) -> std::ops::Range<usize> {
        let first = usize::try_from(self.first).unwrap_or(usize::MAX);
        first..first.saturating_add(self.rows)
    }

    /// The column; a missing one is all 0.
    pub(super) fn get(&self, number: u8) -> Column<'a> {
        let bytes = self.columns[usize::from(number)];
        let absent = bytes.is_none();
        Column {
            number,
            bytes: bytes.unwrap_or_default(),
            absent,
            previous: 0,
        }
    }

    /// A required column, which bounds the number of rows.
    pub(super) fn need(&self, number: u8) -> Result<Column<'a>, Damage> {
        let column = self.get(number);
        let fits = !column.absent && column.bytes.len() >= self.rows;
        if fits {
            Ok(column)
        } else {
            Err(Damage::Column(number))
        }
    }

    /// Whether the file has the column.
    pub(super) fn has(&self, number: u8) -> bool {
        self.columns[usize::from(number)].is_some()
    }
}

/// A column that is being read, from its first row on.
pub(super) struct Column<'a> {
    number: u8,
    bytes: &'a [u8],
    absent: bool,
    previous: u64,
}

impl<'a> Column<'a> {
    /// The next plain number.
    #[inline]
    pub(super) fn plain(&mut self) -> Result<u64, Damage> {
        if let Some((&byte, rest)) = self.bytes.split_first()
            && byte < 0x80
        {
            self.bytes = rest;
            return Ok(u64::from(byte));
        }
        self.long()
    }

    fn long(&mut self) -> Result<u64, Damage> {
        if self.absent {
            return Ok(0);
        }
        let mut value = 0;
        for (index, &byte) in self.bytes.iter().take(10).enumerate() {
            let bits = u64::from(byte & 0x7f);
            if index == 9 && bits > 1 {
                return Err(Damage::Number);
            }
            value |= bits << (7 * index);
            if byte < 0x80 {
                self.bytes = &self.bytes[index + 1..];
                return Ok(value);
            }
        }
        Err(if self.bytes.len() < 10 {
            Damage::Column(self.number)
        } else {
            Damage::Number
        })
    }

    /// The next number with a sign.
    #[inline]
    pub(super) fn signed(&mut self) -> Result<i64, Damage> {
        let value = self.plain()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// The next number of a column of differences.
    #[inline]
    pub(super) fn delta(&mut self) -> Result<u64, Damage> {
        self.previous = self.previous.wrapping_add(self.signed()? as u64);
        Ok(self.previous)
    }

    /// The next `len` bytes.
    pub(super) fn take(&mut self, len: u64) -> Result<&'a [u8], Damage> {
        let split = usize::try_from(len)
            .ok()
            .and_then(|len| self.bytes.split_at_checked(len));
        let (taken, rest) = split.ok_or(Damage::Column(self.number))?;
        self.bytes = rest;
        Ok(taken)
    }

    /// True if all bytes were read.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The number of bytes left: at most as many numbers can follow.
    pub(super) fn left(&self) -> usize {
        self.bytes.len()
    }

    /// Checks after the last row that nothing is left over.
    pub(super) fn finish(self) -> Result<(), Damage> {
        if self.bytes.is_empty() {
            Ok(())
        } else {
            Err(Damage::Column(self.number))
        }
    }
}
