//! The objects of an interpreter as a graph, from the items that a copy of its process sends.
//!
//! Kinds are those of V8's snapshots: texts are strings, functions closures, and all else is an
//! object whose name is that of its type. Only classes and modules are kinds of their own, so that
//! each may have its name.

use profundo_model::graph::{EdgeKindId, Label, NameId, NodeId, NodeKindId, REDACTED, Sink, Texts};
use profundo_wire::graph::{EdgeKind, Item, NodeKind};

/// Passes received items on to a sink.
#[derive(Debug)]
pub struct Objects<'a, S: Sink> {
    sink: &'a mut S,
    node_kinds: [NodeKindId; NodeKind::ALL.len()],
    edge_kinds: [EdgeKindId; EdgeKind::ALL.len()],
    texts: Texts,
    /// For each text used as a name, the sink's own number.
    names: Vec<Option<NameId>>,
    types: Vec<(NodeKind, NameId)>,
    /// The number of nodes without an address.
    invented: u64,
    failure: Option<S::Error>,
    is_damaged: bool,
}

impl<'a, S: Sink> Objects<'a, S> {
    /// Passes on nothing yet.
    pub fn new(sink: &'a mut S) -> Result<Self, S::Error> {
        let mut node_kinds = [NodeKindId::default(); NodeKind::ALL.len()];
        for (id, kind) in node_kinds.iter_mut().zip(NodeKind::ALL) {
            *id = sink.node_kind(match kind {
                NodeKind::Synthetic => "synthetic",
                NodeKind::Object => "object",
                NodeKind::Text => "string",
                NodeKind::Function => "closure",
                NodeKind::Code => "code",
                NodeKind::Class => "class",
                NodeKind::Module => "module",
            })?;
        }
        let mut edge_kinds = [EdgeKindId::default(); EdgeKind::ALL.len()];
        for (id, kind) in edge_kinds.iter_mut().zip(EdgeKind::ALL) {
            *id = sink.edge_kind(match kind {
                EdgeKind::Named => "property",
                EdgeKind::Element => "element",
                EdgeKind::Internal => "internal",
                EdgeKind::Weak => "weak",
            })?;
        }
        Ok(Self {
            sink,
            node_kinds,
            edge_kinds,
            texts: Texts::default(),
            names: Vec::new(),
            types: Vec::new(),
            invented: 0,
            failure: None,
            is_damaged: false,
        })
    }

    /// Passes on one item, unless one has failed.
    pub fn item(&mut self, item: Item<'_>) {
        if self.failure.is_none() && !self.is_damaged {
            match self.pass_on(item) {
                Ok(Some(())) => {}
                Ok(None) => self.is_damaged = true,
                Err(error) => self.failure = Some(error),
            }
        }
    }

    /// Ends the graph. `Ok(false)`: the items were inconsistent.
    pub fn finish(self) -> Result<bool, S::Error> {
        match self.failure {
            Some(error) => Err(error),
            None => Ok(!self.is_damaged),
        }
    }

    fn pass_on(&mut self, item: Item<'_>) -> Result<Option<()>, S::Error> {
        match item {
            Item::Text { bytes, words } => {
                let mut left = bytes as usize;
                for word in words {
                    let bytes = word.to_le_bytes();
                    let count = left.min(bytes.len());
                    self.texts.extend(bytes.get(..count).unwrap_or_default());
                    left -= count;
                }
                self.texts.end();
                self.names.push(None);
            }
            Item::Type { kind, name } => {
                let Some(name) = self.name(name)? else {
                    return Ok(None);
                };
                self.types.push((kind, name));
            }
            Item::Node {
                ty,
                name,
                address,
                size,
            } => {
                let Some(&(kind, type_name)) = self.types.get(ty as usize) else {
                    return Ok(None);
                };
                let name = match (kind, name) {
                    (NodeKind::Text, None) => self.sink.name(REDACTED)?,
                    (NodeKind::Text, Some(text)) => {
                        self.sink.content(self.texts.get(text as usize))?
                    }
                    (_, None) => type_name,
                    (_, Some(text)) => match self.name(text)? {
                        Some(name) => name,
                        None => return Ok(None),
                    },
                };
                let id = match (kind, address) {
                    // A node without an address gets an odd number: addresses are even.
                    (NodeKind::Synthetic, 0) => {
                        self.invented += 1;
                        2 * self.invented - 1
                    }
                    _ => address,
                };
                let kind = self.node_kinds[kind as usize];
                self.sink.node(kind, name, id, size)?;
            }
            Item::Edge {
                kind,
                name,
                from,
                to,
            } => {
                let label = match kind {
                    EdgeKind::Element => Label::Index(name.into()),
                    _ => match self.name(name)? {
                        Some(name) => Label::Name(name),
                        None => return Ok(None),
                    },
                };
                let kind = self.edge_kinds[kind as usize];
                self.sink.edge(kind, label, NodeId(from), NodeId(to))?;
            }
            Item::End(_) => {}
        }
        Ok(Some(()))
    }

