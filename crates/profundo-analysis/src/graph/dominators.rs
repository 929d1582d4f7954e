//! Who dominates whom: an object that lies on every way from the root to another one. What it
//! dominates goes with it; its own bytes and theirs are what it retains.
//!
//! Semi-NCA (Georgiadis, "Linear-time algorithms for dominators and related problems", 2005), on
//! objects numbered in the order of a depth-first walk. In that order a reference to a higher number
//! leads to a descendant, and is done with at once; only those to lower numbers have to be kept and
//! looked up by where they lead. A plain iteration over dominator sets needs one round for each level of
//! nesting against the order, and a long linked list has a million levels.

use profundo_model::graph::{EdgeId, Graph, NodeId};

use super::alive::{Alive, Bits};

/// No object.
const NONE: u32 = u32::MAX;

/// Who dominates whom in a heap, and what that retains.
#[derive(Debug, Clone)]
pub struct Dominators {
    /// The number of each object in the order of the walk.
    numbers: Vec<u32>,
    /// The objects in that order; those that nothing keeps alive are at the end.
    order: Vec<u32>,
    /// By number: the number of the immediate dominator, which is lower. The root is its own.
    above: Vec<u32>,
    /// By number: the bytes that would go with it.
    retained: Vec<u64>,
    /// How many objects the walk has reached.
    reached: usize,
}

impl Dominators {
    /// The object that is nearest to `node` of those on every way to it; the root is its own.
    pub fn above(&self, node: NodeId) -> NodeId {
        NodeId(self.order[self.above[self.numbers[node.index()] as usize] as usize])
    }

    /// The bytes that would go with an object, its own among them.
    pub fn retained(&self, node: NodeId) -> u64 {
        self.retained[self.numbers[node.index()] as usize]
    }

    /// Whether a way leads to it that keeps it alive.
    pub fn is_reached(&self, node: NodeId) -> bool {
        (self.numbers[node.index()] as usize) < self.reached
    }

    /// How many objects no way leads to that keeps them alive.
    pub fn unreached(&self) -> usize {
        self.order.len() - self.reached
    }

    /// The objects so that each comes after what dominates it.
    pub fn order(&self) -> impl ExactSizeIterator<Item = NodeId> + '_ {
        self.order.iter().map(|node| NodeId(*node))
    }

    pub(super) fn columns(&self) -> (&[u32], &[u32], &[u64]) {
        (&self.order, &self.above, &self.retained)
    }

    pub(super) fn number(&self, node: NodeId) -> usize {
        self.numbers[node.index()] as usize
    }
}

/// Finds the dominators of all objects.
///
/// What hangs on nothing but weak references hangs on the root, and so does what is held only by its
/// like in a circle.
pub fn dominators(graph: &Graph, alive: &Alive) -> Dominators {
    let walk = Walk::new(graph, alive);
    let above = immediate(graph, alive, &walk);
    let Walk {
        numbers,
        order,
        reached,
        ..
    } = walk;
    let sizes = graph.size_column();
    let mut retained: Vec<u64> = order.iter().map(|node| sizes[*node as usize]).collect();
    for number in (1..order.len()).rev() {
        let own = retained[number];
        let above = &mut retained[above[number] as usize];
        *above = above.saturating_add(own);
    }
    Dominators {
        numbers,
        order,
        above,
        retained,
        reached,
    }
}

/// Objects in the order of a depth-first walk.
struct Walk {
    numbers: Vec<u32>,
    order: Vec<u32>,
    /// By number: the number of the object that it was found from.
    parents: Vec<u32>,
    reached: usize,
}

impl Walk {
    fn new(graph: &Graph, alive: &Alive) -> Self {
        let count = graph.node_count();
        let mut walk = Self {
            numbers: vec![NONE; count],
            order: Vec::with_capacity(count),
            parents: Vec::with_capacity(count),
            reached: 0,
        };
        let mut seen = Bits::new(count);
        walk.from(graph, alive, &mut seen, graph.root().0, 0);
        if walk.order.len() < count {
            let held = held(graph, alive);
            for node in 0..count as u32 {
                if !held.has(node as usize) && !seen.has(node as usize) {
                    walk.from(graph, alive, &mut seen, node, 0);
                }
            }
        }
        walk.reached = walk.order.len();
        for node in 0..count as u32 {
            if seen.set(node as usize) {
                walk.add(node, 0);
            }
        }
        walk
    }

    fn add(&mut self, node: u32, parent: u32) {
        self.numbers[node as usize] = self.order.len() as u32;
        self.order.push(node);
        self.parents.push(parent);
    }

