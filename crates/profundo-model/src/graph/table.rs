//! A heap in memory: columns of numbers, with the references of an object one after the other.
//!
//! A graph of ten million objects and forty million references takes about a gigabyte, so each
//! number is as narrow as possible. The columns of a file are checked once, when a graph is made of
//! them; all ids in a graph are in range.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::{EdgeKindId, Label, NameId, NodeId, NodeKindId};

/// A reference: its row, sorted by the row of its holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct EdgeId(pub u32);

impl EdgeId {
    /// The row.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Texts one after the other, not always UTF-8, because a program's strings need not be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Texts {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Texts {
    /// Adds bytes to the unfinished text.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Ends the unfinished text.
    pub fn end(&mut self) {
        self.ends.push(self.bytes.len());
    }

    /// The number of texts.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True if there are no texts.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The text in a row; empty where there is no such row.
    pub fn get(&self, row: usize) -> &[u8] {
        let start = match row.checked_sub(1) {
            Some(before) => self.ends.get(before).copied(),
            None => Some(0),
        };
        let (Some(start), Some(&end)) = (start, self.ends.get(row)) else {
            return &[];
        };
        &self.bytes[start..end]
    }
}

/// The columns that a graph is made of, as a reader fills them.
#[derive(Debug, Clone, Default)]
pub struct Columns {
    /// The names of the kinds of objects.
    pub node_kinds: Vec<Box<str>>,
    /// The names of the kinds of references.
    pub edge_kinds: Vec<Box<str>>,
    /// For each object, its kind.
    pub kinds: Vec<u32>,
    /// For each object, its name: a row of the texts.
    pub names: Vec<u32>,
    /// For each object, its identity across snapshots.
    pub ids: Vec<u64>,
    /// For each object, its own bytes.
    pub sizes: Vec<u64>,
    /// For each object, its number of references.
    pub degrees: Vec<u32>,
    /// For each reference, its kind.
    pub edge_kind: Vec<u8>,
    /// For each reference, its name (a row of the texts) or its index.
    pub labels: Vec<u32>,
    /// Indices that do not fit, by the row of the reference.
    pub long_labels: FxHashMap<u32, u64>,
    /// For each reference, the object that it leads to.
    pub targets: Vec<u32>,
    /// The texts.
    pub texts: Texts,
}

/// The reason why columns are not a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Odd {
    /// There is no object, not even a root.
    Empty,
    /// A column is longer or shorter than the others of its table.
    Uneven,
    /// The sum of the degrees is not the number of references.
    Degrees {
        /// The sum of the degrees.
        counted: u64,
        /// The number of references.
        found: u64,
    },
    /// An object or a reference is of a kind that has no name.
    Kind(u64),
    /// A name is a row that the texts do not have.
    Name(u64),
    /// A reference leads to a missing object.
    Target(u64),
}

/// A heap: objects with their references, and all names. Row 0 is the root.
#[derive(Debug, Clone)]
pub struct Graph {
    columns: Columns,
    /// The first reference of each object, and the end of the last one's.
    firsts: Vec<u32>,
    /// Whether the labels of a kind of references are indices.
    is_indexed: Vec<bool>,
}

impl Graph {
    /// A graph from columns, if they fit together.
    pub fn new(mut columns: Columns) -> Result<Self, Odd> {
        let count = columns.kinds.len();
        let edges = columns.targets.len();
        if count == 0 {
            return Err(Odd::Empty);
        }
        let node_columns = [
            columns.names.len(),
            columns.ids.len(),
            columns.sizes.len(),
            columns.degrees.len(),
        ];
        let edge_columns = [columns.edge_kind.len(), columns.labels.len()];
        if node_columns != [count; 4] || edge_columns != [edges; 2] {
            return Err(Odd::Uneven);
        }
        let counted = columns
            .degrees
            .iter()
            .map(|degree| u64::from(*degree))
            .sum();
        if counted != edges as u64 || edges > u32::MAX as usize {
            let found = edges as u64;
            return Err(Odd::Degrees { counted, found });
        }
        let within = |rows: &[u32], most: usize| {
            let highest = rows.iter().copied().max().unwrap_or(0);
            match highest as usize >= most && !rows.is_empty() {
                true => Err(u64::from(highest)),
                false => Ok(()),
            }
        };
        within(&columns.kinds, columns.node_kinds.len()).map_err(Odd::Kind)?;
        within(&columns.names, columns.texts.len()).map_err(Odd::Name)?;
        within(&columns.targets, count).map_err(Odd::Target)?;
        let is_indexed: Vec<bool> = columns
            .edge_kinds
            .iter()
            .map(|kind| matches!(&**kind, "element" | "hidden"))
            .collect();
        for (kind, label) in columns.edge_kind.iter().zip(&columns.labels) {
            let Some(is_indexed) = is_indexed.get(usize::from(*kind)) else {
                return Err(Odd::Kind(u64::from(*kind)));
            };
            if !is_indexed && *label as usize >= columns.texts.len() {
                return Err(Odd::Name(u64::from(*label)));
            }
        }
        // The degrees become first rows in the same column.
        let mut firsts = std::mem::take(&mut columns.degrees);
        let mut next = 0;
        for first in &mut firsts {
            next += std::mem::replace(first, next);
        }
        firsts.push(next);
        Ok(Self {
            columns,
            firsts,
            is_indexed,
        })
    }

