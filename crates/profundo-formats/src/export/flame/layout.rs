//! A flame graph: the tree of calls, its widest calls chosen, each with its place.

use std::cmp::Reverse;

use profundo_analysis::palette::Hue;
use profundo_analysis::{library, package};
use profundo_model::Kinds;

use super::super::calls::{Callee, Calls, Manner};
use super::super::text::percent;
use super::super::view::{Side, View};
use super::super::{Options, Order, Weights, add};
use super::about;
use super::looks::{Owns, looks};
use super::picture::{Frames, Lane, Node, Picture};
use super::theme::Colour;
use super::words::{self, Amounts};

/// The approximate limit of the bytes of boxes: what a browser opens at once.
const MOST_BYTES: usize = 1_900_000;

/// The frames of a view's callees.
pub(super) struct Namer<'a> {
    view: &'a View<'a>,
    pub frames: Frames,
    /// The packages, and by function the row of its package.
    pub packages: Vec<String>,
    of_function: Vec<u32>,
}

impl<'a> Namer<'a> {
    pub(super) fn new(view: &'a View<'a>) -> Self {
        let mut packages: Vec<String> = vec![String::new()];
        let of_function = view.functions.iter().map(|function| {
            let name = match (function.side, &function.frame) {
                (Side::Kernel, _) => "kernel".to_owned(),
                (_, Some(frame)) => package(view.profile, frame, function.module),
                (_, None) => library(view.profile, function.module).to_owned(),
            };
            let row = packages.iter().position(|known| *known == name);
            row.unwrap_or_else(|| {
                packages.push(name);
                packages.len() - 1
            }) as u32
        });
        let of_function = of_function.collect();
        Self {
            view,
            frames: Frames::default(),
            packages,
            of_function,
        }
    }

    /// The name of a callee, before it is shortened.
    pub(super) fn name<'b>(&'b self, calls: &'b Calls, callee: Callee) -> &'b str {
        match callee {
            Callee::Owner(owner) => &calls.owners[owner as usize],
            Callee::System => "[system]",
            Callee::Function { function, .. } => &self.view.functions[function as usize].name,
        }
    }

    /// The frame of a call.
    pub(super) fn frame(&mut self, calls: &Calls, call: u32) -> u32 {
        let callee = calls.calls[call as usize].callee;
        let name = words::name(self.name(calls, callee));
        let kind = colour(self.view, callee).class(&name);
        match callee {
            Callee::Function { function, .. } => {
                let file = self.view.path(self.view.functions[function as usize].file);
                let package = self.of_function[function as usize];
                let lines = calls.lines(call);
                self.frames.add(&name, file, lines, kind, package)
            }
            _ => self.frames.add(&name, "", (0, 0), kind, 0),
        }
    }

    /// The frame of a process, a thread, or the whole.
    pub(super) fn owner(&mut self, name: &str) -> u32 {
        let kind = Colour::Owner.class(name);
        self.frames.add(&words::name(name), "", (0, 0), kind, 0)
    }

    /// The picture of what was laid out.
    pub(super) fn picture(
        self,
        options: &Options,
        amounts: Amounts,
        owns: &Owns,
        drawing: Drawing,
    ) -> Picture {
        let (frames, colours) = (&self.frames, options.colours);
        Picture {
            title: about::title(self.view.profile, options),
            lines: drawing.lines,
            is_icicle: options.icicle,
            looks: looks(frames, &self.packages, owns, amounts.total, colours),
            amounts,
            frames: self.frames,
            nodes: drawing.nodes,
            lanes: drawing.lanes,
            span: drawing.span,
            origin: drawing.origin,
            is_timed: drawing.is_timed,
            before: Vec::new(),
        }
    }
}

/// Boxes with their places, and the words above them: the fields of [`Picture`] of these names.
#[derive(Debug)]
pub(super) struct Drawing {
    pub lines: Vec<String>,
    pub nodes: Vec<Node>,
    pub lanes: Vec<Lane>,
    pub span: u64,
    pub origin: u64,
    pub is_timed: bool,
}

fn colour(view: &View<'_>, callee: Callee) -> Colour {
    let function = match callee {
        Callee::Owner(_) => return Colour::Owner,
        Callee::System => return Colour::Of(Hue::System),
        Callee::Function { function, .. } => &view.functions[function as usize],
    };
    match function.side {
        Side::Python => Colour::Of(Hue::Python),
        Side::Native | Side::Generated => Colour::Of(Hue::Native),
        Side::Kernel => Colour::Of(Hue::System),
        Side::Runtime => Colour::Runtime,
        Side::Waits => Colour::Of(Hue::Waiting),
        Side::Collects => Colour::Of(Hue::Garbage),
        Side::Missing => Colour::Of(Hue::Unreadable),
    }
}

