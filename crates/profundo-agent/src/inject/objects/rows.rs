//! The rows, in the order in which they were met: objects, and places that are no objects.

use super::Failure;
use super::pages::{Map, Pages};

/// The number of a row.
pub type Row = u32;

/// All rows.
#[derive(Debug)]
pub struct Rows {
    /// The address of each row. A row that is no object has an odd number instead, twice that of
    /// its place.
    addresses: Pages<u64>,
    /// The type and the name of the rows that are no objects.
    places: Pages<(u32, Option<u32>)>,
    /// The number of known references to each row.
    holders: Pages<u32>,
    by_address: Map,
}

impl Rows {
    pub fn new() -> Result<Self, Failure> {
        Ok(Self {
            addresses: Pages::new(),
            places: Pages::new(),
            holders: Pages::new(),
            by_address: Map::new()?,
        })
    }

    pub fn len(&self) -> usize {
        self.addresses.len()
    }

    /// The address of a row's object; 0 if it is none.
    pub fn address(&self, row: Row) -> u64 {
        let address = self.addresses.get(row as usize).unwrap_or(0);
        if address & 1 == 0 { address } else { 0 }
    }

    /// The type and the name of a row that is no object.
    pub fn place_at(&self, row: Row) -> Option<(u32, Option<u32>)> {
        let address = self.addresses.get(row as usize)?;
        let place = (address & 1 == 1).then_some((address >> 1) as usize)?;
        self.places.get(place)
    }

    /// The number of references to a row that were met.
    pub fn holders(&self, row: Row) -> u32 {
        self.holders.get(row as usize).unwrap_or(0)
    }

    /// The row of an object, which may be a new one.
    pub fn of(&mut self, address: u64) -> Result<Row, Failure> {
        if let Some(row) = self.by_address.get(address) {
            return Ok(row);
        }
        let row = self.push(address)?;
        self.by_address.insert(address, row)?;
        Ok(row)
    }

    /// A row for a place that is no object.
    pub fn place(&mut self, kind: u32, name: Option<u32>) -> Result<Row, Failure> {
        let row = self.push((self.places.len() as u64) << 1 | 1)?;
        self.places.push((kind, name))?;
        Ok(row)
    }

    /// Counts one more reference to a row.
    pub fn hold(&mut self, row: Row) {
        if let Some(count) = self.holders.as_mut_slice().get_mut(row as usize) {
            *count = count.saturating_add(1);
        }
    }

    fn push(&mut self, address: u64) -> Result<Row, Failure> {
        let row = u32::try_from(self.addresses.len()).map_err(|_| libc::EOVERFLOW)?;
        self.addresses.push(address)?;
        self.holders.push(0)?;
        Ok(row)
    }
}
