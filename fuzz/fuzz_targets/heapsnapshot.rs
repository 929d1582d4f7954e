//! Any bytes, as a heap snapshot: what is read can be asked anything.

#![no_main]

use libfuzzer_sys::fuzz_target;
use profundo_analysis::graph::{Alive, Types, by_type, dominators, duplicates, tree};

fuzz_target!(|bytes: &[u8]| {
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
});
