//! Dominators: an object dominates another one if it lies on every path from the root to it.
//! Dominated objects go with it; it retains its own bytes and theirs.
//!
//! Semi-NCA (Georgiadis, "Linear-time algorithms for dominators and related problems", 2005), on
//! objects numbered in the order of a depth-first walk. With ten million objects nearly all of the
//! time is spent on waiting for the memory, so the walk notes each reference with both numbers, and
//! out-of-order lookups are prefetched in large batches. A plain iteration over dominator sets
//! needs one round for each level of nesting against the order, and a long linked list has a
//! million levels.

use profundo_model::graph::{EdgeId, Graph, NodeId};

use super::alive::{Alive, Bits};

/// No object.
const NONE: u32 = u32::MAX;

/// The dominators of a heap, and the bytes that they retain.
#[derive(Debug, Clone)]
pub struct Dominators {
    /// The number of each object in the order of the walk.
    numbers: Vec<u32>,
    /// The objects in that order; unreachable ones are at the end.
    order: Vec<u32>,
    /// By number: the number of the immediate dominator, which is lower. The root is its own.
    above: Vec<u32>,
    /// By number: the retained bytes.
    retained: Vec<u64>,
    /// The number of objects that a walk from the root has found.
    held: usize,
}

impl Dominators {
    /// The immediate dominator of `node`; the root is its own.
    pub fn above(&self, node: NodeId) -> NodeId {
        NodeId(self.order[self.above[self.numbers[node.index()] as usize] as usize])
    }

    /// The retained bytes of an object, its own among them.
    pub fn retained(&self, node: NodeId) -> u64 {
        self.retained[self.numbers[node.index()] as usize]
    }

    /// Whether a path of strong references leads to it.
    pub fn is_reached(&self, node: NodeId) -> bool {
        (self.numbers[node.index()] as usize) < self.held
    }

    /// The number of objects without such a path.
    pub fn unreached(&self) -> usize {
        self.order.len() - self.held
    }

    /// The objects, each after its dominator.
    pub fn order(&self) -> impl ExactSizeIterator<Item = NodeId> + '_ {
        self.order.iter().map(|node| NodeId(*node))
    }

    pub(super) fn columns(&self) -> (&[u32], &[u32], &[u64]) {
        (&self.order, &self.above, &self.retained)
    }
}

/// Finds the dominators of all objects.
///
/// An object with only weak references to it hangs on the root, and so does one held only by a
/// cycle.
pub fn dominators(graph: &Graph, alive: &Alive) -> Dominators {
    let Walk {
        mut places,
        order,
        parents,
        across,
        held,
    } = Walk::new(graph, alive);
    places.truncate(order.len());
    let numbers = places.iter().map(|place| place.number).collect();
    drop(places);
    let above = immediate(parents, across);
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
        held,
    }
}

/// The walk's data of an object, side by side, because it is read together.
#[derive(Clone, Copy)]
struct Place {
    /// Its first reference.
    first: u32,
    number: u32,
}

/// Objects in the order of a depth-first walk.
struct Walk {
    /// A place for each object, and one more.
    places: Vec<Place>,
    order: Vec<u32>,
    /// By number: the number of the object that it was found from.
    parents: Vec<u32>,
    /// All references but those of the tree.
    across: Across,
    /// The number found from the root.
    held: usize,
}

impl Walk {
    fn new(graph: &Graph, alive: &Alive) -> Self {
        let count = graph.node_count();
        let mut walk = Self {
            places: (graph.targets().1.iter())
                .map(|&first| Place {
                    first,
                    number: NONE,
                })
                .collect(),
            order: Vec::with_capacity(count),
            parents: Vec::with_capacity(count),
            across: Across::new(count),
            held: 0,
        };
        walk.from(graph, alive, graph.root().0);
        walk.held = walk.order.len();
        if walk.order.len() < count {
            let held = held(graph, alive);
            for node in 0..count as u32 {
                if !held.has(node as usize) && walk.places[node as usize].number == NONE {
                    walk.from(graph, alive, node);
                }
            }
        }
        for node in 0..count as u32 {
            if walk.places[node as usize].number == NONE {
                walk.add(node, 0);
            }
        }
        walk
    }

    fn add(&mut self, node: u32, parent: u32) -> u32 {
        let number = self.order.len() as u32;
        self.places[node as usize].number = number;
        self.order.push(node);
        self.parents.push(parent);
        number
    }

