//! The picture of a comparison: boxes as wide as after, with the widths before below them.
//!
//! The caller has matched the calls of two recordings and judged each difference. The picture has
//! two parts of one scale. In the first, boxes are as wide as after, so that what is new has its
//! width; in the second, as wide as before, so that what is gone has one. The colour says whether a
//! call grew or shrank, and by which part of itself. A difference that may be chance is grey.

use std::cmp::Reverse;
use std::io::Write;

use super::super::{Options, add};
use super::picture::{Before, Frames, Lane, Node, Picture};
use super::svg;
use super::theme::{Fills, Look, STRENGTHS};
use super::words::{self, Amounts};
use crate::Error;

/// A comparison to draw.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The first line.
    pub title: String,
    /// The second line: the verdict, or how the recordings were scaled.
    pub subtitle: String,
    /// The name of the recording before, in words.
    pub before: String,
    /// The name of the recording after, in words.
    pub after: String,
    /// The unit of the amounts.
    pub unit: Unit,
    /// The calls. A caller stands before its callees.
    pub nodes: Vec<DifferenceNode>,
}

/// The unit of the compared amounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Nanoseconds.
    Time,
    /// Bytes.
    Bytes,
    /// A number of things: samples, calls, blocks.
    Count,
}

/// A call in both recordings, or in one of them.
#[derive(Debug, Clone, PartialEq)]
pub struct DifferenceNode {
    /// The row of the caller; `None` at the root.
    pub parent: Option<u32>,
    /// The name of the function.
    pub name: String,
    /// `path:line`, as far as known.
    pub place: String,
    /// The amount before, callees included, scaled as the comparison scales.
    pub before: f64,
    /// The amount after, callees included, scaled.
    pub after: f64,
    /// The part of `before` without callees.
    pub own_before: f64,
    /// The part of `after` without callees.
    pub own_after: f64,
    /// The judgement of the difference.
    pub change: Change,
}

/// The judgement of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Change {
    /// More time or memory after.
    Grew,
    /// Less time or memory after.
    Shrank,
    /// A call that is only there after.
    New,
    /// A call that is only there before.
    Gone,
    /// The difference may be chance.
    Unclear,
}

/// Writes the picture. Of the options, the title, the direction, and what passes count.
pub fn write_difference(
    difference: &Difference,
    options: &Options,
    out: &mut impl Write,
) -> Result<(), Error> {
    svg::write(&picture(difference, options), out).map_err(Error::Write)
}

/// The most boxes, the widest: those that a browser opens at once.
const MOST_BOXES: usize = 110_000;

fn picture(difference: &Difference, options: &Options) -> Picture {
    let nodes = &difference.nodes;
    let mut frames = Frames::default();
    let (children, roots) = children(nodes);
    let sum = |of: fn(&DifferenceNode) -> f64| -> u64 {
        let roots = roots.iter().map(|&root| amount(of(&nodes[root])));
        roots.fold(0, u64::saturating_add)
    };
    let (before, after) = (sum(|node| node.before), sum(|node| node.after));
    let whole = Node {
        frame: frames.add("all", "", (0, 0), 0, 0),
        width: after,
        weight: after,
        class: WHOLE,
        ..Node::default()
    };
    let mut placed = Placed {
        nodes: vec![whole],
        before: vec![Before {
            width: before,
            ..Before::default()
        }],
    };
    let stays = widest(nodes);
    placed.place(nodes, &children, &roots, &stays, &mut frames);
    let left_out = stays.iter().filter(|stays| !**stays).count();

    let unit = match difference.unit {
        Unit::Time => words::Unit::Time,
        Unit::Bytes => words::Unit::Bytes,
        Unit::Count => words::Unit::Things,
    };
    let lane = |is_before: bool, which: &str, name: &str, amount: u64| Lane {
        label: format!("{which}, {}: {name}", unit.text(amount)),
        is_before,
        ..Lane::of(0..placed.nodes.len())
    };
    let lanes = vec![
        lane(false, "after", &difference.after, after),
        lane(true, "before", &difference.before, before),
    ];
    let mut lines = vec![difference.subtitle.clone()];
    lines.retain(|line| !line.is_empty());
    lines.extend(options.passing());
    if left_out > 0 {
        lines.push(format!("{left_out} calls are too narrow to draw"));
    }
    let legend = [
        (1, "grew a little"),
        (3, "grew much"),
        (NEW, "new"),
        (5, "shrank a little"),
        (7, "shrank much"),
        (GONE, "gone"),
        (UNCLEAR, "may be chance"),
    ];
    Picture {
        title: options
            .title
            .clone()
            .unwrap_or_else(|| difference.title.clone()),
        lines,
        is_icicle: options.icicle,
        amounts: Amounts {
            unit,
            total: before.max(after),
            count: 0,
            is_traced: false,
            samples: None,
            is_few: false,
        },
        frames,
        nodes: placed.nodes,
        lanes,
        span: before.max(after),
        origin: 0,
        is_timed: false,
        before: placed.before,
        looks: vec![Look {
            name: "change",
            fills: Fills::Changes,
            classes: Vec::new(),
            legend: legend.map(|(row, words)| (row, words.to_owned())).into(),
        }],
    }
}

