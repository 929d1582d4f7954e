//! The index and the values of a metric.
//!
//! ```text
//! CUBEX.INDEX  1 (4)  version (2)  kind (1)  count (4)  place (4) …
//! CUBEX.DATA   value …                              for each place, one of each location
//! ZCUBEX.DATA  count (8)  where (8)  where packed (8)  size (8) …  packed values of each place …
//! ```
//!
//! The first number of the index says the order of bytes.

use std::io::Read;

use flate2::read::ZlibDecoder;

use super::anchor::Node;

/// The length of a row of the table before packed values.
const ROW: usize = 24;
/// The most values of a metric that are read.
const MOST: usize = 1 << 26;

/// The type of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Signed(usize),
    Unsigned(usize),
    Float,
    /// A count, the least, the greatest, the sum and the sum of squares, of which the sum is read.
    Atomic,
}

impl Kind {
    pub(super) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "INT8" | "CHAR" => Self::Signed(1),
            "UINT8" => Self::Unsigned(1),
            "INT16" | "SHORT INT" | "SIGNED SHORT INT" => Self::Signed(2),
            "UINT16" | "UNSIGNED SHORT INT" => Self::Unsigned(2),
            "INT32" | "INT" | "SIGNED INT" => Self::Signed(4),
            "UINT32" | "UNSIGNED INT" => Self::Unsigned(4),
            "INT64" | "INTEGER" | "SIGNED INTEGER" => Self::Signed(8),
            "UINT64" | "UNSIGNED INTEGER" => Self::Unsigned(8),
            "DOUBLE" | "FLOAT" | "MINDOUBLE" | "MAXDOUBLE" => Self::Float,
            "TAU_ATOMIC" => Self::Atomic,
            _ => return None,
        })
    }

    fn length(self) -> usize {
        match self {
            Self::Signed(length) | Self::Unsigned(length) => length,
            Self::Float => 8,
            Self::Atomic => 36,
        }
    }

    fn value(self, bytes: &[u8], is_swapped: bool) -> Option<f64> {
        let number = |bytes: &[u8]| {
            let add = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
            match is_swapped {
                true => bytes.iter().fold(0, add),
                false => bytes.iter().rev().fold(0, add),
            }
        };
        Some(match self {
            Self::Unsigned(_) => number(bytes) as f64,
            Self::Signed(length) => {
                let unused = 64 - 8 * length as u32;
                ((number(bytes) << unused).cast_signed() >> unused) as f64
            }
            Self::Float => f64::from_bits(number(bytes)),
            Self::Atomic => f64::from_bits(number(bytes.get(20..28)?)),
        })
    }
}

/// The values of a metric. Places that the index lacks have none.
#[derive(Debug, Default)]
pub(super) struct Values {
    /// The row of each place.
    rows: Vec<Option<usize>>,
    values: Vec<f64>,
    locations: usize,
    pub(super) is_damaged: bool,
}

impl Values {
    pub(super) fn get(&self, place: usize, location: usize) -> f64 {
        let row = self.rows.get(place).copied().flatten();
        let at = row.and_then(|row| row.checked_mul(self.locations)?.checked_add(location));
        at.and_then(|at| self.values.get(at).copied())
            .unwrap_or(0.0)
    }

    /// Whether a place has values.
    pub(super) fn has(&self, place: usize) -> bool {
        let row = self.rows.get(place).copied().flatten();
        let at = row.and_then(|row| row.checked_mul(self.locations));
        at.is_some_and(|at| at < self.values.len())
    }

    /// Leaves the values of places alone, of those that have those of what is called in them.
    pub(super) fn subtract_inner(&mut self, nodes: &[Node]) {
        for (place, node) in nodes.iter().enumerate() {
            let around = node.around.and_then(|around| *self.rows.get(around)?);
            let Some(row) = around.filter(|_| self.has(place)) else {
                continue;
            };
            for location in 0..self.locations {
                let value = self.get(place, location);
                let at = row.saturating_mul(self.locations).saturating_add(location);
                if let Some(outer) = self.values.get_mut(at) {
                    *outer -= value;
                }
            }
        }
    }
}

