//! The graph in layers: nodes, and the bends of edges that go over several ranks.

use super::cycles::Downward;
use super::{Link, Size};

/// The room for a loop of a recursive function, at the right of its box.
pub(super) const LOOP: f64 = 26.0;
/// The width of a bend.
const BEND: f64 = 4.0;

/// A node or a bend.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Vertex {
    pub rank: u32,
    /// With the room for a loop.
    pub width: f64,
    pub height: f64,
    /// Whether it is a bend.
    pub is_bend: bool,
}

/// The graph in layers. Each edge here leads from one rank to the next.
#[derive(Debug)]
pub(super) struct Layered {
    /// The nodes in their order, and then the bends.
    pub vertices: Vec<Vertex>,
    /// By rank, its vertices from left to right.
    pub layers: Vec<Vec<u32>>,
    pub above: Neighbours,
    pub below: Neighbours,
    /// By downward edge, its bends from the upper to the lower end.
    pub bends: Vec<Vec<u32>>,
    /// By downward edge, the number of its bend that has the label.
    pub labels: Vec<Option<usize>>,
}

/// The neighbours of each vertex in the rank above or below.
#[derive(Debug, Default)]
pub(super) struct Neighbours {
    starts: Vec<u32>,
    list: Vec<u32>,
}

impl Neighbours {
    fn new(vertices: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut starts = vec![0_u32; vertices + 1];
        for (of, _) in pairs.clone() {
            starts[of as usize + 1] += 1;
        }
        for vertex in 0..vertices {
            starts[vertex + 1] += starts[vertex];
        }
        let mut next = starts.clone();
        let mut list = vec![0; starts[vertices] as usize];
        for (of, neighbour) in pairs {
            let place = &mut next[of as usize];
            list[*place as usize] = neighbour;
            *place += 1;
        }
        Self { starts, list }
    }

    pub(super) fn of(&self, vertex: u32) -> &[u32] {
        let vertex = vertex as usize;
        &self.list[self.starts[vertex] as usize..self.starts[vertex + 1] as usize]
    }
}

impl Layered {
    pub(super) fn new(sizes: &[Size], links: &[Link], edges: &[Downward], ranks: &[u32]) -> Self {
        // With labels, every other rank is for labels.
        let has_labels = edges.iter().any(|edge| links[edge.link].label.is_some());
        let factor = if has_labels { 2 } else { 1 };
        let mut vertices: Vec<Vertex> = (sizes.iter().zip(ranks))
            .map(|(size, rank)| Vertex {
                rank: rank * factor,
                width: size.width,
                height: size.height,
                is_bend: false,
            })
            .collect();
        for link in links.iter().filter(|link| link.from == link.to) {
            let label = link.label.unwrap_or_default();
            let vertex = &mut vertices[link.from as usize];
            vertex.width += LOOP + label.width;
        }
        let mut bends = Vec::with_capacity(edges.len());
        let mut labels = Vec::with_capacity(edges.len());
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        for edge in edges {
            let (top, bottom) = (
                vertices[edge.upper as usize].rank,
                vertices[edge.lower as usize].rank,
            );
            let label = links[edge.link].label;
            // A rank for labels, near the middle.
            let middle = top + 1 + (bottom - top - 1) / 2 / factor * factor;
            let mut own = Vec::with_capacity((bottom - top) as usize - 1);
            let mut last = edge.upper;
            for rank in top + 1..bottom {
                let size = label.filter(|_| rank == middle).unwrap_or_default();
                let bend = vertices.len() as u32;
                vertices.push(Vertex {
                    rank,
                    width: size.width.max(BEND),
                    height: size.height,
                    is_bend: true,
                });
                pairs.push((last, bend));
                own.push(bend);
                last = bend;
            }
            pairs.push((last, edge.lower));
            labels.push(label.map(|_| (middle - top - 1) as usize));
            bends.push(own);
        }
        let count = vertices.len();
        let reversed = pairs.iter().map(|&(upper, lower)| (lower, upper));
        let mut graph = Self {
            layers: Vec::new(),
            above: Neighbours::new(count, reversed),
            below: Neighbours::new(count, pairs.iter().copied()),
            vertices,
            bends,
            labels,
        };
        graph.layers = graph.first_order();
        graph
    }

    /// The order of a walk from the top, so that what hangs together lies together.
    fn first_order(&self) -> Vec<Vec<u32>> {
        let ranks = self.vertices.iter().map(|vertex| vertex.rank as usize + 1);
        let mut layers = vec![Vec::new(); ranks.max().unwrap_or(0)];
        let mut met = vec![false; self.vertices.len()];
        let mut starts: Vec<u32> = (0..self.vertices.len() as u32).collect();
        starts.sort_by_key(|&vertex| self.vertices[vertex as usize].rank);
        let mut open = Vec::new();
        for start in starts {
            open.push(start);
            while let Some(vertex) = open.pop() {
                if std::mem::replace(&mut met[vertex as usize], true) {
                    continue;
                }
                layers[self.vertices[vertex as usize].rank as usize].push(vertex);
                open.extend(self.below.of(vertex).iter().rev());
            }
        }
        layers
    }

    /// By vertex, its place in its layer.
    pub(super) fn positions(&self) -> Vec<u32> {
        let mut positions = vec![0; self.vertices.len()];
        for layer in &self.layers {
            for (&vertex, position) in layer.iter().zip(0..) {
                positions[vertex as usize] = position;
            }
        }
        positions
    }
}
