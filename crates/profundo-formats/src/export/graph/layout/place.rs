//! Places from left to right, after Brandes and Köpf (Fast and Simple Horizontal Coordinate
//! Assignment, 2001): each vertex is aligned with a median of its neighbours, so that long edges
//! are straight. That is done from above and from below, from the left and from the right. The mean
//! of the two middle ones of the four places is balanced, and keeps all distances.
//!
//! The aligned vertices are a block, which has one place. Blocks are put as far left as the blocks
//! at their left permit, and then as near to their right neighbours as there is room.

use rustc_hash::FxHashSet;

use super::layers::{Layered, Neighbours};

/// The distance between two nodes, and between a bend and what is beside it.
const NODE_GAP: f64 = 22.0;
const BEND_GAP: f64 = 10.0;

/// The least distance of the centres of two vertices beside each other.
pub(super) fn distance(graph: &Layered, left: u32, right: u32) -> f64 {
    let (left, right) = (
        graph.vertices[left as usize],
        graph.vertices[right as usize],
    );
    let gap = match left.is_bend || right.is_bend {
        true => BEND_GAP,
        false => NODE_GAP,
    };
    (left.width + right.width) / 2.0 + gap
}

/// The centre of each vertex.
pub(super) fn place(graph: &Layered) -> Vec<f64> {
    let positions = graph.positions();
    let conflicts = conflicts(graph, &positions);
    let mut four: Vec<Vec<f64>> = Vec::with_capacity(4);
    for is_downward in [true, false] {
        for is_leftward in [true, false] {
            let side = Side {
                graph,
                positions: &positions,
                conflicts: &conflicts,
                is_downward,
                is_leftward,
            };
            four.push(side.place());
        }
    }
    align(graph, &mut four);
    let mut xs: Vec<f64> = (0..graph.vertices.len())
        .map(|vertex| {
            let mut places = [0, 1, 2, 3].map(|side| four[side][vertex]);
            places.sort_by(f64::total_cmp);
            (places[1] + places[2]) / 2.0
        })
        .collect();
    keep_distances(graph, &mut xs);
    xs
}

/// Edges, by their ends from above, that cross an edge between two bends: those between bends are
/// the ones to be straight.
fn conflicts(graph: &Layered, positions: &[u32]) -> FxHashSet<(u32, u32)> {
    let mut conflicts = FxHashSet::default();
    let is_bend = |vertex: u32| graph.vertices[vertex as usize].is_bend;
    for pair in graph.layers.windows(2) {
        let [upper, lower] = pair else { continue };
        let (mut from, mut next) = (0_u32, 0);
        for (at, &vertex) in lower.iter().enumerate() {
            let bend_above = (graph.above.of(vertex).first())
                .filter(|&&above| is_bend(vertex) && is_bend(above));
            if at + 1 < lower.len() && bend_above.is_none() {
                continue;
            }
            let to = bend_above.map_or(upper.len() as u32, |&above| positions[above as usize]);
            while next <= at {
                let lower = lower[next];
                for &above in graph.above.of(lower) {
                    let place = positions[above as usize];
                    let is_inner = is_bend(lower) && is_bend(above);
                    if !is_inner && (place < from || place > to) {
                        conflicts.insert((above, lower));
                    }
                }
                next += 1;
            }
            from = to;
        }
    }
    conflicts
}

/// One of the four ways to align.
struct Side<'a> {
    graph: &'a Layered,
    positions: &'a [u32],
    conflicts: &'a FxHashSet<(u32, u32)>,
    is_downward: bool,
    is_leftward: bool,
}

