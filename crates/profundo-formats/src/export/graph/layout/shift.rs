//! Places from left to right that make edges short: the [`simplex`](super::simplex) method for them
//! as for ranks (Gansner and others, 1993). It begins with places that are balanced and often far
//! apart, and ends with a picture that is narrower.
//!
//! An edge has a node of its own that is at the left of both ends. So the two distances from it add
//! up to what the ends are apart. Neighbours in a rank have an edge without weight that keeps them
//! apart.

use super::layers::Layered;
use super::place::distance;
use super::simplex::{self, Edge};

/// The most visits of nodes and edges: a tenth of a second.
const MOST_WORK: usize = 3_000_000;
/// A larger graph keeps its places.
const MOST_VERTICES: usize = 6_000;

/// Moves vertices so that edges are short, and those between bends shortest of all.
pub(super) fn shift(graph: &Layered, xs: &mut [f64]) {
    let count = xs.len();
    if !(2..=MOST_VERTICES).contains(&count) {
        return;
    }
    let mut places = whole(graph, xs);
    let mut edges = Vec::new();
    for layer in &graph.layers {
        edges.extend(layer.windows(2).map(|pair| Edge {
            upper: pair[0],
            lower: pair[1],
            weight: 0,
            least: apart(graph, pair[0], pair[1]),
        }));
    }
    let is_bend = |vertex: u32| graph.vertices[vertex as usize].is_bend;
    for vertex in 0..count as u32 {
        for &below in graph.below.of(vertex) {
            let weight = match (is_bend(vertex), is_bend(below)) {
                (true, true) => 8,
                (false, false) => 1,
                _ => 2,
            };
            let own = places.len() as u32;
            places.push(places[vertex as usize].min(places[below as usize]));
            edges.extend([vertex, below].map(|end| Edge {
                upper: own,
                lower: end,
                weight,
                least: 0,
            }));
        }
    }
    // All hangs together by what is at the left of every rank.
    let left = places.iter().copied().min().unwrap_or(0);
    let wall = places.len() as u32;
    let firsts = graph.layers.iter().filter_map(|layer| layer.first());
    edges.extend(firsts.map(|&first| Edge {
        upper: wall,
        lower: first,
        weight: 0,
        least: 0,
    }));
    places.push(left);
    simplex::improve(&edges, &mut places, MOST_WORK);
    let edge = |vertex: usize| places[vertex] as f64 - graph.vertices[vertex].width / 2.0;
    let left = (0..count).map(edge).fold(f64::MAX, f64::min);
    for (x, place) in xs.iter_mut().zip(&places) {
        *x = *place as f64 - left;
    }
}

/// The places in whole units, no nearer to each other than is permitted.
fn whole(graph: &Layered, xs: &[f64]) -> Vec<i64> {
    let mut places: Vec<i64> = xs.iter().map(|x| x.round() as i64).collect();
    for layer in &graph.layers {
        for pair in layer.windows(2) {
            let least = places[pair[0] as usize] + apart(graph, pair[0], pair[1]);
            let place = &mut places[pair[1] as usize];
            *place = (*place).max(least);
        }
    }
    places
}

fn apart(graph: &Layered, left: u32, right: u32) -> i64 {
    distance(graph, left, right).ceil() as i64
}
