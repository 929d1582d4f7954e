//! A native heap as a graph: all live blocks, and the words that may point to them.
//!
//! Nobody knows of a word of memory whether it is a pointer. So each reference says that it *may* be one, and which word it is:
//! `may +16` is the word sixteen bytes behind the beginning of what refers. A number that happens to look like an address
//! is a reference as well; on 64 bits there are few of them, and [`Told`] says how much hangs on words that
//! nothing is known of.
//!
//! ```text
//! row 0 ""  ─┬─ (Threads) ────────── each thread's stack and registers ──┐
//!            ├─ (Data segments) ──── each file's data ───────────────────┼──▶ blocks ──▶ blocks
//!            ├─ (Other mappings) ─── what is neither ────────────────────┘      ▲
//!            └─ (Unreachable) ───────── as few of those that nobody comes to as it takes
//! ```

mod labels;
mod large;
mod roots;
mod tell;

#[cfg(test)]
mod tests;

use profundo_scan::{Blocks, Freed, Range, Unread};

pub use large::Large;
pub use roots::{Thread, roots};
pub use tell::tell;

/// What a block is said to be.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Type {
    /// The type, or what is said in its place.
    pub name: String,
    /// Whether it is a type: something is known of the words of such a block.
    pub is_known: bool,
    /// Whether such a block is named by what it holds, which is text.
    pub shows_text: bool,
}

/// Under which of the first nodes something hangs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// A thread's stack and registers.
    Threads,
    /// What a file has as its data.
    Data,
    /// Memory that is neither, and is in no block.
    Other,
}

/// Something outside of blocks that may point to them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// Where it hangs.
    pub group: Group,
    /// What it is called.
    pub name: String,
    /// Where it begins, from which its words are counted; else they are named by where they are.
    pub start: Option<u64>,
    /// Registers by name.
    pub registers: Vec<(&'static str, u64)>,
}

/// Memory that is looked through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Where it is.
    pub range: Range,
    /// Which of the roots has the words in it that are in no block.
    pub root: usize,
    /// Whether other processes may have it, too.
    pub is_shared: bool,
}

/// A heap, as it was at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Heap<'a> {
    /// The live blocks; `whose` is the row of their type.
    pub blocks: &'a Blocks,
    /// Where blocks were that were freed, in the order of their addresses.
    pub freed: &'a [Freed],
    /// The types.
    pub types: &'a [Type],
    /// What there is outside of blocks.
    pub roots: &'a [Root],
    /// All memory, in the order of its addresses.
    pub parts: &'a [Part],
}

/// Reads the memory of that moment.
pub trait Read {
    /// Runs `f` with all that is there of a part, piece by piece, in the order of the addresses.
    fn each_piece(&mut self, part: Part, f: &mut dyn FnMut(u64, &[u64])) -> Result<(), Unread>;

    /// Fills `bytes` from an address on. `false`: not all of that is there.
    fn bytes(&mut self, address: u64, bytes: &mut [u8]) -> bool;
}

/// What was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GraphSize {
    /// Nodes and references.
    pub nodes: u64,
    /// References, those among the first nodes included.
    pub edges: u64,
    /// Blocks, and their bytes.
    pub blocks: [u64; 2],
    /// Those of them to which nobody comes.
    pub unreachable: [u64; 2],
    /// What points into large blocks.
    pub large: Large,
}

/// Why a heap was not told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Untold<E> {
    /// Memory was not read.
    Memory(Unread),
    /// There are more references than can be followed.
    Many,
    /// Whoever it is told to does not take it.
    Sink(E),
}
