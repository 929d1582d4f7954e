//! Texts that a heap has more than once. A snapshot names a string by its contents; one that hides
//! them cannot be asked.

use profundo_model::graph::{Graph, Label, NameId, NodeId, REDACTED};
use rustc_hash::FxHashMap;

/// A text with several copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Duplicate {
    /// The text.
    pub text: NameId,
    /// The number of its copies.
    pub count: u64,
    /// The bytes of all of them.
    pub bytes: u64,
    /// The bytes of all but the largest.
    pub wasted: u64,
}

/// The texts with several copies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Duplicates {
    /// The snapshot hides the contents of strings.
    Hidden,
    /// The duplicates, the one that wastes most first.
    Found {
        /// The rows.
        rows: Vec<Duplicate>,
        /// The number of strings looked at.
        strings: u64,
    },
}

/// Kinds of objects named by their contents: V8's, Julia's, CPython's.
const TEXTS: [&str; 5] = ["string", "concatenated string", "String", "str", "bytes"];
/// V8 cuts longer strings: those with equal beginnings need not be equal, so their sizes must be.
const LONG: usize = 1024;
/// V8's name for a text that it has not joined yet.
const UNJOINED: &[u8] = b"(concatenated string)";

/// Finds the texts with several copies.
pub fn duplicates(graph: &Graph) -> Duplicates {
    let is_text: Vec<bool> = (graph.kind_names())
        .map(|kind| TEXTS.contains(&kind))
        .collect();
    let concatenated = graph
        .kind_names()
        .position(|kind| kind == "concatenated string");
    let mut strings = 0_u64;
    let mut hidden = 0_u64;
    // With the size of the largest one.
    let mut found: FxHashMap<(&[u8], u64), (Duplicate, u64)> = FxHashMap::default();
    for node in graph.nodes() {
        let kind = graph.kind(node).0 as usize;
        let size = graph.size(node);
        if !is_text[kind] || size == 0 || Some(kind) == concatenated && is_flat(graph, node) {
            continue;
        }
        let text = graph.text(graph.name(node));
        if Some(kind) == concatenated && text == UNJOINED {
            continue;
        }
        strings += 1;
        if text == REDACTED {
            hidden += 1;
            continue;
        }
        let length = if text.len() >= LONG { size } else { 0 };
        let (row, largest) = found.entry((text, length)).or_insert((
            Duplicate {
                text: graph.name(node),
                count: 0,
                bytes: 0,
                wasted: 0,
            },
            0,
        ));
        row.count += 1;
        row.bytes = row.bytes.saturating_add(size);
        *largest = size.max(*largest);
    }
    if hidden > 0 && hidden == strings {
        return Duplicates::Hidden;
    }
    let mut rows: Vec<Duplicate> = found
        .into_values()
        .filter(|(row, _)| row.count > 1)
        .map(|(row, largest)| Duplicate {
            wasted: row.bytes - largest,
            ..row
        })
        .collect();
    rows.sort_by(|a, b| {
        (b.wasted.cmp(&a.wasted))
            .then(b.count.cmp(&a.count))
            .then_with(|| graph.text(a.text).cmp(graph.text(b.text)))
    });
    Duplicates::Found { rows, strings }
}

/// V8 joins strings lazily and then keeps an empty half, which is no second string.
fn is_flat(graph: &Graph, node: NodeId) -> bool {
    graph.edges_of(node).any(|edge| match graph.label(edge) {
        Label::Name(name) => {
            matches!(graph.text(name), b"first" | b"second")
                && graph.text(graph.name(graph.edge_to(edge))).is_empty()
        }
        Label::Index(_) => false,
    })
}
