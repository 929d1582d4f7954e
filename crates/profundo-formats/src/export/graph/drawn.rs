//! The graph with places: boxes with their text, and arrows with their lines and labels. A file
//! and a page draw the same.

use std::fmt::Write as _;

use profundo_analysis::{CallGraph, CallNode, Selection};
use profundo_model::Profile;

use super::super::Options;
use super::super::text::shortened;
use super::layout::{Link, Point, Rect, Route, Size, Step, layout};
use super::source::Source;

/// The width of a letter, in parts of the size of the font.
const PART: f64 = 0.61;
/// The sizes of fonts: of names without own share and with the largest one, and of all else.
pub(super) const SMALLEST: f64 = 11.0;
const LARGEST: f64 = 22.0;
pub(super) const SMALL: f64 = 10.0;
/// The letters of a name or a path in a box. The whole one is in the details.
const NAME: usize = 34;
const PLACE: usize = 38;
/// With more arrows than this, they have no labels.
const LABELS: usize = 400;

/// A graph with places, see the module.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawn {
    /// The graph.
    pub graph: CallGraph,
    /// By node, its box.
    pub cards: Vec<Card>,
    /// By edge, its arrow; `None` for one that is too long to be drawn.
    pub arrows: Vec<Option<Arrow>>,
    /// The width and the height of all.
    pub size: (f64, f64),
    /// What the graph shows of the whole, in a sentence.
    pub coverage: String,
    /// The unit of weights: `time`, `bytes`, `blocks`, `calls` or `samples`.
    pub unit: &'static str,
}

/// The box of a node.
#[derive(Debug, Clone, PartialEq)]
pub struct Card {
    /// The size of the name's font: the larger, the larger the node's own share.
    pub font: f64,
    /// The name, as far as there is room.
    pub name: String,
    /// The file and the line, as far as there is room; may be empty.
    pub place: String,
    /// The own share and the share with callees.
    pub figures: String,
    /// The left, the top, the width and the height.
    pub area: [f64; 4],
}

/// The arrow of an edge.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Arrow {
    /// The line, as the commands of a path of SVG.
    pub line: String,
    /// The width of the line.
    pub width: f64,
    /// The points of the tip.
    pub tip: String,
    /// The share, as far as arrows have labels.
    pub label: String,
    /// The area of the label.
    pub label_area: Option<[f64; 4]>,
}

/// The graph of a selection, with places.
pub fn drawn(profile: &Profile, selection: &Selection, options: &Options) -> Drawn {
    let mut source = Source::new(profile, selection, options);
    let (cards, arrows, size) = places(&source);
    let undrawn = arrows.iter().filter(|arrow| arrow.is_none()).count();
    Drawn {
        cards,
        arrows,
        size,
        coverage: source.coverage(undrawn),
        unit: source.unit_name(),
        graph: std::mem::take(&mut source.graph),
    }
}

/// The boxes, the arrows and the size of all.
pub(super) fn places(source: &Source) -> (Vec<Card>, Vec<Option<Arrow>>, (f64, f64)) {
    let graph = &source.graph;
    let largest = graph.nodes.iter().map(|node| node.own.weight).max();
    let mut cards: Vec<Card> = (graph.nodes.iter())
        .map(|node| Card::new(source, node, largest.unwrap_or(0)))
        .collect();
    let sizes: Vec<Size> = (cards.iter())
        .map(|card| Size {
            width: card.area[2],
            height: card.area[3],
        })
        .collect();
    let labels: Vec<String> = (graph.edges.iter())
        .map(|edge| match graph.edges.len() <= LABELS {
            true => source.edge_label(edge),
            false => String::new(),
        })
        .collect();
    let links: Vec<Link> = (graph.edges.iter().zip(&labels))
        .map(|(edge, label)| Link {
            from: edge.caller as u32,
            to: edge.callee as u32,
            weight: edge.amount.weight.max(1) as f64,
            label: (!label.is_empty()).then(|| Size {
                width: label.chars().count() as f64 * SMALL * PART + 4.0,
                height: SMALL + 3.0,
            }),
        })
        .collect();
    let layout = layout(&sizes, &links);
    for (card, rect) in cards.iter_mut().zip(&layout.nodes) {
        card.area = area(*rect);
    }
    let arrows =
        (layout.routes.iter().zip(labels).zip(&graph.edges)).map(|((route, label), edge)| {
            let share = edge.amount.weight as f64 / graph.whole.max(1) as f64;
            (!route.steps.is_empty()).then(|| Arrow {
                line: path(route),
                width: 0.8 + 5.0 * share.sqrt() * share.sqrt().max(0.2),
                tip: tip(route, share),
                label_area: route.label.map(area),
                label,
            })
        });
    (
        cards,
        arrows.collect(),
        (layout.size.width, layout.size.height),
    )
}

impl Card {
    fn new(source: &Source, node: &CallNode, largest: u64) -> Self {
        let part = node.own.weight as f64 / largest.max(1) as f64;
        let font = SMALLEST + (LARGEST - SMALLEST) * part.sqrt();
        let name = shortened(&node.name, NAME);
        let place = shortened(Source::short_place(&Source::place(node)), PLACE);
        let figures = source.figures(node);
        let width = |text: &str, font: f64| text.chars().count() as f64 * font * PART;
        let widest = width(&name, font)
            .max(width(&place, SMALL))
            .max(width(&figures, SMALLEST));
        let lines = if place.is_empty() { 0.0 } else { SMALL + 3.0 };
        let size = [
            (widest + 22.0).ceil(),
            (font + lines + SMALLEST + 16.0).ceil(),
        ];
        Self {
            font,
            name,
            place,
            figures,
            area: [0.0, 0.0, size[0], size[1]],
        }
    }
}

fn area(rect: Rect) -> [f64; 4] {
    [rect.x, rect.y, rect.width, rect.height]
}

fn path(route: &Route) -> String {
    let at = |point: Point| format!("{:.1} {:.1}", point.x, point.y);
    let mut text = format!("M{}", at(route.start));
    for step in &route.steps {
        let _ = match *step {
            Step::Line(to) => write!(text, "L{}", at(to)),
            Step::Curve(a, b, to) => write!(text, "C{} {} {}", at(a), at(b), at(to)),
        };
    }
    text
}

/// The head of an arrow: from the end of its line to its tip.
fn tip(route: &Route, share: f64) -> String {
    let end = match route.steps.last() {
        Some(&(Step::Line(to) | Step::Curve(_, _, to))) => to,
        None => route.start,
    };
    // A turned edge has its tip at its start.
    let near = |point: Point| (point.x - route.tip.x).abs() + (point.y - route.tip.y).abs();
    let from = if near(route.start) < near(end) {
        route.start
    } else {
        end
    };
    let half = 3.0 + 2.5 * share.sqrt();
    let (dx, dy) = (route.tip.x - from.x, route.tip.y - from.y);
    let length = (dx * dx + dy * dy).sqrt().max(1e-6);
    let (nx, ny) = (-dy / length * half, dx / length * half);
    format!(
        "{:.1},{:.1} {:.1},{:.1} {:.1},{:.1}",
        from.x + nx,
        from.y + ny,
        route.tip.x,
        route.tip.y,
        from.x - nx,
        from.y - ny
    )
}
