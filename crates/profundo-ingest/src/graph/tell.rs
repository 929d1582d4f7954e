//! One way through the memory, in which all references are told.

use profundo_model::graph::{EdgeKindId, Label, NodeId, Sink};
use profundo_scan::{Block, Edges, Gone, Reached, Stretch, each_stretch};

use super::labels::Labels;
use super::large::Counting;
use super::{GraphSize, Group, Heap, Read, Root, Untold};

const ROOT: NodeId = NodeId(0);
/// The first nodes below the root, in the order of their rows, which begin at 1.
const GROUPS: [&str; 4] = [
    "(Threads)",
    "(Data segments)",
    "(Other mappings)",
    "(Unreachable)",
];
const UNREACHABLE: NodeId = NodeId(4);
/// Where the roots' rows begin.
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

/// Tells a heap.
///
/// A reference is of the kind `internal` and is named by the word that it is, as `may +16`, or by the register.
pub fn tell<S: Sink>(
    heap: Heap<'_>,
    memory: &mut impl Read,
    sink: &mut S,
) -> Result<GraphSize, Untold<S::Error>> {
    let kind = sink.edge_kind("internal").map_err(Untold::Sink)?;
    let mut teller = Teller {
        heap,
        kind,
        labels: Labels::new(),
        reached: Reached::new(heap.blocks.len()),
        edges: Edges::new(),
        large: Counting::default(),
        told: GraphSize::default(),
        sink,
    };
    teller.nodes(memory).map_err(Untold::Sink)?;
    teller.registers().map_err(Untold::Sink)?;
    teller.memory(memory)?;
    teller.unreachable().map_err(Untold::Sink)?;
    teller.told.large = teller.large.counted();
    Ok(teller.told)
}

struct Teller<'a, S> {
    heap: Heap<'a>,
    kind: EdgeKindId,
    labels: Labels,
    reached: Reached,
    edges: Edges,
    large: Counting,
    told: GraphSize,
    sink: &'a mut S,
}

impl<S: Sink> Teller<'_, S> {
    fn root(&self, number: usize) -> NodeId {
        NodeId(FIRST + number as u32)
    }

    fn block(&self, index: usize) -> NodeId {
        NodeId(FIRST + (self.heap.roots.len() + index) as u32)
    }

    /// All nodes, and the references among the first of them.
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
        self.told.nodes = u64::from(FIRST) + self.heap.roots.len() as u64;
        let types = self.heap.types.iter();
        let names = types.map(|it| self.sink.name(it.name.as_bytes()));
        let names: Vec<_> = names.collect::<Result<_, _>>()?;
        for (index, block) in self.heap.blocks.iter().enumerate() {
            self.large.meet(index, block.size);
            let row = block.whose as usize;
            let name = names.get(row).copied().unwrap_or(nothing);
            let shows_text = self.heap.types.get(row).is_some_and(|it| it.shows_text);
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
            self.told.nodes += 1;
            add(&mut self.told.blocks, block);
        }
        Ok(())
    }

    fn edge(&mut self, label: Label, from: NodeId, to: NodeId) -> Result<(), S::Error> {
        self.told.edges += 1;
        self.sink.edge(self.kind, label, from, to)
    }

    fn registers(&mut self) -> Result<(), S::Error> {
        for (number, root) in self.heap.roots.iter().enumerate() {
            for &(name, word) in &root.registers {
                if let Some(to) = self.heap.blocks.find(word) {
                    let label = Label::Name(self.sink.name(format!("may {name}").as_bytes())?);
                    self.point(label, (self.root(number), None), to)?;
                }
            }
        }
        Ok(())
    }

    /// Something may point to a block: a root, or a block of that type.
    fn point(
        &mut self,
        label: Label,
        (from, of_type): (NodeId, Option<u32>),
        to: usize,
    ) -> Result<(), S::Error> {
        let is_typed = of_type.is_some_and(|row| {
            let row = self.heap.types.get(row as usize);
            row.is_some_and(|it| it.is_known)
        });
        self.large.note(to, is_typed);
        if of_type.is_none() {
            self.reached.reach(to);
        }
        let to = self.block(to);
        self.edge(label, from, to)
    }

    fn memory(&mut self, memory: &mut impl Read) -> Result<(), Untold<S::Error>> {
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
                        // What lies before is free, or across the end of a block.
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
                                    // No allocator has its books on a stack.
                                    Stretch::Outside
                                        if root.group == Group::Threads
                                            || word.is_some_and(|&it| blocks.is_meant(to, it)) =>
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
            read.map_err(Untold::Memory)?;
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
    ) -> Result<(), Untold<S::Error>> {
        let label = match root.start {
            Some(start) => self.labels.of(at.wrapping_sub(start), self.sink),
            None => Labels::of_place(at, self.sink),
        };
        let label = label.map_err(Untold::Sink)?;
        self.point(label, (node, None), to).map_err(Untold::Sink)
    }

    /// A word of a block.
    fn inside(&mut self, from: usize, at: u64, to: usize) -> Result<(), Untold<S::Error>> {
        let Some(block) = self.heap.blocks.get(from) else {
            return Ok(());
        };
        if !self.edges.push(from, to) {
            return Err(Untold::Many);
        }
        let label = self.labels.of(at - block.start, self.sink);
        let label = label.map_err(Untold::Sink)?;
        let from = (self.block(from), Some(block.whose));
        self.point(label, from, to).map_err(Untold::Sink)
    }

    /// Hangs what nobody comes to.
    fn unreachable(&mut self) -> Result<(), S::Error> {
        self.reached.follow(&self.edges);
        for index in self.reached.unreached() {
            if let Some(block) = self.heap.blocks.get(index) {
                add(&mut self.told.unreachable, block);
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

/// The text that a block begins with: what is behind it may be room for more.
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
