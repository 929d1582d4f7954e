//! Orders with few crossings: each layer is sorted by the mean place of its neighbours in the layer
//! before, downward and upward in turn, and then neighbours within a layer are exchanged where that
//! saves crossings. The best order that was met is kept.

use super::layers::{Layered, Neighbours};

/// The sum of edges over all sweeps: larger graphs have fewer sweeps.
const WORK: usize = 600_000;
const MOST_SWEEPS: usize = 24;
/// Sweeps without a better order, after which there will be none.
const PATIENCE: usize = 6;

pub(super) fn reduce_crossings(graph: &mut Layered) {
    let edges: usize = (0..graph.vertices.len() as u32)
        .map(|vertex| graph.below.of(vertex).len())
        .sum();
    let sweeps = (WORK / edges.max(1)).clamp(2, MOST_SWEEPS);
    let exchanges = edges <= 20_000;
    let mut sweeper = Sweeper {
        positions: graph.positions(),
        keys: vec![0.0; graph.vertices.len()],
        scratch: Vec::new(),
        tree: Vec::new(),
    };
    let mut best = (sweeper.crossings(graph), graph.layers.clone());
    let mut since = 0;
    for sweep in 0..sweeps {
        if best.0 == 0 || since >= PATIENCE {
            break;
        }
        sweeper.sweep(graph, sweep % 2 == 0);
        if exchanges {
            sweeper.exchange(graph);
        }
        let crossings = sweeper.crossings(graph);
        since += 1;
        if crossings < best.0 {
            best = (crossings, graph.layers.clone());
            since = 0;
        }
    }
    graph.layers = best.1;
}

struct Sweeper {
    positions: Vec<u32>,
    keys: Vec<f64>,
    scratch: Vec<u32>,
    /// Sums over places, as a Fenwick tree.
    tree: Vec<u32>,
}

impl Sweeper {
    fn sweep(&mut self, graph: &mut Layered, is_downward: bool) {
        let count = graph.layers.len();
        for step in 1..count {
            let (layer, neighbours) = match is_downward {
                true => (step, &graph.above),
                false => (count - 1 - step, &graph.below),
            };
            let mut order = std::mem::take(&mut graph.layers[layer]);
            for &vertex in &order {
                let near = neighbours.of(vertex);
                self.keys[vertex as usize] = match near {
                    // Without a neighbour it stays where it is.
                    [] => f64::from(self.positions[vertex as usize]),
                    [one] => f64::from(self.positions[*one as usize]),
                    _ => {
                        let places = near.iter().map(|&one| self.positions[one as usize]);
                        places.map(f64::from).sum::<f64>() / near.len() as f64
                    }
                };
            }
            order.sort_by(|&a, &b| self.keys[a as usize].total_cmp(&self.keys[b as usize]));
            self.number(&order);
            graph.layers[layer] = order;
        }
    }

    fn number(&mut self, order: &[u32]) {
        for (&vertex, position) in order.iter().zip(0..) {
            self.positions[vertex as usize] = position;
        }
    }

    /// Exchanges neighbours in each layer until nothing is saved.
    fn exchange(&mut self, graph: &mut Layered) {
        const PASSES: usize = 4;
        for _ in 0..PASSES {
            let mut has_saved = false;
            for layer in 0..graph.layers.len() {
                let mut order = std::mem::take(&mut graph.layers[layer]);
                for at in 1..order.len() {
                    let (left, right) = (order[at - 1], order[at]);
                    let (mut now, mut then) = (0, 0);
                    for neighbours in [&graph.above, &graph.below] {
                        let pair = self.crossings_of(neighbours, left, right);
                        now += pair.0;
                        then += pair.1;
                    }
                    if then < now {
                        order.swap(at - 1, at);
                        self.positions[left as usize] = at as u32;
                        self.positions[right as usize] = at as u32 - 1;
                        has_saved = true;
                    }
                }
                graph.layers[layer] = order;
            }
            if !has_saved {
                break;
            }
        }
    }

    /// The crossings of two neighbours' edges, and those after an exchange.
    fn crossings_of(&self, neighbours: &Neighbours, left: u32, right: u32) -> (usize, usize) {
        let (mut now, mut then) = (0, 0);
        for &a in neighbours.of(left) {
            let a = self.positions[a as usize];
            for &b in neighbours.of(right) {
                let b = self.positions[b as usize];
                now += usize::from(a > b);
                then += usize::from(a < b);
            }
        }
        (now, then)
    }

    /// All crossings, each as an inversion among the lower ends.
    fn crossings(&mut self, graph: &Layered) -> usize {
        let mut crossings = 0;
        for (rank, layer) in graph.layers.iter().enumerate() {
            let width = graph.layers.get(rank + 1).map_or(0, Vec::len);
            self.tree.clear();
            self.tree.resize(width + 1, 0);
            let mut met = 0_usize;
            for &vertex in layer {
                let below = graph.below.of(vertex);
                self.scratch.clear();
                (self.scratch).extend(below.iter().map(|&one| self.positions[one as usize]));
                for index in 0..self.scratch.len() {
                    let position = self.scratch[index];
                    crossings += met - self.up_to(position);
                }
                for index in 0..self.scratch.len() {
                    let position = self.scratch[index];
                    self.count(position);
                    met += 1;
                }
            }
        }
        crossings
    }

    /// The number of counted places up to this one.
    fn up_to(&self, position: u32) -> usize {
        let (mut at, mut sum) = (position as usize + 1, 0);
        while at > 0 {
            sum += self.tree[at] as usize;
            at &= at - 1;
        }
        sum
    }

    fn count(&mut self, position: u32) {
        let mut at = position as usize + 1;
        while at < self.tree.len() {
            self.tree[at] += 1;
            at += at & at.wrapping_neg();
        }
    }
}
