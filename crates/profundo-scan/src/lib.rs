//! The block that a word points into.
//!
//! An allocator knows its blocks, but not the pointers to them. They are found by looking at every
//! word of writable memory: each that is an address within a block *may* be a pointer to it. This
//! crate has the parts for that: the process's memory, read from outside ([`Memory`]) where it is
//! resident ([`areas`]); its blocks, found by address without a search ([`Blocks`]); and the
//! division of memory into blocks, free parts and the rest ([`each_stretch`]). The recorder uses it
//! to find the leaks of a program that ends, the library for the graph of a heap.
//!
//! It is not for names and types. A block has a number, whose meaning is its maker's.

mod blocks;
mod glibc;
mod maps;
mod memory;
mod ranges;
mod reach;
mod stretch;

pub use blocks::{Block, Blocks};
pub use glibc::{Chunk, chunks};
pub use maps::{MapLine, executable, map_lines};
pub use memory::{Memory, Unread, read_memory};
pub use ranges::{Area, Kind, Range, areas, may_point, subtract};
pub use reach::{Edges, Reached};
pub use stretch::{Freed, Gone, Stretch, each_stretch};
