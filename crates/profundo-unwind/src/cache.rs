//! Stacks of one thread resemble each other, so the rows found last are worth keeping next to
//! each other: a hit costs one line of memory where the tables take three.

use crate::{Module, Modules, Row};

/// Slots: a power of two. All together are 8 KiB.
const SLOTS: usize = 512;

/// Rows found lately, by address. One for each thread, or for each context that may interrupt
/// another: its owner lends it to a walk. All bytes zero are an empty cache.
#[derive(Clone, Debug)]
pub struct WalkCache {
    /// The address, and the bytes of its row's rule.
    slots: [(u64, [u8; 8]); SLOTS],
    generation: u64,
}

impl WalkCache {
    /// An empty cache.
    pub const fn new() -> Self {
        Self {
            slots: [(0, [0; 8]); SLOTS],
            generation: 0,
        }
    }

    /// Prepares the cache for this generation of modules, which the caller increments whenever code
    /// is loaded or unloaded. Rows of another generation are dropped.
    #[inline]
    pub fn enter(&mut self, generation: u64) {
        if self.generation != generation {
            // In place: a new cache would need its size of a handler's stack.
            for slot in &mut self.slots {
                slot.0 = 0;
            }
            self.generation = generation;
        }
    }
}

impl Default for WalkCache {
    fn default() -> Self {
        Self::new()
    }
}

/// The source of a walk's rows.
pub(crate) trait Rows {
    fn row(&mut self, address: u64) -> Option<Row>;
}

/// The tables, trying the module of the last row first: callers mostly share it.
pub(crate) struct Tables<'m, 'a> {
    pub modules: &'m Modules<'a>,
    pub last: Option<&'a Module<'a>>,
}

impl<'m, 'a> Tables<'m, 'a> {
    pub fn new(modules: &'m Modules<'a>) -> Self {
        Self {
            modules,
            last: None,
        }
    }
}

impl Rows for Tables<'_, '_> {
    #[inline]
    fn row(&mut self, address: u64) -> Option<Row> {
        if let Some(module) = self.last.filter(|module| module.contains(address)) {
            return module.table.find(address);
        }
        self.last = self.modules.find(address);
        self.last?.table.find(address)
    }
}

/// The cache, and the tables for what it lacks.
pub(crate) struct Cached<'c, 'm, 'a> {
    pub cache: &'c mut WalkCache,
    pub tables: Tables<'m, 'a>,
}

impl Rows for Cached<'_, '_, '_> {
    #[inline]
    fn row(&mut self, address: u64) -> Option<Row> {
        let slot = (address ^ address >> 9) as usize % SLOTS;
        let slot = self.cache.slots.get_mut(slot)?;
        // Row 0 has no information, and no code is at address 0.
        if slot.0 == address && address != 0 {
            return Some(Row::from_rule_bytes(slot.1));
        }
        let row = self.tables.row(address)?;
        *slot = (address, row.rule_bytes());
        Some(row)
    }
}
