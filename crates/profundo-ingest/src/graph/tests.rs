//! Heaps that are made of words, whose graphs are known.

use std::collections::BTreeMap;
use std::convert::Infallible;

use profundo_model::graph::{EdgeKindId, Label, NameId, NodeId, NodeKindId, Sink};
use profundo_scan::{Block, Blocks, Freed, Unread};

use super::{GraphError, GraphSize, Group, Heap, Large, Part, Read, Root, Type, write};

/// Keeps the whole graph.
#[derive(Default)]
struct Kept {
    names: Vec<String>,
    nodes: Vec<(NameId, u64, u64)>,
    edges: Vec<(NodeId, Label, NodeId)>,
}

impl Kept {
    fn number(&mut self, text: &[u8]) -> u32 {
        let text = String::from_utf8_lossy(text).into_owned();
        let known = self.names.iter().position(|name| *name == text);
        let number = known.unwrap_or(self.names.len());
        if known.is_none() {
            self.names.push(text);
        }
        number as u32
    }

    /// The references by name, and by address where a name is used several times.
    fn lines(&self) -> Vec<String> {
        let mut counts = BTreeMap::new();
        for (name, ..) in &self.nodes {
            *counts.entry(name).or_insert(0) += 1;
        }
        let shown = |row: NodeId| {
            let (name, id, _) = &self.nodes[row.index()];
            let text = &self.names[name.0 as usize];
            match counts[name] {
                1 => text.clone(),
                _ => format!("{text}@{id:x}"),
            }
        };
        let mut lines: Vec<String> = (self.edges.iter())
            .filter(|(from, ..)| from.0 != 0)
            .map(|(from, label, to)| {
                let Label::Name(label) = label else {
                    panic!("it is named");
                };
                let label = &self.names[label.0 as usize];
                format!("{} -{label}-> {}", shown(*from), shown(*to))
            })
            .collect();
        lines.sort();
        lines
    }

    fn orphans(&self) -> usize {
        let mut has = vec![false; self.nodes.len()];
        self.edges
            .iter()
            .for_each(|edge| has[edge.2.index()] = true);
        has[1..].iter().filter(|has| !**has).count()
    }
}

impl Sink for Kept {
    type Error = Infallible;

    fn node_kind(&mut self, name: &str) -> Result<NodeKindId, Infallible> {
        Ok(NodeKindId(self.number(name.as_bytes())))
    }

    fn edge_kind(&mut self, name: &str) -> Result<EdgeKindId, Infallible> {
        Ok(EdgeKindId(self.number(name.as_bytes())))
    }

    fn name(&mut self, text: &[u8]) -> Result<NameId, Infallible> {
        Ok(NameId(self.number(text)))
    }

    fn content(&mut self, text: &[u8]) -> Result<NameId, Infallible> {
        let text = [b"content: ", text].concat();
        Ok(NameId(self.number(&text)))
    }

    fn node(
        &mut self,
        _: NodeKindId,
        name: NameId,
        id: u64,
        size: u64,
    ) -> Result<NodeId, Infallible> {
        self.nodes.push((name, id, size));
        Ok(NodeId(self.nodes.len() as u32 - 1))
    }

    fn edge(
        &mut self,
        _: EdgeKindId,
        label: Label,
        from: NodeId,
        to: NodeId,
    ) -> Result<(), Infallible> {
        self.edges.push((from, label, to));
        Ok(())
    }
}

/// Memory from this address on.
const BASE: u64 = 0x1_0000;

struct Words(Vec<u64>);

impl Words {
    fn new() -> Self {
        Self(vec![0; 1 << 19])
    }

    fn put(&mut self, at: u64, word: u64) {
        self.0[((at - BASE) / 8) as usize] = word;
    }
}

impl Read for Words {
    fn each_piece(&mut self, part: Part, f: &mut dyn FnMut(u64, &[u64])) -> Result<(), Unread> {
        let (start, end) = part.range;
        let index = |at: u64| ((at - BASE) / 8) as usize;
        let words = self.0.get(index(start)..index(end)).ok_or(Unread::Gone)?;
        for (piece, at) in words.chunks(512).zip((start..).step_by(4096)) {
            f(at, piece);
        }
        Ok(())
    }

