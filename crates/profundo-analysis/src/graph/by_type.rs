//! A row for each type. A type retains the bytes that would go with all of its objects: an object
//! below another one of its type is in that one's bytes already.

use profundo_model::graph::Graph;

use super::{Dominators, TypeId, Types};

/// The objects of one type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypeRow {
    /// The type.
    pub of: TypeId,
    /// The number of its objects that have a size.
    pub count: u64,
    /// Their own bytes.
    pub bytes: u64,
    /// The bytes that would go with all of them.
    pub retained: u64,
}

/// No object.
const NONE: u32 = u32::MAX;

/// A row for each type that has objects with a size, the one that retains most first.
///
/// The rows of all types. Objects without a size of their own do not count, as in DevTools.
pub fn by_type(graph: &Graph, types: &Types, dominators: &Dominators) -> Vec<TypeRow> {
    let mut rows: Vec<TypeRow> = (0..types.len() as u32)
        .map(|number| TypeRow {
            of: TypeId(number),
            count: 0,
            bytes: 0,
            retained: 0,
        })
        .collect();
    let (order, above, retained) = dominators.columns();
    // The objects that each one dominates immediately, as lists.
    let mut first = vec![NONE; order.len()];
    let mut next = vec![NONE; order.len()];
    for number in (1..order.len()).rev() {
        let first = &mut first[above[number] as usize];
        next[number] = std::mem::replace(first, number as u32);
    }
    // By type, the number of its objects on the path from the root.
    let mut inside = vec![0_u32; rows.len()];
    let of = |number: u32| profundo_model::graph::NodeId(order[number as usize]);
    let mut at = 0_u32;
    loop {
        let node = of(at);
        let number = types.of(node).0 as usize;
        let size = graph.size(node);
        if size > 0 {
            let row = &mut rows[number];
            row.count += 1;
            row.bytes = row.bytes.saturating_add(size);
            if inside[number] == 0 {
                row.retained = row.retained.saturating_add(retained[at as usize]);
            }
            inside[number] += 1;
        }
        if first[at as usize] != NONE {
            at = first[at as usize];
            continue;
        }
        // Up, until there is a sibling.
        loop {
            let node = of(at);
            if graph.size(node) > 0 {
                inside[types.of(node).0 as usize] -= 1;
            }
            if at == 0 {
                rows.retain(|row| row.count > 0);
                rows.sort_by(|a, b| {
                    (b.retained.cmp(&a.retained))
                        .then(b.bytes.cmp(&a.bytes))
                        .then_with(|| types.name(a.of).cmp(types.name(b.of)))
                });
                return rows;
            }
            if next[at as usize] != NONE {
                at = next[at as usize];
                break;
            }
            at = above[at as usize];
        }
    }
}
