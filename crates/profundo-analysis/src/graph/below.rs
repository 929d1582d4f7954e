//! The dominator tree, one branch at a time: an object, and the objects that it dominates
//! immediately.

use std::cmp::Reverse;

use profundo_model::graph::{Graph, NodeId};
use rustc_hash::FxHashMap;

use super::{Branch, Dominators};

/// An object at depth 0, and below it at depth 1 the objects that it dominates immediately, those
/// that retain most first, at most `limit` of them. Nothing below these is shown.
pub fn below(graph: &Graph, dominators: &Dominators, node: NodeId, limit: usize) -> Vec<Branch> {
    let (order, above, retained) = dominators.columns();
    let is_root = |number: usize| number == 0;
    let Some(place) = order.iter().position(|known| *known == node.0) else {
        return Vec::new();
    };
    let number = place as u32;
    let mut children: Vec<usize> = (0..order.len())
        .filter(|&child| !is_root(child) && above[child] == number)
        .collect();
    children.sort_by_key(|&child| (Reverse(retained[child]), child));
    let (shown, hidden) = children.split_at(limit.min(children.len()));
    let bytes = |sum: u64, child: &usize| sum.saturating_add(retained[*child]);
    let mut rows = vec![Branch {
        node,
        depth: 0,
        children: children.len() as u64,
        hidden: hidden.len() as u64,
        hidden_bytes: hidden.iter().fold(0, bytes),
    }];
    let at: FxHashMap<u32, usize> = (1..)
        .zip(shown)
        .map(|(row, &child)| (child as u32, row))
        .collect();
    rows.extend(shown.iter().map(|&child| Branch {
        node: NodeId(order[child]),
        depth: 1,
        children: 0,
        hidden: 0,
        hidden_bytes: 0,
    }));
    for (child, holder) in above.iter().enumerate() {
        if is_root(child) {
            continue;
        }
        if let Some(&row) = at.get(holder) {
            let branch = &mut rows[row];
            branch.children += 1;
            branch.hidden += 1;
            branch.hidden_bytes = branch.hidden_bytes.saturating_add(retained[child]);
        }
    }
    debug_assert!(rows.iter().all(|row| row.node.index() < graph.node_count()));
    rows
}
