//! The references that keep their targets alive. The rules are those of DevTools.

use profundo_model::graph::{EdgeId, Graph, Label, NodeId};
use rustc_hash::FxHashMap;

/// The references that keep objects alive.
#[derive(Debug, Clone)]
pub struct Alive {
    /// A bit for each reference; none where all of them do.
    bits: Option<Vec<u64>>,
}

/// The program's own roots, below the root of all.
const DOCUMENT_TREES: &[u8] = b"(Document DOM trees)";

/// The kinds of references with a meaning, by number.
struct Meaning {
    weak: Option<u8>,
    shortcut: Option<u8>,
    internal: Option<u8>,
    element: Option<u8>,
}

impl Alive {
    /// Finds them. Not among them are weak references; shortcuts, except those of the root (which
    /// mark the program's own roots); references from the system's objects to the program's own;
    /// and those of a weak table to its values, which hang on their keys.
    pub fn new(graph: &Graph) -> Self {
        let kind = |name: &str| {
            let found = graph.edge_kind_names().position(|known| known == name);
            found.and_then(|number| u8::try_from(number).ok())
        };
        let meaning = Meaning {
            weak: kind("weak"),
            shortcut: kind("shortcut"),
            internal: kind("internal"),
            element: kind("element"),
        };
        let tables = weak_tables(graph);
        if meaning.weak.is_none() && meaning.shortcut.is_none() && tables.is_empty() {
            return Self { bits: None };
        }
        let own = own_objects(graph, &meaning);
        let (targets, firsts) = graph.targets();
        let kinds = graph.edge_kind_column();
        let mut bits = vec![0_u64; targets.len().div_ceil(64)];
        for node in graph.nodes() {
            let is_root = node == graph.root();
            let from_own = own.as_ref().is_none_or(|own| own.has(node.index()));
            for edge in firsts[node.index()]..firsts[node.index() + 1] {
                let edge = edge as usize;
                let kind = Some(kinds[edge]);
                let to = targets[edge] as usize;
                let is_out = kind == meaning.weak
                    || !is_root
                        && (kind == meaning.shortcut
                            || !from_own && own.as_ref().is_some_and(|own| own.has(to)))
                    || kind == meaning.internal
                        && !tables.is_empty()
                        && is_of_table(graph, &tables, node, EdgeId(edge as u32));
                bits[edge / 64] |= u64::from(!is_out) << (edge % 64);
            }
        }
        Self { bits: Some(bits) }
    }

    /// Whether a reference keeps its target alive.
    #[inline]
    pub fn keeps(&self, edge: EdgeId) -> bool {
        match &self.bits {
            None => true,
            Some(bits) => bits[edge.index() / 64] >> (edge.index() % 64) & 1 == 1,
        }
    }
}

/// A bit for each object.
pub(super) struct Bits(Vec<u64>);

impl Bits {
    pub fn new(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    #[inline]
    pub fn has(&self, index: usize) -> bool {
        self.0[index / 64] >> (index % 64) & 1 == 1
    }

    /// Sets a bit; returns whether it was clear.
    #[inline]
    pub fn set(&mut self, index: usize) -> bool {
        let word = &mut self.0[index / 64];
        let bit = 1 << (index % 64);
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }
}

/// The objects reachable from the program's own roots, where there are any such roots.
fn own_objects(graph: &Graph, meaning: &Meaning) -> Option<Bits> {
    let roots: Vec<NodeId> = graph
        .edges_of(graph.root())
        .filter(|edge| {
            let kind = u8::try_from(graph.edge_kind(*edge).0).ok();
            let to = graph.edge_to(*edge);
            kind == meaning.shortcut && kind.is_some()
                || kind == meaning.element && graph.text(graph.name(to)) == DOCUMENT_TREES
        })
        .map(|edge| graph.edge_to(edge))
        .collect();
    if roots.is_empty() {
        return None;
    }
    let mut own = Bits::new(graph.node_count());
    let mut left = Vec::new();
    for root in roots {
        if own.set(root.index()) {
            left.push(root);
        }
    }
    while let Some(node) = left.pop() {
        for edge in graph.edges_of(node) {
            let to = graph.edge_to(edge);
            let is_weak = u8::try_from(graph.edge_kind(edge).0).ok() == meaning.weak
                && meaning.weak.is_some();
            if !is_weak && own.set(to.index()) {
                left.push(to);
            }
        }
    }
    Some(own)
}

/// The names of references that V8 writes for both the key and the table of a weak table's entry,
/// with the table's id: `12 / part of key (… @1) -> value (… @2) pair in WeakMap (table @3)`.
fn weak_tables(graph: &Graph) -> FxHashMap<u32, u64> {
    const BEFORE: &[u8] = b" pair in WeakMap (table @";
    let mut tables = FxHashMap::default();
    for row in 0..graph.text_count() {
        let text = graph.text(profundo_model::graph::NameId(row));
        let Some(inside) = text.strip_suffix(b")") else {
            continue;
        };
        let digits = (inside.iter().rev())
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let (before, digits) = inside.split_at(inside.len() - digits);
        if before.ends_with(BEFORE)
            && let Some(table) = std::str::from_utf8(digits)
                .ok()
                .and_then(|digits| digits.parse().ok())
        {
            tables.insert(row, table);
        }
    }
    tables
}

fn is_of_table(graph: &Graph, tables: &FxHashMap<u32, u64>, of: NodeId, edge: EdgeId) -> bool {
    match graph.label(edge) {
        Label::Name(name) => tables.get(&name.0) == Some(&graph.id(of)),
        Label::Index(_) => false,
    }
}
