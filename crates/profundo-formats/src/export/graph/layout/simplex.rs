//! The network simplex method (Gansner, Koutsofios, North and Vo, A Technique for Drawing Directed
//! Graphs, 1993): the ranks with the least sum of lengths of edges, each times its weight. It finds
//! the ranks of nodes, and then the places of all from left to right.
//!
//! A tree of edges of the least length spans the graph and so fixes all ranks. The *cut value* of
//! an edge of the tree is what is won or lost if it grew by one: without it the tree has two parts,
//! and the value is the weight of all edges from its upper part to its lower part, less that of all
//! edges the other way. An edge whose value is negative leaves the tree; the shortest edge that
//! leads back between the parts takes its place, and one part moves by what that one was too long.
//! Where no value is negative, no ranks are better.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// An edge from a rank to one further down.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edge {
    pub upper: u32,
    pub lower: u32,
    pub weight: i64,
    /// The least length.
    pub least: i64,
}

const NONE: u32 = u32::MAX;
/// Makes ranks the best ones. All nodes hang together by the edges, and each edge is long enough.
/// After so many visits of nodes and edges it ends: the ranks are good before they are the best,
/// because the worst edge comes first.
pub(super) fn improve(edges: &[Edge], ranks: &mut [i64], most_work: usize) {
    if ranks.len() < 2 {
        return;
    }
    let mut tree = Tree::new(edges, ranks);
    tree.span();
    tree.weigh();
    while tree.work < most_work {
        let Some(leaving) = tree.leaving() else {
            break;
        };
        let Some(entering) = tree.entering(leaving) else {
            break;
        };
        tree.exchange(leaving, entering);
    }
}

/// The spanning tree.
struct Tree<'a> {
    edges: &'a [Edge],
    ranks: &'a mut [i64],
    /// By node, its edges.
    around: Vec<Vec<u32>>,
    /// By node, its edges in the tree.
    inside: Vec<Vec<u32>>,
    /// The edges of the tree, and by edge its place among them.
    list: Vec<u32>,
    place: Vec<u32>,
    /// By edge, its cut value.
    cuts: Vec<i64>,
    /// By node, the edge towards the root.
    parents: Vec<u32>,
    /// The nodes so that each stands behind those below it in the tree; by node its own place, and
    /// the first one of those below it.
    order: Vec<u32>,
    last: Vec<u32>,
    first: Vec<u32>,
    work: usize,
}

impl<'a> Tree<'a> {
    fn new(edges: &'a [Edge], ranks: &'a mut [i64]) -> Self {
        let nodes = ranks.len();
        let mut around = vec![Vec::new(); nodes];
        for (row, edge) in (0..).zip(edges) {
            around[edge.upper as usize].push(row);
            around[edge.lower as usize].push(row);
        }
        Self {
            edges,
            ranks,
            around,
            inside: vec![Vec::new(); nodes],
            list: Vec::with_capacity(nodes - 1),
            place: vec![NONE; edges.len()],
            cuts: vec![0; edges.len()],
            parents: vec![NONE; nodes],
            order: vec![0; nodes],
            last: vec![0; nodes],
            first: vec![0; nodes],
            work: 0,
        }
    }

    /// The length of an edge beyond the least.
    fn slack(&self, edge: u32) -> i64 {
        let edge = self.edges[edge as usize];
        self.ranks[edge.lower as usize] - self.ranks[edge.upper as usize] - edge.least
    }

    fn other_end(&self, edge: u32, node: u32) -> u32 {
        let edge = self.edges[edge as usize];
        if edge.upper == node {
            edge.lower
        } else {
            edge.upper
        }
    }

    fn join(&mut self, edge: u32) {
        let Edge { upper, lower, .. } = self.edges[edge as usize];
        self.inside[upper as usize].push(edge);
        self.inside[lower as usize].push(edge);
    }

