//! The choice of nodes and edges.
//!
//! Where there are too many nodes, those are kept that a reader would miss. A node that only passes
//! calls on, from one caller to one callee, says nothing that these two do not say. So nodes are
//! ranked by their time, weighted by how much is decided in them: by the entropy of their callers
//! and callees. pprof ranks the nodes of its pictures in this way.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use super::{CallEdge, CallGraphOptions};

/// The weights between nodes before anything is left out.
#[derive(Debug, Default)]
pub(super) struct Degrees {
    edges: FxHashMap<(u32, u32), u64>,
}

impl Degrees {
    pub(super) fn add(&mut self, caller: u32, callee: u32, weight: u64) {
        let sum = self.edges.entry((caller, callee)).or_default();
        *sum = sum.saturating_add(weight);
    }

    /// The same with other numbers of nodes.
    pub(super) fn renumbered(&self, numbers: &[u32]) -> Self {
        let number = |node: u32| numbers[node as usize];
        let edges = self.edges.iter();
        Self {
            edges: edges
                .map(|(&(caller, callee), &weight)| ((number(caller), number(callee)), weight))
                .collect(),
        }
    }

    /// The pairs of a caller and a callee.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (u32, u32)> {
        self.edges.keys().copied()
    }

    /// By node, the entropy of its callers, and of its callees and itself, in bits. An entry and a
    /// leaf count as one bit.
    fn entropies(&self, weights: &[(u64, u64)]) -> Vec<f64> {
        let mut sums = vec![[0_u64; 2]; weights.len()];
        for (node, [_, out]) in sums.iter_mut().enumerate() {
            *out = weights[node].0;
        }
        let edges = self.edges.iter().filter(|((a, b), _)| a != b);
        for (&(caller, callee), &weight) in edges.clone() {
            let sum = &mut sums[caller as usize][1];
            *sum = sum.saturating_add(weight);
            let sum = &mut sums[callee as usize][0];
            *sum = sum.saturating_add(weight);
        }
        let part = |weight: u64, sum: u64| {
            let share = weight as f64 / sum.max(1) as f64;
            if share > 0.0 {
                -share * share.log2()
            } else {
                0.0
            }
        };
        let mut entropies = vec![[None::<f64>; 2]; weights.len()];
        for (&(caller, callee), &weight) in edges {
            let out = entropies[caller as usize][1].get_or_insert(0.0);
            *out += part(weight, sums[caller as usize][1]);
            let into = entropies[callee as usize][0].get_or_insert(0.0);
            *into += part(weight, sums[callee as usize][0]);
        }
        (entropies.iter().enumerate())
            .map(|(node, [into, out])| {
                let own = part(weights[node].0, sums[node][1]);
                into.unwrap_or(1.0) + out.map_or(1.0, |out| out + own)
            })
            .collect()
    }
}

/// The kept nodes, the one with the largest total first. `weights` has the own and the total weight
/// of each node. Only those that are near may be kept.
pub(super) fn chosen(
    weights: &[(u64, u64)],
    degrees: &Degrees,
    whole: u64,
    options: &CallGraphOptions,
    is_near: impl Fn(usize) -> bool,
) -> Vec<usize> {
    let least = ((whole as f64 * options.min_share).ceil() as u64).max(1);
    let mut nodes: Vec<usize> = (0..weights.len()).collect();
    nodes.retain(|&node| weights[node].1 >= least && is_near(node));
    if nodes.len() > options.most_nodes {
        let entropies = degrees.entropies(weights);
        let score = |&node: &usize| {
            let (own, total) = weights[node];
            (entropies[node] * total as f64) as u64 + own
        };
        nodes.sort_by_cached_key(|node| (Reverse(score(node)), *node));
        nodes.truncate(options.most_nodes);
    }
    nodes.sort_by_key(|&node| (Reverse(weights[node].1), Reverse(weights[node].0), node));
    nodes
}

/// The edges without bridges that say nothing new: whose callee is reached from the caller by other
/// edges. The lightest bridges are looked at first.
pub(super) fn essential(mut edges: Vec<CallEdge>, nodes: usize) -> Vec<CallEdge> {
    /// Of very many bridges, each search would cost too much.
    const MOST: usize = 2000;
    if edges.len() > MOST {
        return edges;
    }
    let mut row = edges.len();
    while row > 0 {
        row -= 1;
        if edges[row].is_bridge && has_other_way(&edges, row, nodes) {
            edges.remove(row);
        }
    }
    edges
}

/// Whether an edge's callee is reached from its caller without the edge.
fn has_other_way(edges: &[CallEdge], without: usize, nodes: usize) -> bool {
    let (start, end) = (edges[without].caller, edges[without].callee);
    let mut met = vec![false; nodes];
    let mut open = vec![start];
    let mut out = vec![Vec::new(); nodes];
    for (row, edge) in edges.iter().enumerate() {
        if row != without {
            out[edge.caller].push(edge.callee);
        }
    }
    while let Some(node) = open.pop() {
        for &next in &out[node] {
            if next == end {
                return true;
            }
            if !std::mem::replace(&mut met[next], true) {
                open.push(next);
            }
        }
    }
    false
}
