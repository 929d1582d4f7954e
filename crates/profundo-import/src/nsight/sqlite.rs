//! The tables of an SQLite file, read without a library: a b-tree of pages for each table, rows of
//! columns in its leaves. Each page is read at most once for a table, so damaged links end.

use std::borrow::Cow;

pub(super) const MAGIC: &[u8] = b"SQLite format 3\0";

/// A file.
#[derive(Debug)]
pub(super) struct Database<'a> {
    bytes: &'a [u8],
    page: usize,
    /// The bytes of a page that are used.
    usable: usize,
    tables: Vec<Table>,
}

#[derive(Debug)]
struct Table {
    name: String,
    root: u32,
    columns: Vec<String>,
}

/// A value of a row.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell<'a> {
    Null,
    Integer(i64),
    Real(f64),
    Bytes(Cow<'a, [u8]>),
}

impl Cell<'_> {
    pub(super) fn integer(&self) -> Option<i64> {
        match *self {
            Self::Integer(value) => Some(value),
            Self::Real(value) => Some(value as i64),
            _ => None,
        }
    }

    pub(super) fn number(&self) -> u64 {
        self.integer().unwrap_or(0).cast_unsigned()
    }

    pub(super) fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Bytes(bytes) => String::from_utf8_lossy(bytes),
            _ => Cow::Borrowed(""),
        }
    }
}