impl Side<'_> {
    fn place(&self) -> Vec<f64> {
        let blocks = self.blocks();
        let mut places = self.compact(&blocks);
        if !self.is_leftward {
            for place in &mut places {
                *place = -*place;
            }
        }
        places
    }

    /// A vertex's layer from the side where this way begins.
    fn ordered<'l>(&self, layer: &'l [u32]) -> Box<dyn Iterator<Item = u32> + 'l> {
        match self.is_leftward {
            true => Box::new(layer.iter().copied()),
            false => Box::new(layer.iter().rev().copied()),
        }
    }

    /// The place of a vertex in its layer, counted from the side where this way begins.
    fn rank_of(&self, vertex: u32) -> i64 {
        let position = i64::from(self.positions[vertex as usize]);
        if self.is_leftward {
            position
        } else {
            -position
        }
    }

    /// By vertex, the first vertex of its block.
    fn blocks(&self) -> Vec<u32> {
        let graph = self.graph;
        let neighbours: &Neighbours = match self.is_downward {
            true => &graph.above,
            false => &graph.below,
        };
        let mut roots: Vec<u32> = (0..graph.vertices.len() as u32).collect();
        let mut has_next = vec![false; roots.len()];
        let mut near: Vec<u32> = Vec::new();
        let mut visit = |layer: &[u32]| {
            let mut last = i64::MIN;
            for vertex in self.ordered(layer) {
                near.clear();
                near.extend(neighbours.of(vertex));
                near.sort_by_key(|&one| self.rank_of(one));
                let Some(most) = near.len().checked_sub(1) else {
                    continue;
                };
                for &median in &near[most / 2..=most.div_ceil(2)] {
                    let edge = match self.is_downward {
                        true => (median, vertex),
                        false => (vertex, median),
                    };
                    let place = self.rank_of(median);
                    let is_free = !has_next[median as usize]
                        && last < place
                        && !self.conflicts.contains(&edge);
                    if is_free {
                        has_next[median as usize] = true;
                        roots[vertex as usize] = roots[median as usize];
                        last = place;
                        break;
                    }
                }
            }
        };
        match self.is_downward {
            true => graph.layers.iter().for_each(|layer| visit(layer)),
            false => graph.layers.iter().rev().for_each(|layer| visit(layer)),
        }
        roots
    }

    /// The places of blocks, by vertex.
    fn compact(&self, roots: &[u32]) -> Vec<f64> {
        let graph = self.graph;
        let count = roots.len();
        // The blocks beside each other: left, right, and their distance.
        let mut pairs: Vec<(u32, u32, f64)> = Vec::with_capacity(count);
        for layer in &graph.layers {
            let mut before: Option<u32> = None;
            for vertex in self.ordered(layer) {
                if let Some(before) = before {
                    let apart = match self.is_leftward {
                        true => distance(graph, before, vertex),
                        false => distance(graph, vertex, before),
                    };
                    pairs.push((roots[before as usize], roots[vertex as usize], apart));
                }
                before = Some(vertex);
            }
        }
        let mut starts = vec![0_u32; count + 1];
        let mut missing = vec![0_u32; count];
        for &(left, right, _) in &pairs {
            starts[left as usize + 1] += 1;
            missing[right as usize] += 1;
        }
        for block in 0..count {
            starts[block + 1] += starts[block];
        }
        let mut next = starts.clone();
        let mut sorted = vec![(0_u32, 0.0); pairs.len()];
        for &(left, right, apart) in &pairs {
            sorted[next[left as usize] as usize] = (right, apart);
            next[left as usize] += 1;
        }
        let right_of = |block: u32| {
            let block = block as usize;
            &sorted[starts[block] as usize..starts[block + 1] as usize]
        };
        let is_block = |vertex: &u32| roots[*vertex as usize] == *vertex;
        let mut order: Vec<u32> = (0..count as u32)
            .filter(|vertex| is_block(vertex) && missing[*vertex as usize] == 0)
            .collect();
        let mut places = vec![0.0_f64; count];
        let mut at = 0;
        while at < order.len() {
            let block = order[at];
            let own = places[block as usize];
            at += 1;
            for &(right, apart) in right_of(block) {
                let place = &mut places[right as usize];
                *place = place.max(own + apart);
                missing[right as usize] -= 1;
                if missing[right as usize] == 0 {
                    order.push(right);
                }
            }
        }
        for &block in order.iter().rev() {
            let room = (right_of(block).iter())
                .map(|&(right, apart)| places[right as usize] - apart)
                .min_by(f64::total_cmp);
            if let Some(room) = room {
                let place = &mut places[block as usize];
                *place = place.max(room);
            }
        }
        roots.iter().map(|&root| places[root as usize]).collect()
    }
}

/// Shifts the four to the narrowest one: those from the left by their left ends, the others by
/// their right ends.
fn align(graph: &Layered, four: &mut [Vec<f64>]) {
    let ends = |places: &[f64]| {
        let mut ends = (f64::MAX, f64::MIN);
        for (place, vertex) in places.iter().zip(&graph.vertices) {
            let half = vertex.width / 2.0;
            ends = (ends.0.min(place - half), ends.1.max(place + half));
        }
        ends
    };
    let all: Vec<(f64, f64)> = four.iter().map(|places| ends(places)).collect();
    let narrowest = all.iter().copied();
    let narrowest = narrowest.min_by(|a, b| (a.1 - a.0).total_cmp(&(b.1 - b.0)));
    let Some((left, right)) = narrowest else {
        return;
    };
    for ((places, own), side) in four.iter_mut().zip(all).zip(0..) {
        let shift = if side % 2 == 0 {
            left - own.0
        } else {
            right - own.1
        };
        for place in places {
            *place += shift;
        }
    }
}

/// Makes sure of all distances, against errors of rounding, and moves the left end to 0.
fn keep_distances(graph: &Layered, xs: &mut [f64]) {
    let mut left = f64::MAX;
    for layer in &graph.layers {
        for pair in layer.windows(2) {
            let least = xs[pair[0] as usize] + distance(graph, pair[0], pair[1]);
            xs[pair[1] as usize] = xs[pair[1] as usize].max(least);
        }
        if let Some(&first) = layer.first() {
            left = left.min(xs[first as usize] - graph.vertices[first as usize].width / 2.0);
        }
    }
    for x in xs {
        *x -= left;
    }
}