    /// Walks from an object below the root.
    ///
    /// All references of an object are looked up when it is found, because the memory loads many
    /// words as fast as one. Objects found before have lower numbers. The others wait; one that is
    /// found already when its turn comes was found from here, and has a higher number.
    fn from(&mut self, graph: &Graph, alive: &Alive, node: u32) {
        let (targets, _) = graph.targets();
        let mut waiting = Vec::new();
        // The objects of the path, with the length of `waiting` below their references.
        let mut way = Vec::new();
        let mut next = Some((node, 0));
        loop {
            if let Some((node, parent)) = next.take() {
                let number = self.add(node, parent);
                way.push((number, waiting.len()));
                let first = self.places[node as usize].first;
                let end = self.places[node as usize + 1].first;
                for edge in first..end {
                    let to = targets[edge as usize];
                    if !alive.keeps(EdgeId(edge)) {
                        continue;
                    }
                    match self.places[to as usize].number {
                        NONE => waiting.push(to),
                        known => self.across.add(known, number),
                    }
                }
            }
            let Some(&(number, below)) = way.last() else {
                break;
            };
            if waiting.len() == below {
                way.pop();
                continue;
            }
            if let Some(to) = waiting.pop() {
                match self.places[to as usize].number {
                    NONE => next = Some((to, number)),
                    known => self.across.add(known, number),
                }
            }
        }
    }
}

/// The numbers in a stretch: their data fits in a near cache.
const STRETCH: usize = 1 << 17;

/// References in stretches by the number of their target, each with the number of its source.
struct Across {
    stretches: Vec<Vec<(u32, u32)>>,
}

impl Across {
    fn new(count: usize) -> Self {
        Self {
            stretches: vec![Vec::new(); count.div_ceil(STRETCH)],
        }
    }

    fn add(&mut self, to: u32, from: u32) {
        self.stretches[to as usize / STRETCH].push((to, from));
    }
}

/// The references of one stretch, by the number of their target.
#[derive(Default)]
struct Sorted {
    firsts: Vec<u32>,
    from: Vec<u32>,
}

impl Sorted {
    fn fill(&mut self, stretch: usize, pairs: &[(u32, u32)]) {
        self.firsts.clear();
        self.firsts.resize(STRETCH + 1, 0);
        self.from.clear();
        self.from.resize(pairs.len(), 0);
        let at = |to: u32| to as usize - stretch * STRETCH;
        for (to, _) in pairs {
            self.firsts[at(*to)] += 1;
        }
        // Counts become end positions, which filling moves to the start.
        let mut end = 0;
        for first in &mut self.firsts {
            end += *first;
            *first = end;
        }
        for (to, from) in pairs {
            let first = &mut self.firsts[at(*to)];
            *first -= 1;
            self.from[*first as usize] = *from;
        }
    }

    /// The range of the references to a number of the stretch.
    fn of(&self, place: usize) -> (usize, usize) {
        (self.firsts[place] as usize, self.firsts[place + 1] as usize)
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

/// An object in the forest of finished ones: its link upwards, and the lowest semidominator on the
/// path there.
#[derive(Clone, Copy)]
struct Link {
    up: u32,
    lowest: u32,
}

/// The number of links fetched in one go: waiting for one at a time takes most of the time there
/// is.
const AHEAD: usize = 2048;

/// By number: the immediate dominators.
fn immediate(parents: Vec<u32>, across: Across) -> Vec<u32> {
    let mut links: Vec<Link> = (parents.iter())
        .map(|&up| Link { up, lowest: up })
        .collect();
    let mut semidominators = parents.clone();
    let mut way = Vec::new();
    let mut sorted = Sorted::default();
    for (stretch, pairs) in across.stretches.into_iter().enumerate().rev() {
        sorted.fill(stretch, &pairs);
        drop(pairs);
        let mut fetched = sorted.from.len();
        let numbers = stretch * STRETCH..parents.len().min((stretch + 1) * STRETCH);
        for number in numbers.rev() {
            let (first, end) = sorted.of(number - stretch * STRETCH);
            if first < fetched && first != end {
                fetched = first.saturating_sub(AHEAD);
                fetch(&links, &sorted.from[fetched..end]);
            }
            let at = number as u32;
            let mut lowest = semidominators[number];
            for from in &sorted.from[first..end] {
                let lowest_there = match *from > at {
                    true => evaluate(&mut links, &mut way, *from, at),
                    false => *from,
                };
                lowest = lowest.min(lowest_there);
            }
            links[number].lowest = lowest;
            semidominators[number] = lowest;
        }
    }
    let mut above = parents;
    for number in 1..above.len() {
        let semidominator = semidominators[number];
        let mut up = above[number];
        while up > semidominator {
            up = above[up as usize];
        }
        above[number] = up;
    }
    above
}

/// Prefetches the next links, all of them at the same time.
fn fetch(links: &[Link], from: &[u32]) {
    let first = from
        .iter()
        .fold(0, |sum, from| sum ^ links[*from as usize].up);
    let up = |at: u32| links[at as usize].up;
    let second = from.iter().fold(0, |sum, from| sum ^ up(up(*from)));
    let third = from.iter().fold(0, |sum, from| sum ^ up(up(up(*from))));
    let fourth = from.iter().fold(0, |sum, from| sum ^ up(up(up(up(*from)))));
    std::hint::black_box(first ^ second ^ third ^ fourth);
}

/// The lowest semidominator on the path up from `from`, among objects above `number`.
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
    // Compresses the path for later queries.
    let Link { up, mut lowest } = links[at as usize];
    while let Some(at) = way.pop() {
        let link = &mut links[at as usize];
        link.up = up;
        lowest = lowest.min(link.lowest);
        link.lowest = lowest;
    }
    lowest
}
