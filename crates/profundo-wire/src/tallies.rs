//! Counters that a compiler has put into a program, as they stand in a process's memory. What they mean stands in files.

use alloc::string::String;
use alloc::vec::Vec;

/// The counters of one file of code, of one process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tallies {
    /// Those of LLVM.
    Llvm {
        /// The program's or library's file, which says what they mean.
        path: String,
        /// All of them, in their order.
        counters: Vec<u64>,
    },
    /// Those of gcc.
    Gcc(Vec<GccTallies>),
}

/// What gcc counts of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GccTallies {
    /// The file that they are written to (`x.gcda`), beside which there is the one that says what they mean (`x.gcno`).
    pub path: String,
    /// Which build of the object it is.
    pub stamp: u32,
    /// Its functions: number, checksum of the blocks, and counters.
    pub functions: Vec<(u32, u32, Vec<u64>)>,
}
