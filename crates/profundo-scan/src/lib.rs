//! Which block does a word point into?
//!
//! An allocator knows its blocks and not who points to them. That is found by looking at every word of what a program can write:
//! each that is an address within a block *may* be a pointer to it. This crate has what is needed for that, whoever asks
//! and whatever for: the process's memory, read from outside ([`Memory`]) where it is there ([`areas`]); its blocks, found by
//! address without a search ([`Blocks`]); and what of a piece of memory is a block's, what is free, and what is neither
//! ([`each_stretch`]). The recorder asks it for what is lost when a program ends, the library for the graph of a heap.
//!
//! What this is not for: names and types. A block has a number, which means something to who has made it.

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
