//! A native heap as a graph: all live blocks, and the words that may point to them.
//!
//! It is unknown whether a word of memory is a pointer. So each reference says that it *may* be
//! one, and names the word: `may +16` is the word sixteen bytes behind the beginning of the
//! referring block. A number that happens to look like an address is a reference as well; on 64
//! bits there are few of them, and [`GraphSize`] says how much hangs on unknown words.
//!
//! ```text
//! row 0 ""  ─┬─ (Threads) ────────── each thread's stack and registers ──┐
//!            ├─ (Data segments) ──── each file's data ───────────────────┼──▶ blocks ──▶ blocks
//!            ├─ (Other mappings) ─── what is neither ────────────────────┘      ▲
//!            └─ (Unreachable) ───────── the heads of the unreachable blocks
//! ```

mod labels;
mod large;
mod roots;
mod scan;

#[cfg(test)]
mod tests;

use profundo_scan::{Blocks, Freed, Range, Unread};

pub use large::Large;
pub use roots::{Thread, roots};
pub use scan::write;

/// The type of a block.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Type {
    /// The type's name, or a placeholder.
    pub name: String,
    /// True for the name of a type, and no placeholder: the words of such a block are known.
    pub is_known: bool,
    /// Whether the block holds text and is named by it.
    pub shows_text: bool,
}

/// The kinds of roots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// A thread's stack and registers.
    Threads,
    /// The data of a file.
    Data,
    /// Other memory outside of blocks.
    Other,
}

/// A root outside of blocks that may refer to them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// Its kind.
    pub group: Group,
    /// Its name.
    pub name: String,
    /// Its start, from which its words are counted; without it they are named by their addresses.
    pub start: Option<u64>,
    /// Registers by name.
    pub registers: Vec<(&'static str, u64)>,
}

/// Memory to be scanned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Its range.
    pub range: Range,
    /// The root that owns its words outside of blocks.
    pub root: usize,
    /// Whether other processes may share it.
    pub is_shared: bool,
}

/// A heap at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Heap<'a> {
    /// The live blocks; `whose` is the row of their type.
    pub blocks: &'a Blocks,
    /// Freed blocks, ordered by address.
    pub freed: &'a [Freed],
    /// The types.
    pub types: &'a [Type],
    /// The roots outside of blocks.
    pub roots: &'a [Root],
    /// All memory, ordered by address.
    pub parts: &'a [Part],
}

/// Reads the memory of that moment.
pub trait Read {
    /// Runs `f` with all resident memory of a part, piece by piece, ordered by address.
    fn each_piece(&mut self, part: Part, f: &mut dyn FnMut(u64, &[u64])) -> Result<(), Unread>;

    /// Fills `bytes` from an address on; returns `false` if the memory is not resident.
    fn bytes(&mut self, address: u64, bytes: &mut [u8]) -> bool;
}

/// The size of a written graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GraphSize {
    /// The number of nodes.
    pub nodes: u64,
    /// References, those between the roots included.
    pub edges: u64,
    /// Blocks and their bytes.
    pub blocks: [u64; 2],
    /// Unreachable blocks and their bytes.
    pub unreachable: [u64; 2],
    /// References into large blocks.
    pub large: Large,
}

/// The reason why a heap was not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GraphError<E> {
    /// Memory was not read.
    Memory(Unread),
    /// There are more references than can be followed.
    Many,
    /// The sink refused.
    Sink(E),
}
