//! Every reader of foreign bytes, as a function that takes any: it must not panic, loop or allocate
//! without bound, and what it has read must hold together.
//!
//! Each function is run in two ways. The fuzz targets in `fuzz/` call it with libFuzzer's inputs,
//! for any length of time, on a nightly compiler. The tests of this crate call it with the seeds in
//! `fuzz/corpus` and with damaged ones, on every compiler.
//!
//! Readers that no other crate can reach have such tests of their own, with [`damage`]: the
//! kernel's table of symbols, its records of performance events, its files on processes and the
//! heads of ELF files in `profundo-process`.
//!
//! [`damage`]: https://docs.rs/profundo-testing

mod files;
mod memory;
mod sections;

pub use files::{heapsnapshot, memory_counts, profundo_file};
pub use memory::{generated_code, graph_items, line_table, proc_maps, wire_records};
pub use sections::{eh_frame, elf_symbols, gcc_notes, llvm_map};

/// A reader, by the name of its fuzz target and of the folder of its seeds.
pub type Target = (&'static str, fn(&[u8]));

/// All readers.
pub const TARGETS: &[Target] = &[
    ("eh_frame", eh_frame),
    ("elf_symbols", elf_symbols),
    ("gcc_notes", gcc_notes),
    ("generated_code", generated_code),
    ("graph_items", graph_items),
    ("heapsnapshot", heapsnapshot),
    ("line_table", line_table),
    ("llvm_map", llvm_map),
    ("memory_counts", memory_counts),
    ("proc_maps", proc_maps),
    ("profundo_file", profundo_file),
    ("wire_records", wire_records),
];

/// The words of some bytes, and the rest as a last word.
fn words(bytes: &[u8]) -> Vec<u64> {
    let word = |piece: &[u8]| {
        let mut word = [0; 8];
        word[..piece.len()].copy_from_slice(piece);
        u64::from_le_bytes(word)
    };
    bytes.chunks(8).map(word).collect()
}
