//! The call graph with places: what `profundo graph` draws, as boxes and arrows that a page can act
//! on. The graph is pruned here, so that a page of a large program has as few of them as of a small
//! one.

use profundo_analysis::GraphBy;
use profundo_analysis::palette::Hue;
use profundo_formats::export::graph::{Around, Arrow, Drawn, GraphOptions, drawn};
use profundo_formats::export::{Format, Options};
use serde::Serialize;

use super::Answer;
use super::share::{Shares, ends, printed};
use crate::{Error, Library, Question};

/// The most boxes of an answer.
const MOST: usize = 1000;

#[derive(Debug, Serialize)]
struct Graph {
    /// The unit of weights: `time`, `bytes`, `blocks`, `calls` or `samples`.
    unit: &'static str,
    whole: u64,
    width: f64,
    height: f64,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    /// The number of nodes, and of arrows between the shown ones, that are not shown.
    nodes_left_out: usize,
    edges_left_out: usize,
    /// The share of the whole that ends in a shown node.
    shown_share: f64,
    /// What is shown of the whole, in a sentence.
    coverage: String,
    /// The node that the graph is around.
    centre: Option<usize>,
}

#[derive(Debug, Serialize)]
struct Node {
    name: String,
    /// The path of the source file, or an empty text.
    file: String,
    /// The first line that was met; 0 where unknown.
    line: u32,
    kind: &'static str,
    samples: u64,
    #[serde(flatten)]
    shares: Shares,
    /// The number of calls, where they were counted.
    calls: u64,
    /// The text of the box, and the size of its first line.
    title: String,
    place: String,
    figures: String,
    font: f64,
    /// The left, the top, the width and the height.
    area: [f64; 4],
}

#[derive(Debug, Serialize)]
struct Edge {
    caller: usize,
    callee: usize,
    weight: u64,
    share: f64,
    share_low: Option<f64>,
    share_high: Option<f64>,
    calls: u64,
    /// Whether functions between the two are left out.
    is_bridge: bool,
    /// Its line, which is empty if it is too long to be drawn.
    line: String,
    width: f64,
    tip: String,
    label: String,
    label_area: Option<[f64; 4]>,
}

pub(super) fn graph(library: &Library, question: &Question) -> Result<Answer, Error> {
    let part = library.part(question)?;
    if !Format::GRAPH.holds().any_in(part.profile()) {
        return Err(Error::Nothing("nothing passes the filter".to_owned()));
    }
    let options = Options {
        include_runtime: question.is("runtime"),
        only_mine: question.is("mine"),
        graph: self::options(question)?,
        ..Options::default()
    };
    let drawn = drawn(part.profile(), &part.selection(), &options);
    if drawn.graph.nodes.is_empty() {
        let why = match &options.graph.around {
            Some(around) => format!("“{}” has no time in what passes the filter", around.name),
            None => "nothing passes the filter".to_owned(),
        };
        return Err(Error::Nothing(why));
    }
    Answer::json(&answer(drawn))
}

/// The choices of a question.
pub(super) fn options(question: &Question) -> Result<GraphOptions, Error> {
    let by = match question.get("by") {
        None => GraphBy::default(),
        Some(by) => {
            (by.parse()).map_err(|why: profundo_analysis::UnknownChoice| Error::value("by", why))?
        }
    };
    let around = question.get("function").map(|name| Around {
        name: name.to_owned(),
        file: question.get("file").map(str::to_owned),
        steps: None,
    });
    Ok(GraphOptions {
        by,
        nodes: question
            .parsed("nodes")?
            .map(|nodes: usize| nodes.clamp(1, MOST)),
        edge_share: question.parsed("arrows")?,
        around: match around {
            None => None,
            Some(around) => Some(Around {
                steps: question.parsed("steps")?,
                ..around
            }),
        },
    })
}

fn answer(drawn: Drawn) -> Graph {
    let Drawn { graph, .. } = drawn;
    let nodes = graph
        .nodes
        .iter()
        .zip(drawn.cards)
        .map(|(node, card)| Node {
            name: node.name.clone(),
            file: node.path.clone(),
            line: node.line,
            kind: kind(node.hue),
            samples: node.total.samples,
            shares: Shares::new(
                (node.own.weight, node.total.weight),
                &node.own_share,
                &node.total_share,
            ),
            calls: node.calls,
            title: card.name,
            place: card.place,
            figures: card.figures,
            font: card.font,
            area: card.area,
        });
    let arrows = drawn.arrows.into_iter().map(Option::unwrap_or_default);
    let edges = graph
        .edges
        .iter()
        .zip(arrows)
        .map(|(edge, arrow): (_, Arrow)| {
            let (share_low, share_high) = ends(&edge.share);
            Edge {
                caller: edge.caller,
                callee: edge.callee,
                weight: edge.amount.weight,
                share: printed(edge.share.share),
                share_low,
                share_high,
                calls: edge.calls,
                is_bridge: edge.is_bridge,
                line: arrow.line,
                width: arrow.width,
                tip: arrow.tip,
                label: arrow.label,
                label_area: arrow.label_area,
            }
        });
    Graph {
        unit: drawn.unit,
        whole: graph.whole,
        width: drawn.size.0,
        height: drawn.size.1,
        nodes: nodes.collect(),
        edges: edges.collect(),
        nodes_left_out: graph.all_nodes - graph.nodes.len(),
        edges_left_out: graph.all_edges - graph.edges.len(),
        shown_share: printed(graph.kept_share()),
        coverage: drawn.coverage,
        centre: graph.centre,
    }
}

fn kind(hue: Option<Hue>) -> &'static str {
    match hue {
        Some(Hue::Python) => "python",
        Some(Hue::Native) => "native",
        Some(Hue::System) => "system",
        Some(Hue::Waiting) => "waiting",
        Some(Hue::Garbage) => "garbage",
        Some(Hue::Unreadable) => "missing",
        None => "runtime",
    }
}
