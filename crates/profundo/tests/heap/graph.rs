//! A snapshot, read back.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use profundo::heap;
use serde_json::Value;

use crate::folder;

/// An object.
#[derive(Debug)]
pub struct Node {
    pub kind: String,
    pub name: String,
    pub id: u64,
    pub size: u64,
    /// The names of its references, and the rows that they lead to.
    pub edges: Vec<(String, usize)>,
}

/// All objects.
#[derive(Debug)]
pub struct Graph {
    pub nodes: Vec<Node>,
    rows: HashMap<u64, usize>,
    /// The rows referenced by threads, data and other memory.
    held: HashSet<usize>,
}

impl Graph {
    /// A snapshot of the present heap.
    pub fn take() -> Self {
        let folder = folder();
        let path = folder.join("x.heapsnapshot");
        let snapshot = heap::options().to(&path).take().unwrap();
        let graph = Self::read(&path);
        assert_eq!(graph.nodes.len() as u64, snapshot.nodes());
        let edges: usize = graph.nodes.iter().map(|node| node.edges.len()).sum();
        assert_eq!(edges as u64, snapshot.edges());
        assert_eq!(folder.names(), ["x.heapsnapshot"], "the parts are gone");
        graph
    }

    pub fn read(path: &Path) -> Self {
        let value: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let numbers = |name: &str| -> Vec<u64> {
            let all = value[name].as_array().unwrap();
            all.iter().map(|number| number.as_u64().unwrap()).collect()
        };
        let texts = |value: &Value| -> Vec<String> {
            let all = value.as_array().unwrap();
            all.iter()
                .map(|text| text.as_str().unwrap().to_owned())
                .collect()
        };
        let strings = texts(&value["strings"]);
        let kinds = texts(&value["snapshot"]["meta"]["node_types"][0]);
        let edges = numbers("edges");
        let mut edges = edges.chunks(3);
        let mut nodes = Vec::new();
        for row in numbers("nodes").chunks(7) {
            let count = row[4] as usize;
            let own = edges.by_ref().take(count);
            nodes.push(Node {
                kind: kinds[row[0] as usize].clone(),
                name: strings[row[1] as usize].clone(),
                id: row[2],
                size: row[3],
                edges: own
                    .map(|edge| (strings[edge[1] as usize].clone(), edge[2] as usize / 7))
                    .collect(),
            });
        }
        let rows = nodes.iter().enumerate().map(|(row, node)| (node.id, row));
        let mut graph = Self {
            rows: rows.collect(),
            nodes,
            held: HashSet::new(),
        };
        for group in ["(Threads)", "(Data segments)", "(Other mappings)"] {
            let reached = graph.reach(graph.row_named(group));
            graph.held.extend(reached);
        }
        graph
    }

    /// The block at an address, which is passed in a hidden form so that it is not a reference.
    #[track_caller]
    pub fn at(&self, hidden: Hidden) -> &Node {
        let row = self.rows.get(&hidden.address());
        &self.nodes[*row.expect("there is a block")]
    }

    pub fn has(&self, hidden: Hidden) -> bool {
        self.rows.contains_key(&hidden.address())
    }

    /// The targets of a block's words, by the words' positions.
    #[track_caller]
    pub fn edges(&self, hidden: Hidden) -> Vec<(u64, u64)> {
        let edges = self.at(hidden).edges.iter();
        edges
            .map(|(label, to)| {
                let place = label.strip_prefix("may +").expect("it may be one");
                (place.parse().unwrap(), self.nodes[*to].id)
            })
            .collect()
    }

    /// All rows reachable from a row.
    pub fn reach(&self, from: usize) -> HashSet<usize> {
        let mut reached = HashSet::from([from]);
        let mut fresh = vec![from];
        while let Some(row) = fresh.pop() {
            for (_, to) in &self.nodes[row].edges {
                if reached.insert(*to) {
                    fresh.push(*to);
                }
            }
        }
        reached
    }

    fn row_named(&self, name: &str) -> usize {
        let found = self.nodes.iter().position(|node| node.name == name);
        found.unwrap_or_else(|| panic!("no {name}"))
    }

    /// Whether a block is unreachable.
    pub fn is_lost(&self, hidden: Hidden) -> bool {
        !self.held.contains(&self.rows[&hidden.address()])
    }

    /// Whether a block is directly below `(Unreachable)`.
    pub fn is_head(&self, hidden: Hidden) -> bool {
        let row = self.rows[&hidden.address()];
        let unreachable = &self.nodes[self.row_named("(Unreachable)")];
        unreachable.edges.iter().any(|(_, to)| *to == row)
    }

    /// The names of the roots that refer directly to a block, with the words.
    pub fn roots_of(&self, hidden: Hidden) -> Vec<(String, String)> {
        let row = self.rows[&hidden.address()];
        let roots = self.nodes.iter().filter(|node| node.kind == "synthetic");
        roots
            .flat_map(|root| root.edges.iter().map(move |edge| (root, edge)))
            .filter(|(_, (_, to))| *to == row)
            .map(|(root, (label, _))| (root.name.clone(), label.clone()))
            .collect()
    }
}

/// An address in a form that no word of the program shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hidden(pub u64);

impl Hidden {
    pub fn of<T: ?Sized>(place: *const T) -> Self {
        Self(!(place.cast::<u8>() as u64))
    }

    pub fn address(self) -> u64 {
        !self.0
    }
}

/// Overwrites what earlier calls have left on the stack.
#[inline(never)]
pub fn scrub() {
    let mut room = [0_u8; 128 << 10];
    std::hint::black_box(&mut room);
}