    /// A text as a name. `None`: there is no such text.
    fn name(&mut self, text: u32) -> Result<Option<NameId>, S::Error> {
        let index = text as usize;
        match self.names.get(index) {
            None => Ok(None),
            Some(Some(known)) => Ok(Some(*known)),
            Some(None) => {
                let name = self.sink.name(self.texts.get(index))?;
                self.names[index] = Some(name);
                Ok(Some(name))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use profundo_model::graph::Builder;
    use profundo_wire::graph::{edge_words, first_item, node_words, text_head, type_words};

    fn read(words: &[u64]) -> (Builder, bool) {
        let mut heap = Builder::redacted();
        let mut objects = Objects::new(&mut heap).unwrap();
        let mut rest = words;
        while let Some((item, behind)) = first_item(rest).unwrap() {
            objects.item(item);
            rest = behind;
        }
        let whole = objects.finish().unwrap();
        (heap, whole)
    }

    fn text(words: &mut Vec<u64>, text: &[u8]) {
        words.push(text_head(text.len() as u32));
        for bytes in text.chunks(8) {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            words.push(u64::from_le_bytes(word));
        }
    }

    #[test]
    fn items_make_a_graph() {
        let mut words = Vec::new();
        for name in ["", "list", "str", "a rather long name", "secret"] {
            text(&mut words, name.as_bytes());
        }
        words.extend(type_words(NodeKind::Synthetic, 0).as_slice());
        words.extend(type_words(NodeKind::Object, 1).as_slice());
        words.extend(type_words(NodeKind::Text, 2).as_slice());
        words.extend(node_words(0, None, 0, 0).as_slice());
        // The edge comes before the row that it leads to.
        words.extend(edge_words(EdgeKind::Named, 3, 0, 1).as_slice());
        words.extend(node_words(1, None, 0x1000, 56).as_slice());
        words.extend(edge_words(EdgeKind::Element, 7, 1, 2).as_slice());
        words.extend(node_words(2, Some(4), 0x2000, 50).as_slice());
        words.extend(node_words(0, None, 0, 0).as_slice());
        let (heap, whole) = read(&words);
        assert!(whole);
        let graph = heap.finish();
        let name = |node| String::from_utf8_lossy(graph.text(graph.name(node))).into_owned();
        assert_eq!(name(NodeId(1)), "list");
        assert_eq!(name(NodeId(2)), "<redacted>");
        assert_eq!(graph.size(NodeId(1)), 56);
        let edge = graph.edges_of(NodeId(1)).next().unwrap();
        assert_eq!(graph.edge_to(edge), NodeId(2));
        // A node that is no object has an id of its own, which no object can have.
        let ids = (0..4).map(|row| graph.id(NodeId(row)));
        assert_eq!(ids.collect::<Vec<_>>(), [1, 0x1000, 0x2000, 3]);
    }

    #[test]
    fn items_that_refer_to_nothing_are_damaged() {
        let words = node_words(3, None, 0, 0);
        assert!(!read(words.as_slice()).1);
        let words = edge_words(EdgeKind::Named, 9, 0, 0);
        assert!(!read(words.as_slice()).1);
    }
}
