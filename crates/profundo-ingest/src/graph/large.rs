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

/// The same while it is counted: of each block, how often it is pointed to, and whether from one with a type.
#[derive(Debug, Default)]
pub(super) struct Counting(FxHashMap<u32, (u64, bool)>);

impl Counting {
    #[inline]
    pub(super) fn note(&mut self, to: usize, size: u64, is_typed: bool) {
        if size >= LARGE {
            let (count, typed) = self.0.entry(to as u32).or_default();
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
