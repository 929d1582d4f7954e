//! Ranks: each node below all of its callers, and edges short, the heavy ones first of all.
//!
//! The longest path from an entry gives a first rank. Then nodes, and whole groups of nodes that
//! hang together by edges of length one, move down as far as this shortens more edges than it
//! lengthens. That is the idea of the network simplex method; moving groups one after another comes
//! near to its result in a time that grows with the number of edges only.

use super::cycles::Downward;

/// The rank of each node, from 0.
pub(super) fn ranks(nodes: usize, edges: &[Downward]) -> Vec<u32> {
    let adjacent = Adjacent::new(nodes, edges);
    let mut ranks = longest_paths(nodes, edges, &adjacent);
    let order = by_rank(&ranks);
    for _ in 0..8 {
        let mut has_moved = false;
        // Callees first, so that a chain moves in one pass.
        for &node in order.iter().rev() {
            has_moved |= settle(node, edges, &adjacent, &mut ranks);
        }
        for &node in &order {
            has_moved |= settle(node, edges, &adjacent, &mut ranks);
        }
        if !has_moved {
            break;
        }
    }
    if nodes <= 1000 {
        move_groups(edges, &adjacent, &mut ranks);
    }
    close_gaps(&mut ranks);
    ranks
}

/// The rows of the edges of each node.
struct Adjacent {
    into: Vec<Vec<usize>>,
    out: Vec<Vec<usize>>,
}

impl Adjacent {
    fn new(nodes: usize, edges: &[Downward]) -> Self {
        let mut adjacent = Self {
            into: vec![Vec::new(); nodes],
            out: vec![Vec::new(); nodes],
        };
        for (row, edge) in edges.iter().enumerate() {
            adjacent.out[edge.upper as usize].push(row);
            adjacent.into[edge.lower as usize].push(row);
        }
        adjacent
    }
}

fn longest_paths(nodes: usize, edges: &[Downward], adjacent: &Adjacent) -> Vec<u32> {
    let mut ranks = vec![0; nodes];
    let mut missing: Vec<usize> = adjacent.into.iter().map(Vec::len).collect();
    let mut ready: Vec<usize> = (0..nodes).filter(|&node| missing[node] == 0).collect();
    while let Some(node) = ready.pop() {
        for &row in &adjacent.out[node] {
            let lower = edges[row].lower as usize;
            ranks[lower] = ranks[lower].max(ranks[node] + 1);
            missing[lower] -= 1;
            if missing[lower] == 0 {
                ready.push(lower);
            }
        }
    }
    ranks
}

fn by_rank(ranks: &[u32]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..ranks.len()).collect();
    order.sort_by_key(|&node| ranks[node]);
    order
}

/// Moves a node towards the side where its edges weigh more, as far as there is room. Returns
/// whether it has moved.
fn settle(node: usize, edges: &[Downward], adjacent: &Adjacent, ranks: &mut [u32]) -> bool {
    let (into, out) = (&adjacent.into[node], &adjacent.out[node]);
    let weight = |rows: &[usize]| rows.iter().map(|&row| edges[row].weight).sum::<f64>();
    let (above, below) = (weight(into), weight(out));
    let rank = ranks[node];
    let uppers = into.iter().map(|&row| ranks[edges[row].upper as usize] + 1);
    let lowers = out.iter().map(|&row| ranks[edges[row].lower as usize] - 1);
    let better = if below > above {
        lowers.min().unwrap_or(rank)
    } else if above > below {
        uppers.max().unwrap_or(rank)
    } else {
        rank
    };
    ranks[node] = better;
    better != rank
}

/// Moves groups that hang together by edges of length one, where that shortens more than it
/// lengthens.
fn move_groups(edges: &[Downward], adjacent: &Adjacent, ranks: &mut [u32]) {
    const PASSES: usize = 4;
    for _ in 0..PASSES {
        let mut has_moved = false;
        for start in 0..ranks.len() {
            has_moved |= pull_down(start, edges, adjacent, ranks);
        }
        if !has_moved {
            break;
        }
    }
}

/// Moves a node down with all that it would push, if that is worth it.
fn pull_down(start: usize, edges: &[Downward], adjacent: &Adjacent, ranks: &mut [u32]) -> bool {
    let length = |ranks: &[u32], row: usize| {
        ranks[edges[row].lower as usize] - ranks[edges[row].upper as usize]
    };
    let mut is_in = vec![false; ranks.len()];
    let mut group = vec![start];
    is_in[start] = true;
    let mut next = 0;
    while next < group.len() {
        for &row in &adjacent.out[group[next]] {
            let lower = edges[row].lower as usize;
            if length(ranks, row) == 1 && !std::mem::replace(&mut is_in[lower], true) {
                group.push(lower);
            }
        }
        next += 1;
    }
    let (mut gain, mut room) = (0.0, u32::MAX);
    for &node in &group {
        for &row in &adjacent.out[node] {
            if !is_in[edges[row].lower as usize] {
                gain += edges[row].weight;
                room = room.min(length(ranks, row) - 1);
            }
        }
        for &row in &adjacent.into[node] {
            if !is_in[edges[row].upper as usize] {
                gain -= edges[row].weight;
            }
        }
    }
    let moves = gain > 0.0 && room != u32::MAX && room > 0;
    if moves {
        for node in group {
            ranks[node] += room;
        }
    }
    moves
}

/// Leaves out ranks without a node.
fn close_gaps(ranks: &mut [u32]) {
    let mut used: Vec<u32> = ranks.to_vec();
    used.sort_unstable();
    used.dedup();
    for rank in ranks {
        *rank = used.partition_point(|&used| used < *rank) as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::super::Link;
    use super::super::cycles::{Walk, without_cycles};
    use super::ranks;

    fn ranked(nodes: usize, links: &[(u32, u32, f64)]) -> Vec<u32> {
        let links: Vec<Link> = (links.iter())
            .map(|&(from, to, weight)| Link {
                from,
                to,
                weight,
                label: None,
            })
            .collect();
        let deep = ranks(nodes, &without_cycles(nodes, &links, Walk::Deep));
        let broad = ranks(nodes, &without_cycles(nodes, &links, Walk::Broad));
        assert_eq!(deep, broad);
        deep
    }

    #[test]
    fn callers_are_above() {
        assert_eq!(
            ranked(3, &[(0, 1, 1.0), (1, 2, 1.0), (0, 2, 1.0)]),
            [0, 1, 2]
        );
    }

    #[test]
    fn a_cycle_has_a_first_function() {
        assert_eq!(
            ranked(3, &[(0, 1, 1.0), (1, 2, 2.0), (2, 1, 1.0)]),
            [0, 1, 2]
        );
    }

    #[test]
    fn a_second_entry_is_near_its_callee() {
        let links = [(0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0), (4, 3, 1.0)];
        assert_eq!(ranked(5, &links), [0, 1, 2, 3, 2]);
    }

    #[test]
    fn a_group_moves_as_one() {
        // The entry 5 with its callee 6 hangs on 3 by one edge.
        let links = [
            (0, 1, 1.0),
            (1, 2, 1.0),
            (2, 3, 1.0),
            (5, 6, 1.0),
            (5, 4, 1.0),
            (6, 3, 1.0),
            (4, 3, 1.0),
        ];
        assert_eq!(ranked(7, &links), [0, 1, 2, 3, 2, 1, 2]);
    }
}
