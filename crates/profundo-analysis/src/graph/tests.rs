//! Small heaps with known answers, and dominators by their definition.

mod answers;
mod owned;

use profundo_model::graph::{Builder, Graph, Label, NodeId, Sink};
use proptest::prelude::*;

use super::{Alive, Dominators, dominators};

/// Objects of eight bytes and more, with their references and the kinds of those.
pub(super) fn heap(edges: &[(u32, u32, &str)], count: u32) -> Graph {
    let mut heap = Builder::default();
    let kind = heap.node_kind("object").unwrap();
    for row in 0..count {
        let name = heap.name(format!("o{row}").as_bytes()).unwrap();
        heap.node(kind, name, u64::from(row) + 100, 1 << row.min(40))
            .unwrap();
    }
    let name = heap.name(b"field").unwrap();
    for &(from, to, kind) in edges {
        let label = match kind {
            "element" => Label::Index(7),
            _ => Label::Name(name),
        };
        let kind = heap.edge_kind(kind).unwrap();
        heap.edge(kind, label, NodeId(from), NodeId(to)).unwrap();
    }
    heap.finish()
}

fn property(edges: &[(u32, u32)]) -> Vec<(u32, u32, &'static str)> {
    edges
        .iter()
        .map(|&(from, to)| (from, to, "property"))
        .collect()
}

fn above(graph: &Graph) -> (Vec<u32>, Dominators) {
    let found = dominators(graph, &Alive::new(graph));
    let above = graph.nodes().map(|node| found.above(node).0).collect();
    (above, found)
}

#[test]
fn what_lies_on_every_way_dominates() {
    // The graph of the paper of Lengauer and Tarjan, R to L as 0 to 12.
    let names = "RABCDEFGHIJKL";
    let at = |name| names.find(name).unwrap() as u32;
    let pairs = "RA RB RC AD BA BD BE CF CG DL EH FI GI GJ HE HK IK JI KI KR LH";
    let edges: Vec<(u32, u32)> = pairs
        .split(' ')
        .map(|pair| (at(&pair[..1]), at(&pair[1..])))
        .collect();
    let graph = heap(&property(&edges), 13);
    let (above, found) = above(&graph);
    let expected: Vec<u32> = "R A:R B:R C:R D:R E:R F:C G:C H:R I:R J:G K:R L:D"
        .split(' ')
        .map(|pair| at(pair.split(':').next_back().unwrap()))
        .collect();
    assert_eq!(above, expected);
    // D retains itself and L, C the objects below F and G.
    assert_eq!(found.retained(NodeId(4)), 1 << 4 | 1 << 12);
    assert_eq!(
        found.retained(NodeId(3)),
        1 << 3 | 1 << 6 | 1 << 7 | 1 << 10
    );
    assert_eq!(found.retained(NodeId(0)), (1 << 13) - 1);
    assert_eq!(found.unreached(), 0);
}

#[test]
fn what_is_weak_holds_nothing() {
    let edges = [
        (0, 1, "property"),
        (1, 2, "weak"),
        (2, 3, "property"),
        // Held by one another only.
        (4, 5, "property"),
        (5, 4, "property"),
    ];
    let graph = heap(&edges, 6);
    let (above, found) = above(&graph);
    assert_eq!(above, [0, 0, 0, 2, 0, 0]);
    assert_eq!(found.retained(NodeId(1)), 2);
    assert_eq!(found.unreached(), 4);
    assert!(found.is_reached(NodeId(1)) && !found.is_reached(NodeId(3)));
}

#[test]
fn a_list_of_a_million_is_no_deeper_than_one_of_ten() {
    let count = 1_000_000;
    let edges: Vec<(u32, u32)> = (1..count)
        .flat_map(|row| [(row - 1, row), (row, row - 1)])
        .collect();
    let graph = heap(&property(&edges), count);
    let (above, _) = above(&graph);
    assert!(
        above
            .iter()
            .enumerate()
            .skip(1)
            .all(|(row, above)| *above as usize == row - 1)
    );
}

/// The objects not reachable without `without`.
fn lost(edges: &[(u32, u32)], count: u32, roots: &[u32], without: u32) -> Vec<bool> {
    let mut is_lost = vec![true; count as usize];
    let mut left: Vec<u32> = roots.to_vec();
    while let Some(node) = left.pop() {
        if node == without || !std::mem::replace(&mut is_lost[node as usize], false) {
            continue;
        }
        left.extend(
            edges
                .iter()
                .filter(|edge| edge.0 == node)
                .map(|edge| edge.1),
        );
    }
    is_lost
}

proptest! {
    #[test]
    fn dominators_are_those_of_the_definition(
        count in 1_u32..24,
        raw in prop::collection::vec((0_u32..24, 0_u32..24), 0..80),
    ) {
        let edges: Vec<(u32, u32)> =
            raw.into_iter().filter(|edge| edge.0 < count && edge.1 < count).collect();
        let graph = heap(&property(&edges), count);
        let (above, found) = above(&graph);
        // An object without references to it is a root, too, by way of the root of all.
        let mut roots = vec![0];
        roots.extend((1..count).filter(|node| {
            !edges.iter().any(|edge| edge.1 == *node && edge.0 != *node)
        }));
        let unreached = lost(&edges, count, &roots, u32::MAX);
        let mut retained: Vec<u64> = (0..count).map(|node| 1 << node).collect();
        for node in 1..count {
            let gone = lost(&edges, count, &roots, node);
            for other in (0..count).filter(|other| *other != node) {
                let hangs = gone[other as usize] && !unreached[other as usize]
                    && !unreached[node as usize];
                if hangs {
                    retained[node as usize] |= 1 << other;
                }
                // The immediate dominator is one, and no dominator lies between.
                if above[other as usize] == node {
                    prop_assert!(hangs);
                }
                if hangs && above[other as usize] != node {
                    let between = above[other as usize];
                    prop_assert!(gone[between as usize], "{node} {between} {other}");
                }
            }
        }
        let unheld = lost(&edges, count, &[0], u32::MAX);
        for node in 1..count {
            prop_assert_eq!(found.is_reached(NodeId(node)), !unheld[node as usize]);
            prop_assert_eq!(found.retained(NodeId(node)), retained[node as usize]);
        }
        prop_assert_eq!(found.retained(NodeId(0)), (1 << count) - 1);
    }
}