impl<'a> Database<'a> {
    /// The tables of a file. The error is what it is instead.
    pub(super) fn open(bytes: &'a [u8]) -> Result<Self, &'static str> {
        let cut = "the head of the database is cut";
        let size = bytes.get(16..18).ok_or(cut)?;
        let page = match u16::from_be_bytes([size[0], size[1]]) {
            1 => 65536,
            size => usize::from(size),
        };
        let reserved = usize::from(*bytes.get(20).ok_or(cut)?);
        let encoding = *bytes.get(59).ok_or(cut)?;
        if page < 512 || !page.is_power_of_two() || reserved > 32 {
            return Err("the size of the database's pages is wrong");
        }
        if encoding > 1 {
            return Err("its text is UTF-16");
        }
        let mut database = Self {
            bytes,
            page,
            usable: page - reserved,
            tables: Vec::new(),
        };
        let mut tables = Vec::new();
        database.walk(1, |_, row| {
            if let [kind, name, _, root, sql, ..] = row
                && kind.text() == "table"
            {
                tables.push(Table {
                    name: name.text().into_owned(),
                    root: u32::try_from(root.number()).unwrap_or(0),
                    columns: columns(&sql.text()),
                });
            }
        });
        database.tables = tables;
        Ok(database)
    }

    pub(super) fn has(&self, table: &str) -> bool {
        self.tables.iter().any(|found| found.name == table)
    }

    /// Calls `each` with the wanted columns of all rows of a table. Columns that are not there are
    /// null, as is everything where the table is not there. The answer is whether all was whole.
    pub(super) fn rows<const N: usize>(
        &self,
        table: &str,
        wanted: [&str; N],
        mut each: impl FnMut([Cell<'a>; N]),
    ) -> bool {
        let Some(table) = self.tables.iter().find(|found| found.name == table) else {
            return true;
        };
        let places = wanted.map(|name| table.columns.iter().position(|column| column == name));
        self.walk(table.root, |id, row| {
            each(places.map(|place| {
                let cell = place.and_then(|place| row.get(place));
                match cell.cloned().unwrap_or(Cell::Null) {
                    // A primary key is the number of the row, and not kept twice.
                    Cell::Null if place == Some(0) => Cell::Integer(id),
                    cell => cell,
                }
            }));
        })
    }

    /// Walks the leaves of a table. The answer is whether all was whole.
    fn walk(&self, root: u32, mut each: impl FnMut(i64, &[Cell<'a>])) -> bool {
        let mut seen = Seen(vec![0; self.bytes.len() / self.page / 64 + 1]);
        let mut waiting = vec![root];
        let mut row = Vec::new();
        let mut is_whole = true;
        while let Some(number) = waiting.pop() {
            let read = self
                .page(number)
                .filter(|_| seen.add(number))
                .and_then(|page| {
                    self.read(page, number, &mut waiting, &mut seen, &mut row, &mut each)
                });
            is_whole &= read.is_some();
        }
        is_whole
    }

    fn page(&self, number: u32) -> Option<&'a [u8]> {
        let start = (number as usize).checked_sub(1)?.checked_mul(self.page)?;
        let end = start.checked_add(self.page)?;
        self.bytes.get(start..end)
    }

    fn read(
        &self,
        page: &'a [u8],
        number: u32,
        waiting: &mut Vec<u32>,
        seen: &mut Seen,
        row: &mut Vec<Cell<'a>>,
        each: &mut impl FnMut(i64, &[Cell<'a>]),
    ) -> Option<()> {
        let head = if number == 1 { 100 } else { 0 };
        let is_leaf = match page.get(head)? {
            0x0d => true,
            0x05 => false,
            _ => return None,
        };
        let count = usize::from(u16_at(page, head + 3)?);
        let places = head + if is_leaf { 8 } else { 12 };
        if !is_leaf {
            let first = waiting.len();
            for index in 0..count {
                let at = u16_at(page, places + 2 * index)?;
                waiting.push(u32_at(page, usize::from(at))?);
            }
            waiting.push(u32_at(page, head + 8)?);
            // The last one is taken first.
            waiting.get_mut(first..)?.reverse();
            return Some(());
        }
        for index in 0..count {
            let at = usize::from(u16_at(page, places + 2 * index)?);
            let mut rest = page.get(at..)?;
            let length = usize::try_from(varint(&mut rest)?).ok()?;
            let id = varint(&mut rest)?.cast_signed();
            row.clear();
            match self.payload(rest, length, seen)? {
                Cow::Borrowed(payload) => record(payload, row, Cow::Borrowed)?,
                Cow::Owned(payload) => {
                    record(&payload, row, |bytes| Cow::Owned(bytes.to_vec()))?;
                }
            }
            each(id, row);
        }
        Some(())
    }

    /// The bytes of a row: in its page, or in a chain of pages as well.
    fn payload(&self, rest: &'a [u8], length: usize, seen: &mut Seen) -> Option<Cow<'a, [u8]>> {
        let most = self.usable.checked_sub(35)?;
        if length <= most {
            return rest.get(..length).map(Cow::Borrowed);
        }
        if length > self.bytes.len() {
            return None;
        }
        let least = (self.usable - 12) * 32 / 255 - 23;
        let fitting = least + (length - least) % (self.usable - 4);
        let here = if fitting <= most { fitting } else { least };
        let mut payload = rest.get(..here)?.to_vec();
        let mut next = u32_at(rest, here)?;
        while payload.len() < length {
            let page = self.page(next).filter(|_| seen.add(next))?;
            next = u32_at(page, 0)?;
            let part = page.get(4..self.usable)?;
            payload.extend_from_slice(&part[..part.len().min(length - payload.len())]);
        }
        Some(Cow::Owned(payload))
    }
}

/// The pages that were read, a bit each.
struct Seen(Vec<u64>);

impl Seen {
    /// Whether the page is a new one.
    fn add(&mut self, page: u32) -> bool {
        let Some(word) = self.0.get_mut(page as usize / 64) else {
            return false;
        };
        let bit = 1 << (page % 64);
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }
}

fn record<'r, 'a>(
    payload: &'r [u8],
    row: &mut Vec<Cell<'a>>,
    bytes_of: impl Fn(&'r [u8]) -> Cow<'a, [u8]>,
) -> Option<()> {
    let mut rest = payload;
    let head = usize::try_from(varint(&mut rest)?).ok()?;
    let kinds = payload.len().checked_sub(rest.len())?;
    let mut kinds = payload.get(kinds..head)?;
    let mut values = payload.get(head..)?;
    while !kinds.is_empty() {
        let kind = varint(&mut kinds)?;
        let length = match kind {
            0 | 8 | 9 => 0,
            1..=4 => kind,
            5 => 6,
            6 | 7 => 8,
            10 | 11 => return None,
            _ => (kind - 12) / 2,
        };
        let (value, after) = values.split_at_checked(usize::try_from(length).ok()?)?;
        values = after;
        row.push(match kind {
            0 => Cell::Null,
            1..=6 => Cell::Integer(signed(value)),
            7 => Cell::Real(f64::from_bits(signed(value).cast_unsigned())),
            8 => Cell::Integer(0),
            9 => Cell::Integer(1),
            _ => Cell::Bytes(bytes_of(value)),
        });
    }
    Some(())
}

fn signed(bytes: &[u8]) -> i64 {
    let is_negative = bytes.first().is_some_and(|&first| first >= 0x80);
    let start = if is_negative { -1 } else { 0 };
    bytes
        .iter()
        .fold(start, |sum: i64, &byte| sum << 8 | i64::from(byte))
}

/// A number of at most nine bytes: seven bits each, the highest first; the ninth has eight.
fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for index in 0..9 {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        if index == 8 {
            return Some(value << 8 | u64::from(byte));
        }
        value = value << 7 | u64::from(byte & 0x7f);
        if byte < 0x80 {
            break;
        }
    }
    Some(value)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u16::from_be_bytes(*bytes))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_be_bytes(*bytes))
}

/// The names of the columns in a `CREATE TABLE`.
fn columns(sql: &str) -> Vec<String> {
    let lines = sql
        .lines()
        .map(|line| line.split("--").next().unwrap_or(line));
    let text = lines.collect::<Vec<_>>().join(" ");
    let Some((_, list)) = text.split_once('(') else {
        return Vec::new();
    };
    let mut depth = 0;
    let parts = list.split(|letter: char| {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        letter == ',' && depth == 0
    });
    let first = |part: &str| {
        let word = part.split_whitespace().next()?;
        let word = word.trim_matches(['"', '`', '[', ']', '\'']);
        let constraints = ["PRIMARY", "FOREIGN", "UNIQUE", "CHECK", "CONSTRAINT"];
        (!constraints.contains(&word) && !word.starts_with(')')).then(|| word.to_owned())
    };
    parts.filter_map(first).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_named_in_the_statement() {
        let sql = "CREATE TABLE A (\n  -- One, two.\n  id INTEGER NOT NULL, -- An id (x, y).\n  \
                   \"end\" DECIMAL(1, 2),\n  PRIMARY KEY (id, end)\n)";
        assert_eq!(columns(sql), ["id", "end"]);
    }

    #[test]
    fn numbers_have_their_highest_bits_first() {
        assert_eq!(varint(&mut &[0x81, 0][..]), Some(128));
        assert_eq!(varint(&mut &[0xff; 9][..]), Some(u64::MAX));
        assert_eq!(varint(&mut &[0xff; 3][..]), None);
        assert_eq!(signed(&[0xff, 0xfe]), -2);
        assert_eq!(signed(&[1, 0]), 256);
    }
}
