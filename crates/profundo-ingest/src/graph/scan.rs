//! The scan of the memory that passes on all references.

use profundo_model::graph::{EdgeKindId, Label, NodeId, Sink};
use profundo_scan::{Block, Edges, Gone, Reached, Stretch, each_stretch};

use super::labels::Labels;
use super::large::Counting;
use super::{GraphError, GraphSize, Group, Heap, Read, Root};

const ROOT: NodeId = NodeId(0);
/// The nodes below the root: rows from 1 on.
const GROUPS: [&str; 4] = [
    "(Threads)",
    "(Data segments)",
    "(Other mappings)",
    "(Unreachable)",
];
const UNREACHABLE: NodeId = NodeId(4);
/// The row of the first root.
const FIRST: u32 = 1 + GROUPS.len() as u32;

impl Group {
    fn node(self) -> NodeId {
        NodeId(match self {
            Self::Threads => 1,
            Self::Data => 2,
            Self::Other => 3,
        })
    }
}

/// Passes a heap to a sink.
///
/// A reference is of the kind `internal` and is named after its word, as `may +16`, or after the
/// register.
pub fn write<S: Sink>(
    heap: Heap<'_>,
    memory: &mut impl Read,
    sink: &mut S,
) -> Result<GraphSize, GraphError<S::Error>> {
    let kind = sink.edge_kind("internal").map_err(GraphError::Sink)?;
    let mut writer = Writer {
        heap,
        kind,
        labels: Labels::new(),
        reached: Reached::new(heap.blocks.len()),
        edges: Edges::new(),
        large: Counting::default(),
        size: GraphSize::default(),
        sink,
    };
    writer.nodes(memory).map_err(GraphError::Sink)?;
    writer.registers().map_err(GraphError::Sink)?;
    writer.memory(memory)?;
    writer.unreachable().map_err(GraphError::Sink)?;
    writer.size.large = writer.large.counted();
    Ok(writer.size)
}

struct Writer<'a, S> {
    heap: Heap<'a>,
    kind: EdgeKindId,
    labels: Labels,
    reached: Reached,
    edges: Edges,
    large: Counting,
    size: GraphSize,
    sink: &'a mut S,
}

