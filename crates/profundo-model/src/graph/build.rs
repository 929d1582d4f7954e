//! A heap that is built in memory: for small heaps, and for tests.

use rustc_hash::FxHashMap;

use super::{Columns, EdgeKindId, Graph, Label, NameId, NodeId, NodeKindId, Odd, Sink};

/// A heap too large for the tables: more than 2³² objects, references or texts, or 256 kinds of
/// references.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full;

impl std::fmt::Display for Full {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("more was told than a graph can hold")
    }
}

impl std::error::Error for Full {}

/// A graph in the making.
#[derive(Debug, Default)]
pub struct Builder {
    columns: Columns,
    /// The holder of each reference: references come in any order.
    sources: Vec<u32>,
    labels: Vec<Label>,
    names: FxHashMap<Box<[u8]>, NameId>,
    hides: bool,
}

impl Builder {
    /// A builder that hides the contents of the program's strings.
    pub fn redacted() -> Self {
        Self {
            hides: true,
            ..Self::default()
        }
    }

    /// The graph. References to or from missing objects are left out.
    ///
    /// # Panics
    /// Without any object: a heap has a root.
    pub fn finish(self) -> Graph {
        self.try_finish()
            .expect("what is built fits together, and has a root")
    }

    fn try_finish(self) -> Result<Graph, Odd> {
        let mut columns = self.columns;
        let count = columns.kinds.len();
        let mut rows: Vec<usize> = (0..self.sources.len())
            .filter(|row| {
                (self.sources[*row] as usize) < count && (columns.targets[*row] as usize) < count
            })
            .collect();
        rows.sort_by_key(|row| self.sources[*row]);
        columns.degrees = vec![0; count];
        for row in &rows {
            columns.degrees[self.sources[*row] as usize] += 1;
        }
        columns.edge_kind = rows.iter().map(|row| columns.edge_kind[*row]).collect();
        columns.targets = rows.iter().map(|row| columns.targets[*row]).collect();
        columns.labels = (rows.iter().enumerate())
            .map(|(place, row)| match self.labels[*row] {
                Label::Name(name) => name.0,
                Label::Index(index) => u32::try_from(index).unwrap_or_else(|_| {
                    columns.long_labels.insert(place as u32, index);
                    u32::MAX
                }),
            })
            .collect();
        Graph::new(columns)
    }

    fn text(&mut self, text: &[u8]) -> Result<NameId, Full> {
        let id = u32::try_from(self.columns.texts.len()).map_err(|_| Full)?;
        self.columns.texts.extend(text);
        self.columns.texts.end();
        Ok(NameId(id))
    }
}

fn number(names: &mut Vec<Box<str>>, name: &str) -> u32 {
    let found = names.iter().position(|known| **known == *name);
    found.unwrap_or_else(|| {
        names.push(name.into());
        names.len() - 1
    }) as u32
}

impl Sink for Builder {
    type Error = Full;

    fn node_kind(&mut self, name: &str) -> Result<NodeKindId, Full> {
        Ok(NodeKindId(number(&mut self.columns.node_kinds, name)))
    }

    fn edge_kind(&mut self, name: &str) -> Result<EdgeKindId, Full> {
        let number = number(&mut self.columns.edge_kinds, name);
        match u8::try_from(number) {
            Ok(_) => Ok(EdgeKindId(number)),
            Err(_) => Err(Full),
        }
    }

    fn name(&mut self, text: &[u8]) -> Result<NameId, Full> {
        if let Some(&id) = self.names.get(text) {
            return Ok(id);
        }
        let id = self.text(text)?;
        self.names.insert(text.into(), id);
        Ok(id)
    }

    fn content(&mut self, text: &[u8]) -> Result<NameId, Full> {
        match self.hides {
            true => self.name(super::sink::REDACTED),
            false => self.text(text),
        }
    }

