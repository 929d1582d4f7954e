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

use std::sync::OnceLock;

use profundo_import::Reader;

mod files;
mod imports;
mod memory;
mod sections;

pub use files::{heapsnapshot, memory_counts, profundo_file};
pub use imports::{import, import_as};
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
    ("import", import),
    ("line_table", line_table),
    ("llvm_map", llvm_map),
    ("memory_counts", memory_counts),
    ("proc_maps", proc_maps),
    ("profundo_file", profundo_file),
    ("wire_records", wire_records),
];

/// The target that the variable `PROFUNDO_TARGET` names: one of [`TARGETS`], or `import:pprof` for
/// a reader of another tool's files. So one program has all of them.
pub fn chosen(bytes: &[u8]) {
    static CHOSEN: OnceLock<Chosen> = OnceLock::new();
    match CHOSEN.get_or_init(Chosen::of_environment) {
        Chosen::Target(target) => target(bytes),
        Chosen::Reader(reader) => import_as(*reader, bytes),
    }
}

enum Chosen {
    Target(fn(&[u8])),
    Reader(Reader),
}

impl Chosen {
    fn of_environment() -> Self {
        let name = std::env::var("PROFUNDO_TARGET").expect("PROFUNDO_TARGET names a target");
        let target = TARGETS.iter().find(|(it, _)| *it == name);
        let is_meant = |reader: &Reader| name.strip_prefix("import:") == Some(reader.name());
        match (target, Reader::ALL.iter().copied().find(is_meant)) {
            (Some((_, target)), _) => Self::Target(*target),
            (_, Some(reader)) => Self::Reader(reader),
            (None, None) => panic!("there is no target {name}"),
        }
    }
}

/// The words of some bytes, and the rest as a last word.
fn words(bytes: &[u8]) -> Vec<u64> {
    let word = |piece: &[u8]| {
        let mut word = [0; 8];
        word[..piece.len()].copy_from_slice(piece);
        u64::from_le_bytes(word)
    };
    bytes.chunks(8).map(word).collect()
}
