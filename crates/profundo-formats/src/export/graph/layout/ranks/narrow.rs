//! Wide ranks made narrower: the shortest edges would put all that a function calls into one rank,
//! and a picture that is ten times as wide as high cannot be read. Nodes of the widest rank move to
//! others where there is room, those first whose edges get the least longer, until the picture has
//! the shape of a screen or nothing is won any more.

use super::super::Size;
use super::super::cycles::Downward;
use super::Adjacent;

/// The width of a picture in its height.
const SHAPE: f64 = 1.7;
/// The room of a node in its rank, of an edge that crosses it, and between two ranks.
const GAP: f64 = 22.0;
const CROSSING: f64 = 14.0;
const BETWEEN: f64 = 60.0;
/// The ranks that a node moves at most.
const FARTHEST: i64 = 4;

/// Moves nodes out of wide ranks.
pub(super) fn narrow(
    sizes: &[Size],
    edges: &[Downward],
    adjacent: &Adjacent,
    ranks: &mut Vec<u32>,
) {
    let mut picture = Picture::new(sizes, edges, adjacent, ranks);
    // A node may move by one rank several times. In a large graph a move takes long.
    let moves = (8 * sizes.len()).min(4_000).max(2 * sizes.len());
    for _ in 0..moves {
        let Some((rank, width)) = picture.widest() else {
            break;
        };
        if width <= SHAPE * picture.height() {
            break;
        }
        let Some((node, to)) = picture.best_move(rank, width) else {
            break;
        };
        picture.put(node, to);
    }
    *ranks = picture.ranks;
}

struct Picture<'a> {
    sizes: &'a [Size],
    edges: &'a [Downward],
    adjacent: &'a Adjacent,
    ranks: Vec<u32>,
    /// By rank, its nodes and its width.
    nodes: Vec<Vec<usize>>,
    widths: Vec<f64>,
    /// The mean height of a rank.
    each: f64,
}

impl<'a> Picture<'a> {
    fn new(
        sizes: &'a [Size],
        edges: &'a [Downward],
        adjacent: &'a Adjacent,
        ranks: &[u32],
    ) -> Self {
        let count = ranks.iter().max().map_or(0, |last| *last as usize + 1);
        let heights = sizes.iter().map(|size| size.height).sum::<f64>();
        let mut picture = Self {
            sizes,
            edges,
            adjacent,
            ranks: ranks.to_vec(),
            nodes: vec![Vec::new(); count],
            widths: vec![0.0; count],
            each: heights / sizes.len().max(1) as f64 + BETWEEN,
        };
        for (node, &rank) in ranks.iter().enumerate() {
            picture.nodes[rank as usize].push(node);
            picture.widths[rank as usize] += picture.width(node);
        }
        for edge in edges {
            let (from, to) = (ranks[edge.upper as usize], ranks[edge.lower as usize]);
            for rank in from + 1..to {
                picture.widths[rank as usize] += CROSSING;
            }
        }
        picture
    }

    fn width(&self, node: usize) -> f64 {
        self.sizes[node].width + GAP
    }

    fn height(&self) -> f64 {
        let used = self.nodes.iter().filter(|nodes| !nodes.is_empty());
        used.count() as f64 * self.each
    }

    fn widest(&self) -> Option<(usize, f64)> {
        let widths = self.widths.iter().copied().enumerate();
        widths.max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// The ranks between which a node may move: below its callers, above its callees.
    fn range(&self, node: usize) -> (i64, i64) {
        let rank = i64::from(self.ranks[node]);
        let of = |node: u32| i64::from(self.ranks[node as usize]);
        let uppers = self.adjacent.into[node].iter();
        let lowers = self.adjacent.out[node].iter();
        let first = uppers.map(|&row| of(self.edges[row].upper) + 1).max();
        let last = lowers.map(|&row| of(self.edges[row].lower) - 1).min();
        (
            first.unwrap_or(0).max(rank - FARTHEST),
            last.unwrap_or(rank + FARTHEST).min(rank + FARTHEST),
        )
    }

    /// The node of a rank, and the rank to which it goes, that make edges the least longer.
    fn best_move(&self, rank: usize, width: f64) -> Option<(usize, usize)> {
        let mut best: Option<(f64, usize, usize)> = None;
        for &node in &self.nodes[rank] {
            let (into, out) = (&self.adjacent.into[node], &self.adjacent.out[node]);
            let (above, below) = (into.len() as f64, out.len() as f64);
            let (first, last) = self.range(node);
            for to in first..=last {
                let far = to - rank as i64;
                // What is left behind, and the ranks on the way, are crossed by its edges.
                let crossed = CROSSING * if far > 0 { above } else { below };
                let there = self.widths.get(to as usize).copied().unwrap_or(0.0) + self.width(node);
                let is_won = far != 0 && crossed < self.width(node) && there < width - GAP;
                if !is_won {
                    continue;
                }
                let longer = far as f64 * (above - below);
                // Of equal ones the wider node.
                let cost = longer - self.width(node) / 1e4;
                if best.is_none_or(|(least, _, _)| cost < least) {
                    best = Some((cost, node, to as usize));
                }
            }
        }
        best.map(|(_, node, to)| (node, to))
    }

    fn put(&mut self, node: usize, to: usize) {
        let from = self.ranks[node] as usize;
        if to >= self.nodes.len() {
            self.nodes.resize(to + 1, Vec::new());
            self.widths.resize(to + 1, 0.0);
        }
        let width = self.width(node);
        self.nodes[from].retain(|&other| other != node);
        self.nodes[to].push(node);
        self.widths[from] -= width;
        self.widths[to] += width;
        self.ranks[node] = to as u32;
        let (above, below) = (
            self.adjacent.into[node].len() as f64,
            self.adjacent.out[node].len() as f64,
        );
        // Edges from above get longer on the way down, and those to below shorter.
        let (range, more) = match to > from {
            true => (from..to, above),
            false => (to + 1..from + 1, below),
        };
        for rank in range {
            self.widths[rank] += CROSSING * more;
        }
        let (range, less) = match to > from {
            true => (from + 1..to + 1, below),
            false => (to..from, above),
        };
        for rank in range {
            self.widths[rank] -= CROSSING * less;
        }
    }
}
