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

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use profundo_import::Reader;

mod files;
mod fleet;
mod imports;
mod memory;
mod sections;

pub use files::{heapsnapshot, memory_counts, profundo_file};
pub use fleet::{pushed_body, store_file, store_query};
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
    ("pushed_body", pushed_body),
    ("store_file", store_file),
    ("store_query", store_query),
    ("wire_records", wire_records),
];

/// The target that the variable `PROFUNDO_TARGET` names: one of [`TARGETS`], or `import`, which is
/// the readers of those files of other tools that are in the folder `PROFUNDO_SEEDS`. So one
/// program has all of them.
pub fn chosen(bytes: &[u8]) {
    static CHOSEN: OnceLock<Chosen> = OnceLock::new();
    match CHOSEN.get_or_init(Chosen::of_environment) {
        Chosen::Target(target) => target(bytes),
        Chosen::Readers(readers) => readers.iter().for_each(|reader| import_as(*reader, bytes)),
    }
}

enum Chosen {
    Target(fn(&[u8])),
    Readers(Vec<Reader>),
}

impl Chosen {
    fn of_environment() -> Self {
        let name = std::env::var("PROFUNDO_TARGET").expect("PROFUNDO_TARGET names a target");
        if let Some(folder) = std::env::var_os("PROFUNDO_SEEDS") {
            let readers = readers(Path::new(&folder));
            assert!(!readers.is_empty(), "no file of {name} has a reader");
            return Self::Readers(readers);
        }
        let target = TARGETS.iter().find(|(it, _)| *it == name);
        match target {
            Some((_, target)) => Self::Target(*target),
            None => panic!("there is no target {name}"),
        }
    }
}

/// The readers of the files below a folder.
fn readers(folder: &Path) -> Vec<Reader> {
    let mut readers = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder of seeds").flatten() {
        let path = entry.path();
        let found = match path.is_dir() {
            true => self::readers(&path),
            false => (fs::read(&path).ok())
                .and_then(|bytes| profundo_import::reader_of(&bytes))
                .into_iter()
                .collect(),
        };
        let new = found.into_iter().filter(|reader| !readers.contains(reader));
        readers.extend(new.collect::<Vec<_>>());
    }
    readers
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