// The rows of the fills: first those of what grew, then of what shrank, by strength.
const NEW: u8 = 2 * STRENGTHS;
const GONE: u8 = NEW + 1;
const UNCLEAR: u8 = NEW + 2;
const WHOLE: u8 = NEW + 3;

/// The colour of a change. It is as strong as the part of the larger amount that was added or
/// taken away.
fn class(node: &DifferenceNode) -> u8 {
    /// The parts from which on a change is stronger.
    const STEPS: [f64; STRENGTHS as usize - 1] = [0.05, 0.15, 0.4];
    let most = node.before.max(node.after);
    let part = match most > 0.0 {
        true => (node.after - node.before).abs() / most,
        false => 0.0,
    };
    let strength = STEPS.iter().filter(|&&step| part >= step).count() as u8;
    match node.change {
        Change::Grew => strength,
        Change::Shrank => STRENGTHS + strength,
        Change::New => NEW,
        Change::Gone => GONE,
        Change::Unclear => UNCLEAR,
    }
}

/// An amount as a whole number; what is no amount at all is none.
fn amount(number: f64) -> u64 {
    number.round() as u64
}

/// The callees of each node, the widest first, and the roots.
fn children(nodes: &[DifferenceNode]) -> (Vec<Vec<usize>>, Vec<usize>) {
    let mut children = vec![Vec::new(); nodes.len()];
    let mut roots = Vec::new();
    for (at, node) in nodes.iter().enumerate() {
        match node.parent {
            // A caller that does not stand before its callee would make a circle.
            Some(parent) if (parent as usize) < at => children[parent as usize].push(at),
            _ => roots.push(at),
        }
    }
    let sort = |row: &mut Vec<usize>| {
        let widest = |at: &usize| amount(nodes[*at].after.max(nodes[*at].before));
        row.sort_by(|a, b| {
            let (wide, other) = (widest(a), widest(b));
            other
                .cmp(&wide)
                .then_with(|| nodes[*a].name.cmp(&nodes[*b].name))
        });
    };
    sort(&mut roots);
    children.iter_mut().for_each(sort);
    (children, roots)
}

/// Whether each node is drawn: the widest are, and none without its caller.
fn widest(nodes: &[DifferenceNode]) -> Vec<bool> {
    let width = |at: usize| amount(nodes[at].after.max(nodes[at].before));
    let mut order: Vec<usize> = (0..nodes.len()).filter(|&at| width(at) > 0).collect();
    order.sort_by_key(|&at| (Reverse(width(at)), at));
    order.truncate(MOST_BOXES);
    let mut stays = vec![false; nodes.len()];
    for at in order {
        stays[at] = true;
    }
    for at in 0..nodes.len() {
        let parent = nodes[at].parent.map(|parent| parent as usize);
        stays[at] &= parent.is_none_or(|parent| parent >= at || stays[parent]);
    }
    stays
}

/// The boxes with their places in both parts.
#[derive(Debug)]
struct Placed {
    nodes: Vec<Node>,
    before: Vec<Before>,
}

impl Placed {
    fn place(
        &mut self,
        nodes: &[DifferenceNode],
        children: &[Vec<usize>],
        roots: &[usize],
        stays: &[bool],
        frames: &mut Frames,
    ) {
        // Nodes to be placed, with their level and starts: the next one last.
        let mut open: Vec<(usize, u32, u64, u64)> = Vec::new();
        let push = |open: &mut Vec<_>, below: &[usize], level, mut after: u64, mut before: u64| {
            let first = open.len();
            for &at in below.iter().filter(|&&at| stays[at]) {
                open.push((at, level, after, before));
                add(&mut after, amount(nodes[at].after));
                add(&mut before, amount(nodes[at].before));
            }
            open[first..].reverse();
        };
        push(&mut open, roots, 1, 0, 0);
        while let Some((at, level, after, before)) = open.pop() {
            let node = &nodes[at];
            self.nodes.push(Node {
                frame: frames.add(&words::name(&node.name), &node.place, (0, 0), 0, 0),
                level,
                start: after,
                width: amount(node.after),
                weight: amount(node.after),
                own: amount(node.own_after),
                count: 0,
                class: class(node),
            });
            self.before.push(Before {
                start: before,
                width: amount(node.before),
                own: amount(node.own_before),
            });
            push(&mut open, &children[at], level + 1, after, before);
        }
    }
}

#[cfg(test)]
mod tests;
