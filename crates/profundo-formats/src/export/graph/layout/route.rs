//! The lines of edges. In the band of a rank a line runs vertically; between two bands it is a
//! curve whose control points lie between the bands too, so the curve never leaves the gap.

use super::cycles::Downward;
use super::layers::{LOOP, Layered};
use super::{ARROW, Layout, Link, Point, Rect, Route, Size, Step};

/// The room between two bands.
const GAP: f64 = 30.0;
/// The same without labels between two ranks of nodes.
const WIDE_GAP: f64 = 52.0;
/// The room between the ends of two edges at one node, where there is enough.
const PORT: f64 = 12.0;
/// The least distance of an edge's end from the corner of its box.
const CORNER: f64 = 8.0;

/// The top and the bottom of each rank.
struct Bands {
    tops: Vec<f64>,
    bottoms: Vec<f64>,
}

impl Bands {
    fn new(graph: &Layered) -> Self {
        let has_labels = graph.labels.iter().any(Option::is_some);
        let gap = if has_labels { GAP } else { WIDE_GAP };
        let (mut tops, mut bottoms) = (Vec::new(), Vec::new());
        let mut y = 0.0;
        for layer in &graph.layers {
            let heights = layer.iter().map(|&one| graph.vertices[one as usize].height);
            let height = heights.fold(0.0, f64::max);
            tops.push(y);
            bottoms.push(y + height);
            y += height + gap;
        }
        Self { tops, bottoms }
    }
}

pub(super) fn route(
    sizes: &[Size],
    links: &[Link],
    edges: &[Downward],
    graph: &Layered,
    xs: &[f64],
) -> Layout {
    let bands = Bands::new(graph);
    let nodes: Vec<Rect> = (sizes.iter().enumerate())
        .map(|(node, size)| {
            let vertex = graph.vertices[node];
            let rank = vertex.rank as usize;
            let middle = (bands.tops[rank] + bands.bottoms[rank]) / 2.0;
            Rect {
                // The room for a loop is at the right.
                x: xs[node] - vertex.width / 2.0,
                y: middle - size.height / 2.0,
                width: size.width,
                height: size.height,
            }
        })
        .collect();
    let (starts, ends) = ports(edges, graph, &nodes, xs);
    let mut routes = vec![Route::default(); links.len()];
    for (row, edge) in edges.iter().enumerate() {
        let line = Line {
            edge,
            upper: nodes[edge.upper as usize],
            lower: nodes[edge.lower as usize],
            start: starts[row],
            end: ends[row],
        };
        let mut route = line.route(graph, &bands, &graph.bends[row], xs);
        route.label = graph.labels[row].map(|bend| {
            let vertex = graph.bends[row][bend];
            let place = xs[vertex as usize];
            let vertex = graph.vertices[vertex as usize];
            let rank = vertex.rank as usize;
            let middle = (bands.tops[rank] + bands.bottoms[rank]) / 2.0;
            Rect {
                x: place - vertex.width / 2.0,
                y: middle - vertex.height / 2.0,
                width: vertex.width,
                height: vertex.height,
            }
        });
        routes[edge.link] = route;
    }
    for (route, link) in routes.iter_mut().zip(links) {
        if link.from == link.to {
            *route = own_loop(nodes[link.from as usize], link.label);
        }
    }
    let right = (graph.vertices.iter().zip(xs)).map(|(vertex, x)| x + vertex.width / 2.0);
    Layout {
        size: Size {
            width: right.fold(0.0, f64::max),
            height: bands.bottoms.last().copied().unwrap_or(0.0),
        },
        nodes,
        routes,
    }
}

/// The places at which edges leave their upper ends, and reach their lower ends.
fn ports(edges: &[Downward], graph: &Layered, nodes: &[Rect], xs: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let mut out: Vec<Vec<(f64, usize)>> = vec![Vec::new(); nodes.len()];
    let mut into: Vec<Vec<(f64, usize)>> = vec![Vec::new(); nodes.len()];
    for (row, edge) in edges.iter().enumerate() {
        let bends = &graph.bends[row];
        let place = |bend: Option<&u32>, node: u32| match bend {
            Some(&bend) => xs[bend as usize],
            None => nodes[node as usize].centre(),
        };
        out[edge.upper as usize].push((place(bends.first(), edge.lower), row));
        into[edge.lower as usize].push((place(bends.last(), edge.upper), row));
    }
    let mut starts = vec![0.0; edges.len()];
    let mut ends = vec![0.0; edges.len()];
    for (node, rect) in nodes.iter().enumerate() {
        spread(*rect, &mut out[node], &mut starts);
        spread(*rect, &mut into[node], &mut ends);
    }
    (starts, ends)
}

