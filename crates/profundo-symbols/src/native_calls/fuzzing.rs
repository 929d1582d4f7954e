//! The readers of compilers' notes and maps, given any bytes: for `profundo-fuzzing`. All other
//! callers give a path, and the object file there has to be whole first.

use std::path::Path;

use super::gcno::{GccFunction, GccNotes};
use super::llvm::{LlvmMap, Sections};

/// Reads gcc's notes, with counters for all functions in them.
pub fn gcc_notes(bytes: &[u8]) {
    let Some(Ok(notes)) = GccNotes::read(bytes) else {
        return;
    };
    let stamp = word(bytes, 8);
    for (ident, checksum) in functions(bytes).take(16) {
        // How many of its counters are left over from a tree of its ways is up to the notes.
        for count in 0..8 {
            let counted = GccFunction {
                ident,
                checksum,
                counters: vec![u64::MAX / 3; count],
            };
            let _ = notes.functions(stamp, &[counted], Path::new("x.gcno"));
        }
    }
}

/// Reads the four sections that LLVM leaves in a program. The first bytes are their lengths.
pub fn llvm_map(bytes: &[u8]) {
    let Some((&[version, data, names, functions], rest)) = bytes.split_first_chunk() else {
        return;
    };
    let mut rest = rest;
    let mut part = |of: u8| {
        let at = rest.len() * usize::from(of) / 255;
        let (part, behind) = rest.split_at(at);
        rest = behind;
        part.to_vec()
    };
    let (data, names, functions) = (part(data), part(names), part(functions));
    let sections = Sections {
        data,
        data_at: 0x5_c368,
        counters_at: 0x5_c340,
        counters_size: 5 * 8,
        names,
        functions,
        files: rest.to_vec(),
        version: (version < 16).then_some(u64::from(version)),
    };
    if let Ok(map) = LlvmMap::of(&sections, Path::new("program")) {
        let _ = map.functions(&[1, 1, 6, u64::MAX, 0]);
    }
}

/// The numbers and checksums of what looks like functions.
fn functions(bytes: &[u8]) -> impl Iterator<Item = (u32, u32)> {
    // A tag, a length, the two.
    let records = bytes.windows(16).filter(|record| record.starts_with(&TAG));
    records.map(|record| (word(record, 8), word(record, 12)))
}

/// The tag at the start of a function.
const TAG: [u8; 4] = 0x0100_0000_u32.to_le_bytes();

fn word(bytes: &[u8], at: usize) -> u32 {
    let word = bytes.get(at..).and_then(|bytes| bytes.first_chunk());
    word.map_or(0, |word| u32::from_le_bytes(*word))
}
