//! How much may be held by mistake: large blocks, into which a word that is no pointer points most easily.

use rustc_hash::FxHashMap;

/// A block is large from here on.
const LARGE: u64 = 1 << 20;

/// References into blocks of a MiB and more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Large {
    /// All of them.
    pub edges: u64,
    /// Those into blocks to which only words point of which nothing is known: of stacks, data, and of blocks
    /// without a type.
    pub untyped: u64,
}

/// The same while it is counted: of each large block, how often it is pointed to, and whether from one with a type.
#[derive(Debug, Default)]
pub(super) struct Counting(FxHashMap<u32, (u64, bool)>);

impl Counting {
    /// There is this block.
    #[inline]
    pub(super) fn meet(&mut self, index: usize, size: u64) {
        if size >= LARGE {
            self.0.insert(index as u32, (0, false));
        }
    }

    /// Something points to it.
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
