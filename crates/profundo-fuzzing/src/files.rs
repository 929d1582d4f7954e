//! Files from untrusted sources.

use profundo_analysis::graph::{Alive, Types, by_type, dominators, duplicates, tree};

/// A saved file: what is read can be written and comes back the same.
///
/// No fuzzer guesses a checksum, so the checksums are corrected first.
pub fn profundo_file(bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    mend(&mut bytes);
    let Ok((profile, _)) = profundo_formats::read(&bytes) else {
        return;
    };
    let mut file = Vec::new();
    profundo_formats::write(&profile, &mut file).expect("what was read can be written");
    let (again, warnings) = profundo_formats::read(&file).expect("what was written can be read");
    assert!(warnings.is_empty(), "{warnings:?}");
    assert!(again.samples == profile.samples);
    assert!(again.stacks.iter().eq(profile.stacks.iter()));
}

fn mend(bytes: &mut [u8]) {
    let mut at = 16;
    while let Some(head) = bytes.get(at..at + 20) {
        let stored = u32::from_le_bytes([head[12], head[13], head[14], head[15]]) as usize;
        let Some(end) = (at + 20)
            .checked_add(stored)
            .filter(|&end| end <= bytes.len())
        else {
            return;
        };
        let mut sum = crc32fast::Hasher::new();
        sum.update(&bytes[at..at + 16]);
        sum.update(&bytes[at + 20..end]);
        bytes[at + 16..at + 20].copy_from_slice(&sum.finalize().to_le_bytes());
        at = end;
    }
}

/// A heap snapshot: every query of what was read works.
pub fn heapsnapshot(bytes: &[u8]) {
    let Ok(graph) = profundo_formats::heapsnapshot::read(bytes) else {
        return;
    };
    let alive = Alive::new(&graph);
    let found = dominators(&graph, &alive);
    let types = Types::new(&graph);
    for row in by_type(&graph, &types, &found) {
        assert!(row.count > 0);
    }
    for node in graph.nodes() {
        assert!(found.retained(node) >= graph.size(node));
        for edge in graph.edges_of(node) {
            assert!(graph.edge_from(edge) == node);
            let _ = graph.label(edge);
        }
    }
    assert!(tree(&graph, &found, 10).len() <= 10);
    let _ = duplicates(&graph);
}

/// A `.mem` file, with what lines allocate.
pub fn memory_counts(bytes: &[u8]) {
    let counted = profundo_formats::mem::read(bytes);
    assert!(counted.len() <= bytes.len());
    assert!(counted.is_sorted_by_key(|&(line, _)| line));
}
