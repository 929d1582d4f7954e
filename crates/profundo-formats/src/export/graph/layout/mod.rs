//! A layered layout of a directed graph, after Sugiyama: callers above their callees.
//!
//! 1. Edges that close a cycle are turned ([`cycles`]).
//! 2. Each node gets a rank below all of its callers ([`ranks`]).
//! 3. An edge over several ranks gets a *bend* in each rank between ([`layers`]). A label is a bend
//!    as wide as its text, in a rank of its own.
//! 4. Nodes and bends of a rank are put in an order with few crossings ([`order`]).
//! 5. They get their places from left to right, after Brandes and Köpf ([`place`]).
//! 6. They move together, so that edges are short and the picture is narrow ([`shift`]).
//! 7. Edges are drawn through their bends ([`route`]).
//!
//! An edge cannot run through a node. Each rank is a band, and a bend has a place in it like a
//! node. Within a band, edges run vertically at their bends. Between bands, where there are no
//! nodes, they are curves whose control points lie between the bands as well.

mod cycles;
mod layers;
mod order;
mod place;
mod ranks;
mod route;
mod shift;
mod simplex;

#[cfg(test)]
mod tests;

use cycles::{Downward, Walk};

/// A point of the picture, from the left and from the top.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Point {
    pub x: f64,
    pub y: f64,
}

/// A width and a height.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Size {
    pub width: f64,
    pub height: f64,
}

/// A rectangle by its upper left corner.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Rect {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

impl Rect {
    pub(crate) fn right(self) -> f64 {
        self.x + self.width
    }

    pub(crate) fn bottom(self) -> f64 {
        self.y + self.height
    }

    pub(crate) fn centre(self) -> f64 {
        self.x + self.width / 2.0
    }
}

/// An edge to be drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Link {
    pub from: u32,
    pub to: u32,
    /// The heavier an edge, the more it is worth to keep it short.
    pub weight: f64,
    /// The size of its label, if it has one.
    pub label: Option<Size>,
}

/// A part of an edge's line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Step {
    Line(Point),
    /// Two control points, and the end.
    Curve(Point, Point, Point),
}

/// The line of an edge. It has no steps if it was left out of a graph that has too many long ones.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Route {
    pub start: Point,
    pub steps: Vec<Step>,
    /// The tip of the arrow. The line ends before it.
    pub tip: Point,
    pub label: Option<Rect>,
}

/// The layout: a rectangle for each node, and a line for each edge.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Layout {
    pub nodes: Vec<Rect>,
    pub routes: Vec<Route>,
    pub size: Size,
}

/// With more bends than this, the heaviest edges are drawn: a layout takes less than a second.
const MOST_BENDS: usize = 60_000;

/// The length of an arrow.
pub(crate) const ARROW: f64 = 8.0;

/// Lays out a graph. An edge names its nodes by their rows in `sizes`.
pub(crate) fn layout(sizes: &[Size], links: &[Link]) -> Layout {
    let (mut edges, ranks) = ranked(sizes, links);
    keep_affordable(&mut edges, &ranks);
    let mut graph = layers::Layered::new(sizes, links, &edges, &ranks);
    order::reduce_crossings(&mut graph);
    let mut xs = place::place(&graph);
    shift::shift(&graph, &mut xs);
    route::route(sizes, links, &edges, &graph, &xs)
}

/// The edges without cycles, and ranks. Where code is recursive by way of many functions, a deep
/// walk makes a chain of all of these, and a broad walk turns more edges: what gives the shorter
/// edges is better to read.
fn ranked(sizes: &[Size], links: &[Link]) -> (Vec<Downward>, Vec<u32>) {
    /// An arrow that leads up is as bad as one that is so much longer.
    const TURNED: usize = 3;
    let nodes = sizes.len();
    let deep = cycles::without_cycles(nodes, links, Walk::Deep);
    if deep.iter().all(|edge| !edge.is_turned) {
        let ranks = ranks::ranks(sizes, &deep);
        return (deep, ranks);
    }
    let broad = cycles::without_cycles(nodes, links, Walk::Broad);
    let cost = |edges: &[Downward], ranks: &[u32]| {
        let turned = edges.iter().filter(|edge| edge.is_turned).count();
        bends(edges, ranks) + TURNED * turned
    };
    let both = [deep, broad].map(|edges| {
        let ranks = ranks::ranks(sizes, &edges);
        (cost(&edges, &ranks), edges, ranks)
    });
    let [deep, broad] = both;
    let (_, edges, ranks) = if broad.0 < deep.0 { broad } else { deep };
    (edges, ranks)
}

/// The number of bends: the work grows with it.
fn bends(edges: &[Downward], ranks: &[u32]) -> usize {
    edges.iter().map(|edge| edge.bends(ranks)).sum()
}

/// Leaves out light and long edges, where all would have too many bends together.
fn keep_affordable(edges: &mut Vec<Downward>, ranks: &[u32]) {
    if bends(edges, ranks) <= MOST_BENDS {
        return;
    }
    let worth = |edge: &Downward| edge.weight / (edge.bends(ranks) + 1) as f64;
    edges.sort_by(|a, b| worth(b).total_cmp(&worth(a)).then(a.link.cmp(&b.link)));
    let mut left = MOST_BENDS;
    edges.retain(|edge| match left.checked_sub(edge.bends(ranks)) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    });
}
