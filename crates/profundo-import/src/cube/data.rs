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
    let size = row_length.checked_mul(places.len())?;
    let unpacked = match data.strip_prefix(b"ZCUBEX.DATA") {
        Some(packed) => unpack(packed, places.len(), size, is_swapped)?,
        None => data.strip_prefix(b"CUBEX.DATA")?.to_vec(),
    };
    for (row, place) in places.iter().enumerate() {
        let place = usize::try_from(number(*place)).ok()?;
        if let Some(place) = order.get(place).and_then(|&row| values.rows.get_mut(row)) {
            *place = Some(row);
        }
    }
    let whole = unpacked.len() >= size;
    let each = unpacked.chunks_exact(kind.length());
    let each = each.take(places.len().checked_mul(values.locations)?);
    let each = each.map(|bytes| kind.value(bytes, is_swapped).unwrap_or(0.0));
    values.values = each.collect();
    whole.then_some(())
}

/// The values of packed places, one after another.
fn unpack(packed: &[u8], places: usize, size: usize, is_swapped: bool) -> Option<Vec<u8>> {
    /// The length of the table's rows.
    const ROW: usize = 24;
    /// The most bytes that are unpacked.
    const MOST: usize = 1 << 30;
    let size = size.min(MOST);
    let (count, rest) = packed.split_first_chunk()?;
    let number = |bytes: [u8; 8]| match is_swapped {
        true => u64::from_be_bytes(bytes),
        false => u64::from_le_bytes(bytes),
    };
    let table = usize::try_from(number(*count)).ok()?.checked_mul(ROW)?;
    let (table, mut rest) = rest.split_at_checked(table)?;
    let mut unpacked = Vec::new();
    for row in table.chunks_exact(ROW).take(places) {
        let length = row.get(16..)?.first_chunk()?;
        let (part, left) = rest.split_at_checked(usize::try_from(number(*length)).ok()?)?;
        rest = left;
        if part.is_empty() {
            // A place where all values are zero.
            let zeros = size.checked_div(places)?;
            unpacked.resize(unpacked.len().checked_add(zeros)?.min(size), 0);
            continue;
        }
        let limit = size.checked_sub(unpacked.len())? as u64;
        ZlibDecoder::new(part)
            .take(limit)
            .read_to_end(&mut unpacked)
            .ok()?;
    }
    Some(unpacked)
}