/// Gives edges their places at one side of a box: towards their next bend, in its order, and apart.
fn spread(rect: Rect, wanted: &mut [(f64, usize)], places: &mut [f64]) {
    wanted.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let corner = CORNER.min(rect.width / 4.0);
    let (left, right) = (rect.x + corner, rect.right() - corner);
    let gaps = wanted.len().saturating_sub(1) as f64;
    let apart = PORT.min((right - left) / gaps.max(1.0));
    let mut least = left;
    for (place, row) in wanted.iter() {
        places[*row] = place.clamp(left, right).max(least);
        least = places[*row] + apart;
    }
    // Back from the right end, for those that were pushed beyond it.
    let mut most = right;
    for (_, row) in wanted.iter().rev() {
        places[*row] = places[*row].min(most);
        most = places[*row] - apart;
    }
}

/// An edge with its ends.
struct Line<'a> {
    edge: &'a Downward,
    upper: Rect,
    lower: Rect,
    start: f64,
    end: f64,
}

impl Line<'_> {
    fn route(&self, graph: &Layered, bands: &Bands, bends: &[u32], xs: &[f64]) -> Route {
        let (top, bottom) = (
            graph.vertices[self.edge.upper as usize].rank as usize,
            graph.vertices[self.edge.lower as usize].rank as usize,
        );
        // The places in each band, and the ends of the vertical line there.
        let mut x = self.start;
        let mut y = bands.bottoms[top];
        let mut steps = Vec::with_capacity(2 * bends.len() + 3);
        let at_top = Point {
            x,
            y: self.upper.bottom(),
        };
        // An arrow at the upper end needs room above the first curve.
        let start = match self.edge.is_turned {
            true => {
                y = y.max(at_top.y + ARROW);
                Point {
                    x,
                    y: at_top.y + ARROW,
                }
            }
            false => at_top,
        };
        push_line(&mut steps, start, Point { x, y });
        for (&bend, rank) in bends.iter().zip(top + 1..) {
            let next = xs[bend as usize];
            let entry = bands.tops[rank];
            push_curve(&mut steps, Point { x, y }, Point { x: next, y: entry });
            (x, y) = (next, bands.bottoms[rank]);
            push_line(&mut steps, Point { x, y: entry }, Point { x, y });
        }
        let at_bottom = Point {
            x: self.end,
            y: self.lower.y,
        };
        let end = match self.edge.is_turned {
            true => at_bottom,
            false => Point {
                x: self.end,
                y: at_bottom.y - ARROW,
            },
        };
        let entry = bands.tops[bottom].min(end.y);
        push_curve(
            &mut steps,
            Point { x, y },
            Point {
                x: self.end,
                y: entry,
            },
        );
        push_line(
            &mut steps,
            Point {
                x: self.end,
                y: entry,
            },
            end,
        );
        let mut route = Route {
            start,
            steps,
            tip: at_bottom,
            label: None,
        };
        if self.edge.is_turned {
            route.tip = at_top;
        }
        route
    }
}

fn push_line(steps: &mut Vec<Step>, from: Point, to: Point) {
    if from == to {
        return;
    }
    // Vertical lines after one another are one.
    if let Some(Step::Line(last)) = steps.last_mut()
        && last.x == to.x
    {
        *last = to;
        return;
    }
    steps.push(Step::Line(to));
}

/// A curve from one band to the next, vertical at its ends.
fn push_curve(steps: &mut Vec<Step>, from: Point, to: Point) {
    if from.x == to.x {
        return push_line(steps, from, to);
    }
    let middle = (from.y + to.y) / 2.0;
    steps.push(Step::Curve(
        Point {
            x: from.x,
            y: middle,
        },
        Point { x: to.x, y: middle },
        to,
    ));
}

/// The line of a function that calls itself, at the right of its box.
fn own_loop(rect: Rect, label: Option<Size>) -> Route {
    let middle = rect.y + rect.height / 2.0;
    let reach = (rect.height / 4.0).min(10.0);
    let start = Point {
        x: rect.right(),
        y: middle - reach,
    };
    let tip = Point {
        x: rect.right(),
        y: middle + reach,
    };
    let end = Point {
        x: tip.x + ARROW,
        y: tip.y,
    };
    // A curve comes three quarters of the way to its control points.
    let out = rect.right() + LOOP;
    Route {
        start,
        steps: vec![Step::Curve(
            Point {
                x: out,
                y: start.y - 4.0,
            },
            Point {
                x: out,
                y: end.y + 2.0,
            },
            end,
        )],
        tip,
        label: label.map(|size| Rect {
            x: rect.right() + LOOP - 2.0,
            y: middle - size.height / 2.0,
            width: size.width,
            height: size.height,
        }),
    }
}