    fn bytes(&mut self, address: u64, bytes: &mut [u8]) -> bool {
        for (byte, at) in bytes.iter_mut().zip(address - BASE..) {
            *byte = self.0[(at / 8) as usize].to_ne_bytes()[(at % 8) as usize];
        }
        true
    }
}

fn types() -> Vec<Type> {
    let known = |name: &str, is_known| Type {
        name: name.to_owned(),
        is_known,
        shows_text: name == "String",
    };
    vec![
        known("UnknownType", false),
        known("Vec<Box<u64>>", true),
        known("Box<u64>", true),
        known("Rc<Node>", true),
        known("String", true),
    ]
}

fn block(start: u64, size: u64, whose: u32) -> Block {
    Block { start, size, whose }
}

/// A stack in the first page, data in the second, and the heap behind.
fn written(words: &mut Words, blocks: Vec<Block>, freed: &[Freed]) -> (Kept, GraphSize) {
    let root = |group, name: &str, start, registers| Root {
        group,
        name: name.to_owned(),
        start: Some(start),
        registers,
    };
    let roots = [
        root(Group::Threads, "main", BASE, vec![("rbx", 0x3_0010)]),
        root(Group::Data, "program", BASE + 0x1000, Vec::new()),
        Root {
            start: None,
            ..root(Group::Other, "heap", 0, Vec::new())
        },
    ];
    let part = |root, start, end| Part {
        range: (start, end),
        root,
        is_shared: false,
    };
    let parts = [
        part(0, BASE, BASE + 0x1000),
        part(1, BASE + 0x1000, BASE + 0x2000),
        part(2, BASE + 0x2000, BASE + (8 << 19)),
    ];
    let blocks = Blocks::new(blocks);
    let types = types();
    let heap = Heap {
        blocks: &blocks,
        freed,
        types: &types,
        roots: &roots,
        parts: &parts,
    };
    let mut kept = Kept::default();
    let size = write(heap, words, &mut kept).unwrap();
    assert_eq!(size.nodes, kept.nodes.len() as u64);
    assert_eq!(size.edges, kept.edges.len() as u64);
    assert_eq!(kept.orphans(), 0);
    (kept, size)
}

#[test]
fn each_reference_is_named_by_its_word() {
    let mut words = Words::new();
    let blocks = vec![
        block(0x2_0000, 24, 1),
        block(0x2_0020, 8, 2),
        block(0x2_0040, 8, 2),
        block(0x3_0010, 32, 0),
        block(0x3_0040, 48, 3),
        block(0x3_0080, 48, 3),
        block(0x3_0100, 8, 2),
    ];
    // A Vec on the stack with another reference into it; and a lost cycle with a block below it.
    words.put(BASE + 0x20, 0x2_0000);
    words.put(BASE + 0x1008, 0x2_0008);
    // An allocator refers to free memory like this.
    words.put(BASE + 0x1010, 0x2_0010);
    words.put(BASE + 0x28, 0x2_0010);
    words.put(0x2_0000, 0x2_0020);
    words.put(0x2_0008, 0x2_0040);
    words.put(0x3_0040, 0x3_0080);
    words.put(0x3_0090, 0x3_0048);
    words.put(0x3_0098, 0x3_0100);
    // To itself.
    words.put(0x3_0018, 0x3_0010);
    let (kept, size) = written(&mut words, blocks, &[]);
    assert_eq!(
        kept.lines(),
        [
            "(Data segments) -program-> program",
            "(Other mappings) -heap-> heap",
            "(Threads) -main-> main",
            "(Unreachable) -nobody-> Rc<Node>@30040",
            "Rc<Node>@30040 -may +0-> Rc<Node>@30080",
            "Rc<Node>@30080 -may +16-> Rc<Node>@30040",
            "Rc<Node>@30080 -may +24-> Box<u64>@30100",
            "UnknownType -may +8-> UnknownType",
            "Vec<Box<u64>> -may +0-> Box<u64>@20020",
            "Vec<Box<u64>> -may +8-> Box<u64>@20040",
            "main -may +32-> Vec<Box<u64>>",
            "main -may +40-> Vec<Box<u64>>",
            "main -may rbx-> UnknownType",
            "program -may +8-> Vec<Box<u64>>",
        ]
    );
    assert_eq!(size.blocks, [7, 24 + 8 + 8 + 32 + 48 + 48 + 8]);
    assert_eq!(size.unreachable, [3, 48 + 48 + 8]);
    let sizes: Vec<u64> = kept.nodes.iter().map(|node| node.2).collect();
    assert_eq!(sizes[8..], [24, 8, 8, 32, 48, 48, 8]);
}