    /// The root of all.
    pub fn root(&self) -> NodeId {
        NodeId(0)
    }

    /// The number of objects, the root among them.
    pub fn node_count(&self) -> usize {
        self.columns.kinds.len()
    }

    /// The number of references.
    pub fn edge_count(&self) -> usize {
        self.columns.targets.len()
    }

    /// All objects.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = NodeId> + use<> {
        (0..self.columns.kinds.len() as u32).map(NodeId)
    }

    /// An object's kind.
    pub fn kind(&self, node: NodeId) -> NodeKindId {
        NodeKindId(self.columns.kinds[node.index()])
    }

    /// The name of a kind of objects.
    pub fn kind_name(&self, kind: NodeKindId) -> &str {
        &self.columns.node_kinds[kind.0 as usize]
    }

    /// The kinds of objects by name, in the order of their numbers.
    pub fn kind_names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.columns.node_kinds.iter().map(|name| &**name)
    }

    /// The kinds of references by name, in the order of their numbers.
    pub fn edge_kind_names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.columns.edge_kinds.iter().map(|name| &**name)
    }

    /// An object's name, as a row of the texts.
    pub fn name(&self, node: NodeId) -> NameId {
        NameId(self.columns.names[node.index()])
    }

    /// An object's identity across snapshots.
    pub fn id(&self, node: NodeId) -> u64 {
        self.columns.ids[node.index()]
    }

    /// An object's own bytes.
    pub fn size(&self, node: NodeId) -> u64 {
        self.columns.sizes[node.index()]
    }

    /// The references of an object.
    pub fn edges_of(&self, node: NodeId) -> impl ExactSizeIterator<Item = EdgeId> + use<> {
        let rows: Range<u32> = self.firsts[node.index()]..self.firsts[node.index() + 1];
        rows.map(EdgeId)
    }

    /// The object that holds a reference.
    pub fn edge_from(&self, edge: EdgeId) -> NodeId {
        let after = self.firsts.partition_point(|first| *first <= edge.0);
        NodeId(after as u32 - 1)
    }

    /// The object that a reference leads to.
    pub fn edge_to(&self, edge: EdgeId) -> NodeId {
        NodeId(self.columns.targets[edge.index()])
    }

    /// A reference's kind.
    pub fn edge_kind(&self, edge: EdgeId) -> EdgeKindId {
        EdgeKindId(u32::from(self.columns.edge_kind[edge.index()]))
    }

    /// The name of a kind of references.
    pub fn edge_kind_name(&self, kind: EdgeKindId) -> &str {
        &self.columns.edge_kinds[kind.0 as usize]
    }

    /// The label of a reference.
    pub fn label(&self, edge: EdgeId) -> Label {
        let label = self.columns.labels[edge.index()];
        match self.is_indexed[usize::from(self.columns.edge_kind[edge.index()])] {
            false => Label::Name(NameId(label)),
            true => Label::Index(
                match label {
                    u32::MAX => self.columns.long_labels.get(&edge.0).copied(),
                    _ => None,
                }
                .unwrap_or(u64::from(label)),
            ),
        }
    }

    /// The number of texts.
    pub fn text_count(&self) -> u32 {
        // Names are 32 bits wide, so texts beyond that have none.
        u32::try_from(self.columns.texts.len()).unwrap_or(u32::MAX)
    }

    /// A text.
    pub fn text(&self, name: NameId) -> &[u8] {
        self.columns.texts.get(name.0 as usize)
    }

    /// The target column of all references, and the first reference of each object (with the end of
    /// the last one's behind): for fast passes over the graph.
    pub fn targets(&self) -> (&[u32], &[u32]) {
        (&self.columns.targets, &self.firsts)
    }

    /// The kinds of all references.
    pub fn edge_kind_column(&self) -> &[u8] {
        &self.columns.edge_kind
    }

    /// The own bytes of all objects.
    pub fn size_column(&self) -> &[u64] {
        &self.columns.sizes
    }
}