    /// Grows the tree from the first node, by the edge with the least slack each time. All of the
    /// tree moves by that slack; what is outside stays.
    fn span(&mut self) {
        let mut moved = 0_i64;
        let mut is_in = vec![false; self.ranks.len()];
        // By slack, less what the tree moves later on: a move down makes edges to the outside
        // shorter, and those from there longer.
        let mut down: BinaryHeap<Reverse<(i64, u32)>> = BinaryHeap::new();
        let mut up = down.clone();
        let mut node = 0_u32;
        loop {
            is_in[node as usize] = true;
            // The rank of a node of the tree lacks the moves of the tree, until the end.
            self.ranks[node as usize] -= moved;
            let own = self.ranks[node as usize];
            for &row in &self.around[node as usize] {
                let other = self.other_end(row, node);
                if is_in[other as usize] {
                    continue;
                }
                let rank = self.ranks[other as usize];
                let edge = self.edges[row as usize];
                match edge.upper == node {
                    true => down.push(Reverse((rank - own - edge.least, row))),
                    false => up.push(Reverse((own - rank - edge.least, row))),
                }
            }
            for heap in [&mut down, &mut up] {
                while let Some(&Reverse((_, row))) = heap.peek() {
                    let edge = self.edges[row as usize];
                    if !(is_in[edge.upper as usize] && is_in[edge.lower as usize]) {
                        break;
                    }
                    heap.pop();
                }
            }
            let below = down.peek().map(|&Reverse((key, row))| (key - moved, row));
            let above = up.peek().map(|&Reverse((key, row))| (key + moved, row));
            let is_below = match (below, above) {
                (Some(below), Some(above)) => below.0 <= above.0,
                (below, _) => below.is_some(),
            };
            let Some((slack, row)) = (if is_below { below } else { above }) else {
                break;
            };
            moved += if is_below { slack } else { -slack };
            self.place[row as usize] = self.list.len() as u32;
            self.list.push(row);
            self.join(row);
            let edge = self.edges[row as usize];
            node = match is_in[edge.upper as usize] {
                true => edge.lower,
                false => edge.upper,
            };
        }
        for (rank, is_in) in self.ranks.iter_mut().zip(&is_in) {
            *rank += if *is_in { moved } else { 0 };
        }
        self.number(0, NONE, 0);
    }

    /// Numbers a node and those below it in the tree, from `first` on.
    fn number(&mut self, top: u32, parent: u32, first: u32) {
        let mut next = first;
        let mut open: Vec<(u32, usize)> = vec![(top, 0)];
        self.parents[top as usize] = parent;
        self.first[top as usize] = next;
        while let Some((node, at)) = open.last_mut() {
            let node = *node;
            let Some(&row) = self.inside[node as usize].get(*at) else {
                self.last[node as usize] = next;
                self.order[next as usize] = node;
                next += 1;
                open.pop();
                continue;
            };
            *at += 1;
            if row == self.parents[node as usize] {
                continue;
            }
            let below = self.other_end(row, node);
            self.parents[below as usize] = row;
            self.first[below as usize] = next;
            open.push((below, 0));
        }
        self.work += (next - first) as usize;
    }

    /// Computes all cut values. Edges within a part cancel each other, so a part's sum of what goes
    /// out and comes in is that of its nodes.
    fn weigh(&mut self) {
        let mut sums = vec![0_i64; self.ranks.len()];
        for edge in self.edges {
            sums[edge.upper as usize] += edge.weight;
            sums[edge.lower as usize] -= edge.weight;
        }
        for at in 0..self.order.len() {
            let node = self.order[at];
            let row = self.parents[node as usize];
            if row == NONE {
                continue;
            }
            let sum = sums[node as usize];
            let is_upper = self.edges[row as usize].upper == node;
            self.cuts[row as usize] = if is_upper { sum } else { -sum };
            sums[self.other_end(row, node) as usize] += sum;
        }
    }

    /// The edge with the least value, if that is negative.
    fn leaving(&self) -> Option<u32> {
        let least = self.list.iter().min_by_key(|&&row| self.cuts[row as usize]);
        least.copied().filter(|&row| self.cuts[row as usize] < 0)
    }

    /// The lower part of an edge of the tree, as seen from the root: its node, and whether that is
    /// the upper end of the edge.
    fn part(&self, edge: u32) -> (u32, bool) {
        let Edge { upper, lower, .. } = self.edges[edge as usize];
        match self.parents[upper as usize] == edge {
            true => (upper, true),
            false => (lower, false),
        }
    }

    fn is_below(&self, node: u32, top: u32) -> bool {
        let place = self.last[node as usize];
        self.first[top as usize] <= place && place <= self.last[top as usize]
    }

    /// The nodes of the part below `top`, or the others, whichever are fewer; and whether they are
    /// those below.
    fn fewer(&self, top: u32) -> (Vec<u32>, bool) {
        let (first, last) = (
            self.first[top as usize] as usize,
            self.last[top as usize] as usize,
        );
        let count = last - first + 1;
        match 2 * count <= self.order.len() {
            true => (self.order[first..=last].to_vec(), true),
            false => {
                let mut others = self.order[..first].to_vec();
                others.extend_from_slice(&self.order[last + 1..]);
                (others, false)
            }
        }
    }

