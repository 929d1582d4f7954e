//! The objects that retain most: in one list, or as the top of the dominator tree.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use profundo_model::graph::{Graph, NodeId};

use super::Dominators;

/// The objects that retain most, largest first, without the synthetic ones of the snapshot's writer
/// (roots and their like).
pub fn biggest(graph: &Graph, dominators: &Dominators, limit: usize) -> Vec<NodeId> {
    let synthetic = graph.kind_names().position(|name| name == "synthetic");
    let mut most = BinaryHeap::with_capacity(limit.min(1 << 16) + 1);
    for node in graph.nodes() {
        if node == graph.root() || Some(graph.kind(node).0 as usize) == synthetic {
            continue;
        }
        let key = Reverse((dominators.retained(node), Reverse(node)));
        if most.len() < limit {
            most.push(key);
        } else if most.peek().is_some_and(|least| key < *least) {
            most.pop();
            most.push(key);
        }
    }
    (most.into_sorted_vec().into_iter())
        .map(|Reverse((_, Reverse(node)))| node)
        .collect()
}

/// An object in the dominator tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Branch {
    /// The object.
    pub node: NodeId,
    /// Its depth below the root.
    pub depth: u32,
    /// The number of objects that it dominates immediately.
    pub children: u64,
    /// The number of those that are not shown.
    pub hidden: u64,
    /// The bytes that these retain.
    pub hidden_bytes: u64,
}

/// The `limit` objects of the dominator tree that retain most, from the root down: below each are
/// those that it dominates, the largest first.
pub fn tree(graph: &Graph, dominators: &Dominators, limit: usize) -> Vec<Branch> {
    let (order, above, retained) = dominators.columns();
    // An object retains no more than its dominator, so the largest ones are a tree.
    let mut most = BinaryHeap::with_capacity(limit.min(1 << 16) + 1);
    for (number, bytes) in retained.iter().enumerate() {
        // A later object of equal size never replaces its dominator.
        let key = Reverse((*bytes, Reverse(number)));
        if most.len() < limit {
            most.push(key);
        } else if most.peek().is_some_and(|least| key < *least) {
            most.pop();
            most.push(key);
        }
    }
    let mut shown: Vec<usize> = most
        .into_iter()
        .map(|Reverse((_, Reverse(at)))| at)
        .collect();
    shown.sort_unstable();
    let place = |number: usize| shown.binary_search(&number).ok();
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); shown.len()];
    let mut branches: Vec<Branch> = (shown.iter())
        .map(|number| Branch {
            node: NodeId(order[*number]),
            depth: 0,
            children: 0,
            hidden: 0,
            hidden_bytes: 0,
        })
        .collect();
    for number in 1..order.len() {
        let Some(holder) = place(above[number] as usize) else {
            continue;
        };
        let branch = &mut branches[holder];
        branch.children += 1;
        match place(number) {
            Some(at) => below[holder].push(at),
            None => {
                branch.hidden += 1;
                branch.hidden_bytes = branch.hidden_bytes.saturating_add(retained[number]);
            }
        }
    }
    let mut rows = Vec::with_capacity(shown.len());
    let mut left = Vec::new();
    if !branches.is_empty() {
        left.push((0, 0));
    }
    while let Some((at, depth)) = left.pop() {
        rows.push(Branch {
            depth,
            ..branches[at]
        });
        let mut children = std::mem::take(&mut below[at]);
        // The last is popped first.
        children.sort_by_key(|at| (retained[shown[*at]], Reverse(*at)));
        left.extend(children.into_iter().map(|at| (at, depth + 1)));
    }
    debug_assert!(rows.iter().all(|row| row.node.index() < graph.node_count()));
    rows
}
