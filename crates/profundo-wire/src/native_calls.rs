//! Counters that a compiler has put into a program, as they lie in a process's memory. Their
//! meaning is in files.

use alloc::string::String;
use alloc::vec::Vec;

/// The counters of one file of code, of one process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tallies {
    /// LLVM's counters.
    Llvm {
        /// The path of the executable or library, which describes the counters.
        path: String,
        /// All counters, in their order.
        counters: Vec<u64>,
    },
    /// gcc's counters.
    Gcc(Vec<GccTallies>),
}

/// gcc's counters of one object file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GccTallies {
    /// The file that they are written to (`x.gcda`); its neighbour `x.gcno` describes them.
    pub path: String,
    /// The stamp of the object's build.
    pub stamp: u32,
    /// Its functions: number, checksum of the blocks, and counters.
    pub functions: Vec<(u32, u32, Vec<u64>)>,
}