    /// The shortest edge that leads the other way between the parts of an edge.
    fn entering(&mut self, leaving: u32) -> Option<u32> {
        let (top, is_upper) = self.part(leaving);
        let (nodes, is_lower_part) = self.fewer(top);
        // The edge comes into the upper part.
        let is_into = is_upper == is_lower_part;
        let mut best: Option<(i64, u32)> = None;
        for node in nodes {
            self.work += self.around[node as usize].len();
            for &row in &self.around[node as usize] {
                let edge = self.edges[row as usize];
                let (here, there) = match is_into {
                    true => (edge.lower, edge.upper),
                    false => (edge.upper, edge.lower),
                };
                if here != node || self.is_below(there, top) == is_lower_part {
                    continue;
                }
                let slack = self.slack(row);
                if best.is_none_or(|(least, _)| slack < least) {
                    best = Some((slack, row));
                }
            }
            if best.is_some_and(|(slack, _)| slack == 0) {
                break;
            }
        }
        best.map(|(_, row)| row)
    }

    fn exchange(&mut self, leaving: u32, entering: u32) {
        let (top, is_upper) = self.part(leaving);
        let slack = self.slack(entering);
        if slack > 0 {
            let (nodes, is_lower_part) = self.fewer(top);
            // The upper part moves up, or the lower one down.
            let by = if is_upper == is_lower_part {
                -slack
            } else {
                slack
            };
            self.work += nodes.len();
            for node in nodes {
                self.ranks[node as usize] += by;
            }
        }
        let cut = self.cuts[leaving as usize];
        let Edge { upper, lower, .. } = self.edges[entering as usize];
        let meeting = self.add_up(upper, lower, cut, true);
        self.add_up(lower, upper, cut, false);
        self.cuts[entering as usize] = -cut;
        self.cuts[leaving as usize] = 0;
        let old = self.edges[leaving as usize];
        for node in [old.upper, old.lower] {
            self.inside[node as usize].retain(|&row| row != leaving);
        }
        self.join(entering);
        let place = self.place[leaving as usize];
        self.list[place as usize] = entering;
        (self.place[entering as usize], self.place[leaving as usize]) = (place, NONE);
        self.number(
            meeting,
            self.parents[meeting as usize],
            self.first[meeting as usize],
        );
    }

    /// Changes the values of the edges from a node up to where the path to another one begins, and
    /// returns that node.
    fn add_up(&mut self, from: u32, to: u32, cut: i64, is_first: bool) -> u32 {
        let mut node = from;
        while !self.is_below(to, node) {
            let row = self.parents[node as usize];
            let is_upper = self.edges[row as usize].upper == node;
            let value = &mut self.cuts[row as usize];
            *value += if is_upper == is_first { cut } else { -cut };
            node = self.other_end(row, node);
            self.work += 1;
        }
        node
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum of all lengths, each times its weight.
    fn length(edges: &[Edge], ranks: &[i64]) -> i64 {
        let lengths = edges.iter().map(|edge| {
            let length = ranks[edge.lower as usize] - ranks[edge.upper as usize];
            assert!(length >= 1, "{edge:?} leads up");
            length * edge.weight
        });
        lengths.sum()
    }

    /// The least sum over all ranks up to `most`, by trying all.
    fn least(edges: &[Edge], nodes: usize, most: i64) -> i64 {
        let mut ranks = vec![0; nodes];
        let mut best = i64::MAX;
        loop {
            let is_down = |edge: &Edge| ranks[edge.lower as usize] > ranks[edge.upper as usize];
            if edges.iter().all(is_down) {
                best = best.min(length(edges, &ranks));
            }
            let Some(at) = ranks.iter().position(|&rank| rank < most) else {
                return best;
            };
            ranks[..at].fill(0);
            ranks[at] += 1;
        }
    }

    #[test]
    fn no_ranks_are_better() {
        let mut random = 88_172_645_463_325_252_u64;
        let mut below = move |most: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random % most) as u32
        };
        let mut improved = 0;
        for _ in 0..60 {
            const NODES: u32 = 6;
            // A path holds all together; then edges at will.
            let mut pairs: Vec<(u32, u32)> =
                (1..NODES).map(|to| (below(u64::from(to)), to)).collect();
            pairs.extend((0..4).map(|_| {
                let lower = 1 + below(u64::from(NODES) - 1);
                (below(u64::from(lower)), lower)
            }));
            let edges: Vec<Edge> = (pairs.into_iter())
                .map(|(upper, lower)| Edge {
                    upper,
                    lower,
                    weight: i64::from(below(9)),
                    least: 1,
                })
                .collect();
            // Each in a rank of its own.
            let mut ranks: Vec<i64> = (0..i64::from(NODES)).collect();
            let before = length(&edges, &ranks);
            improve(&edges, &mut ranks, usize::MAX);
            assert_eq!(length(&edges, &ranks), least(&edges, NODES as usize, 5));
            improved += usize::from(length(&edges, &ranks) < before);
        }
        assert!(improved > 30, "{improved}");
    }
}