#[test]
fn what_lies_free_refers_to_nobody() {
    let mut words = Words::new();
    words.put(0x2_0018, 0x51);
    words.put(0x2_0030, 0x2_0100);
    let freed = [Freed {
        start: 0x2_0020,
        end: 0x2_0060,
        is_doubtful: true,
    }];
    let blocks = || vec![block(0x2_0100, 16, 2)];
    assert_eq!(written(&mut words, blocks(), &freed).1.unreachable, [1, 16]);
    // Without the allocator's head it has another owner.
    words.put(0x2_0018, 0);
    let (kept, size) = written(&mut words, blocks(), &freed);
    assert_eq!(size.unreachable, [0, 0]);
    let line = "heap -may at 0x20030-> Box<u64>".to_owned();
    assert!(kept.lines().contains(&line), "{:?}", kept.lines());
}

#[test]
fn large_blocks_that_only_unknown_words_hold_are_counted() {
    let mut words = Words::new();
    let large = [0x10_0000_u64, 0x20_0000];
    let mut blocks: Vec<_> = large.map(|at| block(at, 1 << 20, 0)).into();
    blocks.extend([block(0x2_0000, 24, 1), block(0x2_0020, 24, 0)]);
    words.put(BASE, large[0]);
    words.put(BASE + 8, large[1] + 5);
    words.put(BASE + 16, 0x2_0000);
    words.put(0x2_0000, large[0] + 800);
    words.put(0x2_0020, large[1]);
    words.put(0x2_0028, 0x2_0000);
    let (_, size) = written(&mut words, blocks, &[]);
    let expected = Large {
        edges: 4,
        untyped: 2,
    };
    assert_eq!(size.large, expected);
}

#[test]
fn text_is_the_name_of_a_block_that_holds_it() {
    let mut words = Words::new();
    let word = |bytes: &[u8; 8]| u64::from_ne_bytes(*bytes);
    words.put(0x2_0000, word(b"some tex"));
    words.put(0x2_0008, word(b"t\0behind"));
    words.put(0x2_0020, word(b"whole\xff\xffx"));
    let blocks = vec![block(0x2_0000, 16, 4), block(0x2_0020, 7, 4)];
    let (kept, _) = written(&mut words, blocks, &[]);
    let names = kept.nodes.iter().rev().take(2);
    let names: Vec<_> = names
        .map(|node| kept.names[node.0.0 as usize].as_str())
        .collect();
    assert_eq!(names, ["content: whole", "content: some text"]);
}

#[test]
fn memory_that_is_gone_is_said() {
    let blocks = Blocks::new([block(0x2_0000, 16, 0)]);
    let parts = [Part {
        range: (BASE, BASE + (16 << 19)),
        root: 0,
        is_shared: false,
    }];
    let roots = [Root {
        group: Group::Other,
        name: String::new(),
        start: None,
        registers: Vec::new(),
    }];
    let heap = Heap {
        blocks: &blocks,
        freed: &[],
        types: &[],
        roots: &roots,
        parts: &parts,
    };
    let outcome = write(heap, &mut Words::new(), &mut Kept::default());
    assert_eq!(outcome, Err(GraphError::Memory(Unread::Gone)));
}
