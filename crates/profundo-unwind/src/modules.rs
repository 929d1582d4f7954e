//! The modules of a process, sorted by address, so that an address leads to at most one table.

use crate::{Row, TableRef};

/// One executable range of memory and the table for it. Its layout is fixed, because a list of
/// them may be made by another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Module<'a> {
    /// First address of the range.
    pub start: u64,
    /// First address after the range.
    pub end: u64,
    /// Its rows. Empty for code without unwind information that is still known to be code.
    pub table: TableRef<'a>,
}

impl Module<'_> {
    /// True if an address lies in the range.
    #[inline]
    pub fn contains(&self, address: u64) -> bool {
        self.start <= address && address < self.end
    }
}

/// All modules, sorted by start, without overlaps. A module with two executable ranges is there
/// twice, with the same table.
#[derive(Clone, Copy, Debug)]
pub struct Modules<'a> {
    sorted: &'a [Module<'a>],
}

impl<'a> Modules<'a> {
    /// Modules sorted by their starts. In any other order some are not found.
    pub const fn new(sorted: &'a [Module<'a>]) -> Self {
        Self { sorted }
    }

    /// The module that an address lies in.
    pub fn find(&self, address: u64) -> Option<&'a Module<'a>> {
        let after = self
            .sorted
            .partition_point(|module| module.start <= address);
        self.sorted
            .get(after.checked_sub(1)?)
            .filter(|module| module.contains(address))
    }

    /// The row for an address, which must lie in a module that has one.
    pub fn row(&self, address: u64) -> Option<Row> {
        let module = self.find(address)?;
        module.table.find(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_in_one_module_or_none() {
        let module = |start, end| Module {
            start,
            end,
            table: TableRef::default(),
        };
        let sorted = [module(10, 20), module(20, 30), module(40, 50)];
        let modules = Modules::new(&sorted);
        let start = |address| modules.find(address).map(|module| module.start);
        assert_eq!(start(9), None);
        assert_eq!(start(10), Some(10));
        assert_eq!(start(20), Some(20));
        assert_eq!(start(30), None);
        assert_eq!(start(49), Some(40));
        assert_eq!(start(50), None);
        assert_eq!(Modules::new(&[]).find(0).map(|module| module.start), None);
    }
}