    fn from(&mut self, graph: &Graph, alive: &Alive, seen: &mut Bits, node: u32, parent: u32) {
        let (targets, firsts) = graph.targets();
        let rows = |node: u32| (firsts[node as usize], firsts[node as usize + 1]);
        seen.set(node as usize);
        self.add(node, parent);
        // The references that are left of each object on the way.
        let (first, end) = rows(node);
        let mut way = vec![(self.numbers[node as usize], first, end)];
        while let Some((number, next, end)) = way.last_mut() {
            if next == end {
                way.pop();
                continue;
            }
            let edge = *next;
            *next += 1;
            let to = targets[edge as usize];
            if !seen.has(to as usize) && alive.keeps(EdgeId(edge)) {
                let number = *number;
                seen.set(to as usize);
                self.add(to, number);
                let (first, end) = rows(to);
                way.push((self.numbers[to as usize], first, end));
            }
        }
    }
}

/// The objects that another one keeps alive.
fn held(graph: &Graph, alive: &Alive) -> Bits {
    let (targets, firsts) = graph.targets();
    let mut held = Bits::new(graph.node_count());
    for node in graph.nodes() {
        for edge in firsts[node.index()]..firsts[node.index() + 1] {
            let to = targets[edge as usize];
            if to != node.0 && alive.keeps(EdgeId(edge)) {
                held.set(to as usize);
            }
        }
    }
    held
}

/// An object in the forest of those that are done: what it hangs on, and the lowest semidominator on
/// the way there.
#[derive(Clone, Copy)]
struct Link {
    up: u32,
    lowest: u32,
}

/// By number: the immediate dominators.
fn immediate(graph: &Graph, alive: &Alive, walk: &Walk) -> Vec<u32> {
    let (mut semidominators, back) = from_above(graph, alive, walk);
    let mut links: Vec<Link> = (walk.parents.iter().zip(&semidominators))
        .map(|(&up, &lowest)| Link { up, lowest })
        .collect();
    let mut way = Vec::new();
    for number in (1..walk.reached).rev() {
        let mut lowest = semidominators[number];
        for from in back.of(number) {
            lowest = lowest.min(evaluate(&mut links, &mut way, *from, number as u32));
        }
        links[number].lowest = lowest;
        semidominators[number] = lowest;
    }
    drop((links, back));
    let mut above = walk.parents.clone();
    for number in 1..walk.reached {
        let semidominator = semidominators[number];
        let mut up = above[number];
        while up > semidominator {
            up = above[up as usize];
        }
        above[number] = up;
    }
    above
}

/// References to lower numbers, by the number that they lead to.
struct Back {
    firsts: Vec<u32>,
    from: Vec<u32>,
}

impl Back {
    fn of(&self, number: usize) -> &[u32] {
        &self.from[self.firsts[number] as usize..self.firsts[number + 1] as usize]
    }
}

/// By number: the lowest number that a reference from a lower one comes from; and the references
/// from higher ones.
fn from_above(graph: &Graph, alive: &Alive, walk: &Walk) -> (Vec<u32>, Back) {
    let count = walk.order.len();
    let mut lowest = walk.parents.clone();
    let mut back = Back {
        firsts: vec![0; count + 1],
        from: Vec::new(),
    };
    each_edge(graph, alive, walk, |from, to| {
        if to < from {
            back.firsts[to as usize] += 1;
        } else {
            let lowest = &mut lowest[to as usize];
            *lowest = from.min(*lowest);
        }
    });
    // Counts become the places behind the last, which filling moves to the first.
    let mut end = 0;
    for first in &mut back.firsts {
        end += *first;
        *first = end;
    }
    back.from = vec![0; end as usize];
    each_edge(graph, alive, walk, |from, to| {
        if to < from {
            let first = &mut back.firsts[to as usize];
            *first -= 1;
            back.from[*first as usize] = from;
        }
    });
    (lowest, back)
}

/// Calls `take` with the numbers that each reference leads from and to.
fn each_edge(graph: &Graph, alive: &Alive, walk: &Walk, mut take: impl FnMut(u32, u32)) {
    let (targets, firsts) = graph.targets();
    for (from, node) in walk.order[..walk.reached].iter().enumerate() {
        for edge in firsts[*node as usize]..firsts[*node as usize + 1] {
            if alive.keeps(EdgeId(edge)) {
                take(from as u32, walk.numbers[targets[edge as usize] as usize]);
            }
        }
    }
}

/// The lowest semidominator on the way up from `from`, as far as objects above `number` go.
fn evaluate(links: &mut [Link], way: &mut Vec<u32>, from: u32, number: u32) -> u32 {
    if links[from as usize].up <= number {
        return links[from as usize].lowest;
    }
    let mut at = from;
    loop {
        way.push(at);
        at = links[at as usize].up;
        if links[at as usize].up <= number {
            break;
        }
    }
    // Shortens the way, for those who come after.
    let Link { up, mut lowest } = links[at as usize];
    while let Some(at) = way.pop() {
        let link = &mut links[at as usize];
        link.up = up;
        lowest = lowest.min(link.lowest);
        link.lowest = lowest;
    }
    lowest
}