/// Reads the values of places in this order, of so many locations.
pub(super) fn read(
    index: &[u8],
    data: &[u8],
    kind: Option<Kind>,
    (order, locations): (&[usize], usize),
) -> Values {
    let mut values = Values {
        rows: vec![None; order.len()],
        locations,
        ..Values::default()
    };
    let read = fill(&mut values, index, data, kind, order);
    values.is_damaged = read.is_none();
    values
}

fn fill(
    values: &mut Values,
    index: &[u8],
    data: &[u8],
    kind: Option<Kind>,
    order: &[usize],
) -> Option<()> {
    let kind = kind?;
    let rest = index.strip_prefix(b"CUBEX.INDEX")?;
    let is_swapped = rest.first_chunk()? != &1_u32.to_le_bytes();
    let number = |bytes: [u8; 4]| match is_swapped {
        true => u32::from_be_bytes(bytes),
        false => u32::from_le_bytes(bytes),
    };
    // The version and the kind of the index.
    let (count, places) = rest.get(7..)?.split_first_chunk()?;
    let count = usize::try_from(number(*count)).ok()?;
    let (places, _) = places.as_chunks();
    let places = places.get(..count.min(places.len()))?;
    let row_length = kind.length().checked_mul(values.locations)?;
    let mut parts = Parts::of(data, row_length, is_swapped)?;
    let mut row = Vec::new();
    for place in places {
        let place = usize::try_from(number(*place)).ok()?;
        row.clear();
        let is_any = parts.next(&mut row)?;
        let place = order.get(place).and_then(|&row| values.rows.get_mut(row));
        let Some(place) = place.filter(|_| is_any) else {
            continue;
        };
        let numbers = row.chunks_exact(kind.length());
        let numbers = numbers.map(|bytes| kind.value(bytes, is_swapped).unwrap_or(0.0));
        *place = values.values.len().checked_div(values.locations);
        values.values.extend(numbers);
        if values.values.len() > MOST {
            return None;
        }
    }
    Some(())
}

/// The bytes of the values of one place after another.
enum Parts<'a> {
    Plain {
        bytes: &'a [u8],
        /// The length of the values of a place.
        length: usize,
    },
    Packed {
        /// The rest of the table.
        table: &'a [u8],
        bytes: &'a [u8],
        length: usize,
        is_swapped: bool,
    },
}

impl<'a> Parts<'a> {
    fn of(data: &'a [u8], length: usize, is_swapped: bool) -> Option<Self> {
        let Some(packed) = data.strip_prefix(b"ZCUBEX.DATA") else {
            let bytes = data.strip_prefix(b"CUBEX.DATA")?;
            return Some(Self::Plain { bytes, length });
        };
        let (count, rest) = packed.split_first_chunk()?;
        let table = usize::try_from(long(*count, is_swapped)).ok()?;
        let (table, bytes) = rest.split_at_checked(table.checked_mul(ROW)?)?;
        Some(Self::Packed {
            table,
            bytes,
            length,
            is_swapped,
        })
    }

    /// Adds the bytes of the next place to `row`. `Some(false)`: all of its values are zero, and it
    /// has no bytes. `None`: the file ends early.
    fn next(&mut self, row: &mut Vec<u8>) -> Option<bool> {
        match self {
            Self::Plain { bytes, length } => {
                let (part, rest) = bytes.split_at_checked(*length)?;
                *bytes = rest;
                row.extend_from_slice(part);
                Some(true)
            }
            Self::Packed {
                table,
                bytes,
                length,
                is_swapped,
            } => {
                let (entry, others) = table.split_at_checked(ROW)?;
                *table = others;
                let size = long(*entry.last_chunk()?, *is_swapped);
                let (part, rest) = bytes.split_at_checked(usize::try_from(size).ok()?)?;
                *bytes = rest;
                if part.is_empty() {
                    return Some(false);
                }
                let mut decoder = ZlibDecoder::new(part).take(*length as u64);
                let read = decoder.read_to_end(row).ok()?;
                (read == *length).then_some(true)
            }
        }
    }
}

fn long(bytes: [u8; 8], is_swapped: bool) -> u64 {
    match is_swapped {
        true => u64::from_be_bytes(bytes),
        false => u64::from_le_bytes(bytes),
    }
}
