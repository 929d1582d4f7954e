//! Ranks: each node below all of its callers, and edges short, the heavy ones first of all.
//!
//! The longest path from an entry gives a first rank, and nodes move towards the side where their
//! edges weigh more. From there the [`simplex`](super::simplex) method finds the ranks with the
//! shortest edges, and wide ranks are made [`narrow`]er.

mod narrow;

use super::Size;
use super::cycles::Downward;
use super::simplex::{self, Edge};

/// The weight of the heaviest edge; the lightest one has 1. So a heavy edge is kept short, and yet
/// many light ones that are long are not for nothing.
const HEAVIEST: f64 = 20.0;
/// The most visits for the ranks: a third of a second. A thousand functions are done by then.
const MOST_WORK: usize = 6_000_000;

/// The rank of each node, from 0.
pub(super) fn ranks(sizes: &[Size], edges: &[Downward]) -> Vec<u32> {
    let nodes = sizes.len();
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
    let mut ranks = shortest(edges, &adjacent, &ranks);
    close_gaps(&mut ranks);
    narrow::narrow(sizes, edges, &adjacent, &mut ranks);
    close_gaps(&mut ranks);
    ranks
}

/// The ranks with the shortest edges. A node above all entries holds what hangs together by no
/// edge; its own edges have no weight.
fn shortest(edges: &[Downward], adjacent: &Adjacent, ranks: &[u32]) -> Vec<u32> {
    let nodes = ranks.len();
    let heaviest = edges.iter().map(|edge| edge.weight).fold(1.0, f64::max);
    let mut all: Vec<Edge> = (edges.iter())
        .map(|edge| Edge {
            upper: edge.upper,
            lower: edge.lower,
            weight: 1 + ((HEAVIEST - 1.0) * edge.weight / heaviest) as i64,
            least: 1,
        })
        .collect();
    let entries = (0..nodes).filter(|&node| adjacent.into[node].is_empty());
    all.extend(entries.map(|node| Edge {
        upper: nodes as u32,
        lower: node as u32,
        weight: 0,
        least: 1,
    }));
    let mut found: Vec<i64> = ranks.iter().map(|&rank| i64::from(rank)).collect();
    found.push(-1);
    simplex::improve(&all, &mut found, MOST_WORK);
    found.pop();
    let top = found.iter().copied().min().unwrap_or(0);
    found.iter().map(|rank| (rank - top) as u32).collect()
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
    use super::super::cycles::{Walk, without_cycles};
    use super::super::{Link, Size};
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
        let sizes = vec![Size::default(); nodes];
        let deep = ranks(&sizes, &without_cycles(nodes, &links, Walk::Deep));
        let broad = ranks(&sizes, &without_cycles(nodes, &links, Walk::Broad));
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