    fn node(&mut self, kind: NodeKindId, name: NameId, id: u64, size: u64) -> Result<NodeId, Full> {
        let row = u32::try_from(self.columns.kinds.len()).map_err(|_| Full)?;
        self.columns.kinds.push(kind.0);
        self.columns.names.push(name.0);
        self.columns.ids.push(id);
        self.columns.sizes.push(size);
        Ok(NodeId(row))
    }

    fn edge(
        &mut self,
        kind: EdgeKindId,
        label: Label,
        from: NodeId,
        to: NodeId,
    ) -> Result<(), Full> {
        if self.sources.len() >= u32::MAX as usize {
            return Err(Full);
        }
        self.columns.edge_kind.push(kind.0 as u8);
        self.columns.targets.push(to.0);
        self.sources.push(from.0);
        self.labels.push(label);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_those_of_their_objects_in_whatever_order_they_came() {
        let mut heap = Builder::redacted();
        let kind = heap.node_kind("object").unwrap();
        let property = heap.edge_kind("property").unwrap();
        let element = heap.edge_kind("element").unwrap();
        let secret = heap.content(b"secret").unwrap();
        assert_eq!(heap.content(b"another").unwrap(), secret);
        let name = heap.name(b"field").unwrap();
        let (a, b) = (NodeId(0), NodeId(1));
        heap.edge(element, Label::Index(1 << 40), b, b).unwrap();
        heap.edge(property, Label::Name(name), a, b).unwrap();
        heap.edge(element, Label::Index(5), b, a).unwrap();
        // To a missing object.
        heap.edge(element, Label::Index(6), b, NodeId(9)).unwrap();
        heap.node(kind, secret, 10, 1).unwrap();
        heap.node(kind, name, 20, 2).unwrap();
        let graph = heap.finish();
        let of = |node| {
            (graph.edges_of(node))
                .map(|edge| {
                    (
                        graph.edge_from(edge),
                        graph.label(edge),
                        graph.edge_to(edge),
                    )
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(of(a), [(a, Label::Name(name), b)]);
        assert_eq!(
            of(b),
            [(b, Label::Index(1 << 40), b), (b, Label::Index(5), a)]
        );
        assert_eq!(graph.text(secret), b"<redacted>");
        assert_eq!(graph.text(NameId(77)), b"");
        assert_eq!((graph.id(b), graph.size(b)), (20, 2));
    }

    #[test]
    fn columns_that_do_not_fit_together_are_no_graph() {
        let odd = |change: fn(&mut Columns)| {
            let mut columns = Columns {
                node_kinds: vec!["a".into()],
                edge_kinds: vec!["property".into()],
                kinds: vec![0, 0],
                names: vec![0, 0],
                ids: vec![1, 2],
                sizes: vec![1, 2],
                degrees: vec![1, 0],
                edge_kind: vec![0],
                labels: vec![0],
                targets: vec![1],
                ..Columns::default()
            };
            columns.texts.end();
            change(&mut columns);
            Graph::new(columns).err()
        };
        assert_eq!(odd(|_| {}), None);
        assert_eq!(odd(|columns| columns.kinds.clear()), Some(Odd::Empty));
        assert_eq!(odd(|columns| columns.ids.clear()), Some(Odd::Uneven));
        assert_eq!(odd(|columns| columns.labels.clear()), Some(Odd::Uneven));
        let (counted, found) = (3, 1);
        let degrees = Odd::Degrees { counted, found };
        assert_eq!(odd(|columns| columns.degrees[1] = 2), Some(degrees));
        assert_eq!(odd(|columns| columns.kinds[1] = 1), Some(Odd::Kind(1)));
        assert_eq!(odd(|columns| columns.edge_kind[0] = 3), Some(Odd::Kind(3)));
        assert_eq!(odd(|columns| columns.names[1] = 1), Some(Odd::Name(1)));
        assert_eq!(odd(|columns| columns.labels[0] = 1), Some(Odd::Name(1)));
        assert_eq!(odd(|columns| columns.targets[0] = 2), Some(Odd::Target(2)));
    }
}
