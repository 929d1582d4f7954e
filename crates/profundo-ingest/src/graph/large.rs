//! False references: a word that is no pointer hits a large block most easily.

use rustc_hash::FxHashMap;

/// The least size of a large block.
const LARGE: u64 = 1 << 20;

/// References into blocks of a MiB and more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Large {
    /// All of these references.
    pub edges: u64,
    /// References into blocks that only unknown words refer to: words of stacks, data, and blocks
    /// without a type.
    pub untyped: u64,
}

/// The count under way: for each large block, the number of references, and whether one comes from
/// a typed block.
#[derive(Debug, Default)]
pub(super) struct Counting(FxHashMap<u32, (u64, bool)>);

impl Counting {
    /// Adds a block.
    #[inline]
    pub(super) fn meet(&mut self, index: usize, size: u64) {
        if size >= LARGE {
            self.0.insert(index as u32, (0, false));
        }
    }

    /// Counts a reference to a block.
    #[inline]
    pub(super) fn note(&mut self, to: usize, is_typed: bool) {
        if !self.0.is_empty()
            && let Some((count, typed)) = self.0.get_mut(&(to as u32))
        {
            *count += 1;
            *typed |= is_typed;
        }
    }

    pub(super) fn counted(&self) -> Large {
        let untyped = self.0.values().filter(|(_, typed)| !typed);
        Large {
            edges: self.0.values().map(|(count, _)| count).sum(),
            untyped: untyped.map(|(count, _)| count).sum(),
        }
    }
}