/// The flame graph of the view.
pub(super) fn picture(view: &View<'_>, options: &Options, weights: Weights) -> Picture {
    let kinds = Kinds::of(view.profile);
    let calls = Calls::new(view, &kinds, Manner::new(options, weights, true));
    let totals = calls.totals();
    let roots = (0..).zip(&calls.calls).filter(|(_, c)| c.parent.is_none());
    let (mut total, mut count) = (0, 0);
    for (root, _) in roots {
        let (weight, samples): (u64, u64) = totals[root];
        add(&mut total, weight);
        add(&mut count, samples);
    }
    let amounts = about::amounts(view.profile, weights, total, count);
    let mut namer = Namer::new(view);
    let drawn = choose(&namer, &calls, &totals, options.min_share, total);
    let (nodes, left_out) = place(&mut namer, &calls, &totals, &drawn, options.order, &amounts);
    let mut owns = Owns::default();
    for (call, row) in (0..).zip(&calls.calls) {
        if row.own > 0 && drawn[call as usize] {
            let frame = namer.frame(&calls, call);
            owns.add(&namer.frames, frame, row.own);
        }
    }
    let mut lines = about::lines(view.profile, options, &amounts, weights, &kinds);
    lines.extend(left_out.words(&amounts));
    let drawing = Drawing {
        lines,
        lanes: vec![Lane::of(0..nodes.len())],
        nodes,
        span: total,
        origin: 0,
        is_timed: false,
    };
    namer.picture(options, amounts, &owns, drawing)
}

/// Calls that are not in the picture.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct LeftOut {
    pub boxes: usize,
    /// The weight of those whose callers are in the picture.
    pub weight: u64,
}

impl LeftOut {
    pub(super) fn words(self, amounts: &Amounts) -> Option<String> {
        let (boxes, whole) = (self.boxes, about::whole(amounts.unit));
        let share = percent(self.weight as f64 / amounts.total.max(1) as f64);
        let plural = if boxes == 1 { "box" } else { "boxes" };
        (boxes > 0).then(|| format!("{boxes} {plural} too narrow to draw ({share} of the {whole})"))
    }
}

/// The widest calls that are wide enough and fit into the bytes. A caller is at least as wide
/// as its callees and stands before them, so it is never missing.
fn choose(
    namer: &Namer<'_>,
    calls: &Calls,
    totals: &[(u64, u64)],
    min_share: Option<f64>,
    total: u64,
) -> Vec<bool> {
    /// The numbers of a box, and of its frame where that is a new one.
    const NUMBERS: usize = 17;
    let least = ((min_share.unwrap_or(0.0) * total as f64).ceil() as u64).max(1);
    let mut order: Vec<usize> = (0..totals.len()).collect();
    order.retain(|&call| totals[call].0 >= least);
    order.sort_by_key(|&call| (Reverse(totals[call].0), call));
    let mut drawn = vec![false; totals.len()];
    let mut is_named = rustc_hash::FxHashSet::default();
    let mut bytes = 0;
    for call in order {
        let callee = calls.calls[call].callee;
        bytes += NUMBERS;
        if is_named.insert(callee) {
            bytes += namer.name(calls, callee).len().min(400) + 4;
        }
        if bytes > MOST_BYTES {
            break;
        }
        drawn[call] = true;
    }
    drawn
}

fn place(
    namer: &mut Namer<'_>,
    calls: &Calls,
    totals: &[(u64, u64)],
    drawn: &[bool],
    order: Order,
    amounts: &Amounts,
) -> (Vec<Node>, LeftOut) {
    let mut left_out = LeftOut::default();
    let (roots, children) = calls.children(|call| {
        let name = namer.name(calls, calls.calls[call as usize].callee);
        let weight = match order {
            // The widest first: readers look for it, and it has room for its name.
            Order::Widest => totals[call as usize].0,
            Order::Name | Order::Time => 0,
        };
        (Reverse(weight), name.to_owned())
    });
    let mut nodes = vec![Node {
        frame: namer.owner("all"),
        width: amounts.total,
        weight: amounts.total,
        count: amounts.count,
        ..Node::default()
    }];
    // Calls to be placed, with their starts: the next one last.
    let mut open: Vec<(u32, u32, u64)> = Vec::new();
    let push = |open: &mut Vec<(u32, u32, u64)>, below: &[u32], level, mut start: u64| {
        let first = open.len();
        for &call in below {
            open.push((call, level, start));
            add(&mut start, totals[call as usize].0);
        }
        open[first..].reverse();
    };
    push(&mut open, &roots, 1, 0);
    while let Some((call, level, start)) = open.pop() {
        let (weight, count) = totals[call as usize];
        let row = calls.calls[call as usize];
        if !drawn[call as usize] {
            if weight > 0 {
                left_out.boxes += 1;
            }
            if row.parent.is_none_or(|parent| drawn[parent as usize]) {
                add(&mut left_out.weight, weight);
            }
        } else {
            nodes.push(Node {
                frame: namer.frame(calls, call),
                level,
                start,
                width: weight,
                weight,
                own: row.own,
                count: match amounts.is_traced {
                    true => row.own_count,
                    false => count,
                },
                class: 0,
            });
        }
        push(&mut open, &children[call as usize], level + 1, start);
    }
    (nodes, left_out)
}