impl<S: Sink> Writer<'_, S> {
    fn root(&self, number: usize) -> NodeId {
        NodeId(FIRST + number as u32)
    }

    fn block(&self, index: usize) -> NodeId {
        NodeId(FIRST + (self.heap.roots.len() + index) as u32)
    }

    /// All nodes, and the references between the first ones.
    fn nodes(&mut self, memory: &mut impl Read) -> Result<(), S::Error> {
        let synthetic = self.sink.node_kind("synthetic")?;
        let object = self.sink.node_kind("object")?;
        let nothing = self.sink.name(b"")?;
        self.sink.node(synthetic, nothing, 0, 0)?;
        for (group, row) in GROUPS.into_iter().zip(1..) {
            let name = self.sink.name(group.as_bytes())?;
            let node = self.sink.node(synthetic, name, row, 0)?;
            self.edge(Label::Name(name), ROOT, node)?;
        }
        for (number, root) in self.heap.roots.iter().enumerate() {
            let name = self.sink.name(root.name.as_bytes())?;
            let row = self.root(number);
            self.sink.node(synthetic, name, row.0.into(), 0)?;
            self.edge(Label::Name(name), root.group.node(), row)?;
        }
        self.size.nodes = u64::from(FIRST) + self.heap.roots.len() as u64;
        let types = self.heap.types.iter();
        let names = types.map(|ty| self.sink.name(ty.name.as_bytes()));
        let names: Vec<_> = names.collect::<Result<_, _>>()?;
        for (index, block) in self.heap.blocks.iter().enumerate() {
            self.large.meet(index, block.size);
            let row = block.whose as usize;
            let name = names.get(row).copied().unwrap_or(nothing);
            let shows_text = self.heap.types.get(row).is_some_and(|ty| ty.shows_text);
            let text = if shows_text {
                text_of(block, memory)
            } else {
                None
            };
            let (kind, name) = match text {
                Some(text) => (self.sink.node_kind("string")?, self.sink.content(&text)?),
                None => (object, name),
            };
            self.sink.node(kind, name, block.start, block.size)?;
            self.size.nodes += 1;
            add(&mut self.size.blocks, block);
        }
        Ok(())
    }

    fn edge(&mut self, label: Label, from: NodeId, to: NodeId) -> Result<(), S::Error> {
        self.size.edges += 1;
        self.sink.edge(self.kind, label, from, to)
    }

    fn registers(&mut self) -> Result<(), S::Error> {
        for (number, root) in self.heap.roots.iter().enumerate() {
            for &(name, word) in &root.registers {
                if let Some(to) = self.heap.blocks.find(word) {
                    let label = Label::Name(self.sink.name(format!("may {name}").as_bytes())?);
                    self.point(label, self.root(number), None, to)?;
                }
            }
        }
        Ok(())
    }

    /// Adds a reference from a root or from a block of that type.
    fn point(
        &mut self,
        label: Label,
        from: NodeId,
        of_type: Option<u32>,
        to: usize,
    ) -> Result<(), S::Error> {
        let is_typed = of_type.is_some_and(|row| {
            let row = self.heap.types.get(row as usize);
            row.is_some_and(|ty| ty.is_known)
        });
        self.large.note(to, is_typed);
        if of_type.is_none() {
            self.reached.reach(to);
        }
        let to = self.block(to);
        self.edge(label, from, to)
    }

    fn memory(&mut self, memory: &mut impl Read) -> Result<(), GraphError<S::Error>> {
        let Heap {
            blocks,
            freed,
            roots,
            parts,
            ..
        } = self.heap;
        let mut gone = Gone::default();
        let mut found = Vec::new();
        for part in parts {
            let Some(root) = roots.get(part.root) else {
                continue;
            };
            let node = self.root(part.root);
            let mut result = Ok(());
            let read = memory.each_piece(*part, &mut |piece, words| {
                found.clear();
                blocks.find_all(words, &mut found);
                let mut rest = &found[..];
                each_stretch(
                    blocks,
                    freed,
                    &mut gone,
                    (piece, words),
                    |what, at, words| {
                        // The words before are free, or across the end of a block.
                        let first = ((at - piece) / 8) as u32;
                        let end = first + words.len() as u32;
                        while let Some((&(number, to), behind)) = rest.split_first()
                            && number < end
                        {
                            rest = behind;
                            let at = piece + 8 * u64::from(number);
                            let to = to as usize;
                            if number >= first && result.is_ok() {
                                let word = words.get((number - first) as usize);
                                result = match what {
                                    Stretch::Block(from) => self.inside(from, at, to),
                                    // No allocator keeps its pointers on a stack.
                                    Stretch::Outside
                                        if root.group == Group::Threads
                                            || word
                                                .is_some_and(|&word| blocks.is_meant(to, word)) =>
                                    {
                                        self.outside(root, node, at, to)
                                    }
                                    Stretch::Outside => Ok(()),
                                };
                            }
                        }
                    },
                );
            });
            result?;
            read.map_err(GraphError::Memory)?;
        }
        Ok(())
    }

    /// A word of a root.
    fn outside(
        &mut self,
        root: &Root,
        node: NodeId,
        at: u64,
        to: usize,
    ) -> Result<(), GraphError<S::Error>> {
        let label = match root.start {
            Some(start) => self.labels.of(at.wrapping_sub(start), self.sink),
            None => Labels::of_place(at, self.sink),
        };
        let label = label.map_err(GraphError::Sink)?;
        self.point(label, node, None, to).map_err(GraphError::Sink)
    }

    /// A word of a block.
    fn inside(&mut self, from: usize, at: u64, to: usize) -> Result<(), GraphError<S::Error>> {
        let Some(block) = self.heap.blocks.get(from) else {
            return Ok(());
        };
        if !self.edges.push(from, to) {
            return Err(GraphError::Many);
        }
        let label = self.labels.of(at - block.start, self.sink);
        let label = label.map_err(GraphError::Sink)?;
        let of_type = Some(block.whose);
        (self.point(label, self.block(from), of_type, to)).map_err(GraphError::Sink)
    }

    /// Adds the unreachable blocks.
    fn unreachable(&mut self) -> Result<(), S::Error> {
        self.reached.follow(&self.edges);
        for index in self.reached.unreached() {
            if let Some(block) = self.heap.blocks.get(index) {
                add(&mut self.size.unreachable, block);
            }
        }
        let label = Label::Name(self.sink.name(b"nobody")?);
        for head in self.reached.heads(&self.edges) {
            let head = self.block(head);
            self.edge(label, UNREACHABLE, head)?;
        }
        Ok(())
    }
}

/// The text that a block begins with; spare room may follow.
fn text_of(block: Block, memory: &mut impl Read) -> Option<Vec<u8>> {
    const LONGEST: u64 = 1 << 10;
    let mut bytes = vec![0; block.size.min(LONGEST) as usize];
    if !memory.bytes(block.start, &mut bytes) {
        return None;
    }
    let end = bytes.iter().position(|&byte| byte == 0);
    bytes.truncate(end.unwrap_or(bytes.len()));
    if let Err(error) = std::str::from_utf8(&bytes) {
        bytes.truncate(error.valid_up_to());
    }
    Some(bytes)
}

fn add([count, bytes]: &mut [u64; 2], block: Block) {
    *count += 1;
    *bytes += block.size;
}
