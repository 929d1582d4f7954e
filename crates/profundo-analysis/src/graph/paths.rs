//! The ways in which objects are held: the shortest path from the root to each, with equal ones
//! grouped.

use profundo_model::graph::{EdgeId, Graph, Label, NodeId};
use rustc_hash::FxHashMap;

use super::{Alive, Dominators, TypeId, Types};

/// The requested objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// All objects of one type.
    Type(TypeId),
    /// The objects of one id: one as a rule.
    Id(u64),
}

/// A step of a path: an object, and the reference that led to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The reference; none leads to the root.
    pub edge: Option<EdgeId>,
    /// The object.
    pub node: NodeId,
}

/// Objects held in the same way: by the same names, from objects of the same types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The path to the one that retains most.
    pub steps: Vec<Step>,
    /// The number of objects.
    pub count: u64,
    /// Their own bytes.
    pub bytes: u64,
    /// The most that one of them retains.
    pub most_retained: u64,
}

/// The paths to the requested objects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Paths {
    /// The paths, the one that holds most objects first.
    pub held: Vec<Held>,
    /// The number of objects.
    pub count: u64,
    /// Objects without a path of strong references.
    pub unreached: u64,
}

/// No reference, no path.
const NONE: u32 = u32::MAX;

/// Finds the shortest paths from the root to objects, by strong references.
pub fn paths(
    graph: &Graph,
    alive: &Alive,
    types: &Types,
    dominators: &Dominators,
    target: Target,
) -> Paths {
    let is_target = |node: NodeId| match target {
        Target::Type(of) => types.of(node) == of,
        Target::Id(id) => graph.id(node) == id,
    };
    let targets: Vec<NodeId> = graph.nodes().filter(|node| is_target(*node)).collect();
    let mut found = Paths {
        count: targets.len() as u64,
        ..Paths::default()
    };
    if targets.is_empty() {
        return found;
    }
    let mut ways = Ways {
        graph,
        types,
        came_by: came_by(graph, alive, &targets),
        numbers: FxHashMap::default(),
        known: FxHashMap::default(),
    };
    let mut groups: FxHashMap<u32, Held> = FxHashMap::default();
    for node in targets {
        if node != graph.root() && ways.came_by[node.index()] == NONE {
            found.unreached += 1;
            continue;
        }
        let way = ways.number(node);
        let retained = dominators.retained(node);
        let held = groups.entry(way).or_insert(Held {
            steps: Vec::new(),
            count: 0,
            bytes: 0,
            most_retained: 0,
        });
        held.count += 1;
        held.bytes = held.bytes.saturating_add(graph.size(node));
        if held.steps.is_empty() || retained > held.most_retained {
            held.most_retained = retained;
            // Only the end is kept for now: a path is long, and there may be many.
            held.steps = vec![Step { edge: None, node }];
        }
    }
    found.held = groups.into_values().collect();
    found.held.sort_by(|a, b| {
        (b.count.cmp(&a.count))
            .then(b.bytes.cmp(&a.bytes))
            .then(a.steps[0].node.cmp(&b.steps[0].node))
    });
    for held in &mut found.held {
        held.steps = ways.steps(held.steps[0].node);
    }
    found
}

/// The holder of what is not collected yet. It may hold what others hold, too: functions that are
/// dead and refer to their module. So nothing is held by it that has another path.
const GARBAGE: &[u8] = b"(Garbage, not collected yet)";

/// By object, the reference that found it in a breadth-first search from the root, until all
/// targets are found.
fn came_by(graph: &Graph, alive: &Alive, wanted: &[NodeId]) -> Vec<u32> {
    let (targets, firsts) = graph.targets();
    let mut left = wanted.len();
    let mut is_wanted = super::alive::Bits::new(graph.node_count());
    for node in wanted {
        is_wanted.set(node.index());
    }
    let mut came_by = vec![NONE; graph.node_count()];
    let mut circle = vec![graph.root().0];
    let mut outer = Vec::new();
    let mut garbage = Vec::new();
    let is_garbage = |node: u32| graph.text(graph.name(NodeId(node))) == GARBAGE;
    while !circle.is_empty() && left > 0 {
        for node in circle.drain(..) {
            left -= usize::from(is_wanted.has(node as usize));
            for edge in firsts[node as usize]..firsts[node as usize + 1] {
                let to = targets[edge as usize];
                if to != graph.root().0 && came_by[to as usize] == NONE && alive.keeps(EdgeId(edge))
                {
                    came_by[to as usize] = edge;
                    match node == graph.root().0 && is_garbage(to) {
                        true => garbage.push(to),
                        false => outer.push(to),
                    }
                }
            }
        }
        std::mem::swap(&mut circle, &mut outer);
        if circle.is_empty() {
            std::mem::swap(&mut circle, &mut garbage);
        }
    }
    came_by
}

/// Equal paths share a number.
struct Ways<'a> {
    graph: &'a Graph,
    types: &'a Types,
    came_by: Vec<u32>,
    /// By the path to the holder, the name of the reference and the type.
    numbers: FxHashMap<(u32, u64, TypeId), u32>,
    known: FxHashMap<u32, u32>,
}

impl Ways<'_> {
    fn steps(&self, node: NodeId) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut node = node;
        loop {
            let edge = match self.came_by[node.index()] {
                NONE => None,
                edge => Some(EdgeId(edge)),
            };
            steps.push(Step { edge, node });
            match edge {
                Some(edge) => node = self.graph.edge_from(edge),
                None => break,
            }
        }
        steps.reverse();
        steps
    }

    fn number(&mut self, node: NodeId) -> u32 {
        let mut unknown = Vec::new();
        let mut at = node;
        let mut number = loop {
            if let Some(number) = self.known.get(&at.0) {
                break *number;
            }
            unknown.push(at);
            match self.came_by[at.index()] {
                NONE => break NONE,
                edge => at = self.graph.edge_from(EdgeId(edge)),
            }
        };
        while let Some(node) = unknown.pop() {
            let label = match self.came_by[node.index()] {
                NONE => 0,
                // All elements of a list are held alike.
                edge => match self.graph.label(EdgeId(edge)) {
                    Label::Name(name) if is_place(self.graph.text(name)) => 1,
                    Label::Name(name) => u64::from(name.0) + 2,
                    Label::Index(_) => 1,
                },
            };
            let next = self.numbers.len() as u32;
            let key = (number, label, self.types.of(node));
            number = *self.numbers.entry(key).or_insert(next);
            self.known.insert(node.0, number);
        }
        number
    }
}

/// Whether a name is only a position: V8 names the entries of its tables by number, and those of
/// weak ones by number, key and value.
fn is_place(name: &[u8]) -> bool {
    let digits = name.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let rest = &name[digits..];
    digits > 0 && (rest.is_empty() || rest.starts_with(b" / part of key "))
}
