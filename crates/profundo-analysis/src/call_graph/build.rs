//! Adding up: first by node, and once more by edge when it is known which nodes are kept.

use profundo_model::{LocationId, Profile, StackId};
use rustc_hash::FxHashMap;

use super::around::near;
use super::choose::{Degrees, chosen, essential};
use super::unit::Units;
use super::{Around, CallEdge, CallGraph, CallGraphOptions, CallNode, GraphBy};
use crate::amount::Amount;
use crate::scatter::{self, Members};
use crate::shown::Sieve;
use crate::{Libraries, Place, Selection};

/// The sums of one node or edge.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    own: Amount,
    total: Amount,
    calls: u64,
    /// The last stack that contained it.
    stamp: u32,
}

/// The sums of one edge.
#[derive(Debug, Clone, Copy, Default)]
struct EdgeSums {
    sums: Sums,
    /// Whether any sample has the two next to each other.
    is_direct: bool,
}

/// Finds the nodes of one stack after another. Stacks of deep recursion are too long to be kept.
struct Walker<'a> {
    profile: &'a Profile,
    sieve: Sieve<'a>,
    options: &'a CallGraphOptions,
    units: Units<'a>,
    places: Vec<(Place, LocationId)>,
    /// The nodes of the present stack, from its root. Neighbours in one group are one.
    path: Vec<u32>,
}

pub(super) fn build(
    profile: &Profile,
    selection: &Selection,
    options: &CallGraphOptions,
    around: Option<&Around>,
) -> CallGraph {
    let stacks = selection.stacks(profile);
    let mut walker = Walker::new(profile, options);
    let mut nodes: Vec<Sums> = Vec::new();
    let (mut own, mut total) = (Members::default(), Members::default());
    let mut degrees = Degrees::default();
    for (stamp, stack) in (1..).zip(stacks) {
        let is_call = walker.go_to(stack.stack);
        nodes.resize(walker.units.list.len(), Sums::default());
        for (&node, depth) in walker.path.iter().zip(0..) {
            let sums = &mut nodes[node as usize];
            if sums.stamp != stamp {
                sums.stamp = stamp;
                sums.total.add(stack);
                total.add(node as usize);
            }
            if depth > 0 {
                degrees.add(walker.path[depth - 1], node, stack.weight);
            }
        }
        if let Some(&leaf) = walker.path.last() {
            let sums = &mut nodes[leaf as usize];
            sums.own.add(stack);
            own.add(leaf as usize);
            if is_call {
                sums.calls = sums.calls.saturating_add(stack.calls);
            }
        }
        own.end_stack();
        total.end_stack();
    }
    let of = |part: fn(&Sums) -> Amount| nodes.iter().map(part).collect::<Vec<_>>();
    let owns = scatter::estimates(profile, selection, &own, &of(|sums| sums.own));
    let totals = scatter::estimates(profile, selection, &total, &of(|sums| sums.total));

    let weights: Vec<(u64, u64)> = (nodes.iter())
        .map(|sums| (sums.own.weight, sums.total.weight))
        .collect();
    let whole = selection.weight(profile);
    let near = around.map(|around| near(&walker.units.list, &degrees, around));
    let is_near = |node: usize| near.as_ref().is_none_or(|near| near.is_near[node]);
    let mut kept = chosen(&weights, &degrees, whole, options, is_near);
    let centre = near.and_then(|near| near.centre);
    if let Some(centre) = centre
        && !kept.contains(&centre)
    {
        kept.push(centre);
    }
    // The new row of each node.
    let mut rows: Vec<Option<u32>> = vec![None; nodes.len()];
    for (row, &node) in (0..).zip(&kept) {
        rows[node] = Some(row);
    }
    let (edges, all_edges) = edges(&mut walker, selection, &rows, whole);
    let mut list = std::mem::take(&mut walker.units.list);
    CallGraph {
        kept: (kept.iter()).fold(0, |sum, &node| nodes[node].own.weight.saturating_add(sum)),
        nodes: (kept.iter())
            .map(|&node| {
                let unit = &mut list[node];
                CallNode {
                    name: std::mem::take(&mut unit.name),
                    file: std::mem::take(&mut unit.file),
                    path: std::mem::take(&mut unit.path),
                    line: unit.line,
                    hue: unit.hue,
                    own: nodes[node].own,
                    total: nodes[node].total,
                    own_share: owns[node],
                    total_share: totals[node],
                    calls: nodes[node].calls,
                }
            })
            .collect(),
        edges,
        all_nodes: nodes.len(),
        all_edges,
        centre: centre.and_then(|centre| kept.iter().position(|&node| node == centre)),
        whole,
        split: selection.split(profile),
        is_counted: selection.calls(profile) > 0,
    }
}

/// The edges between kept nodes, and their number before pruning.
fn edges(
    walker: &mut Walker<'_>,
    selection: &Selection,
    rows: &[Option<u32>],
    whole: u64,
) -> (Vec<CallEdge>, usize) {
    let profile = walker.profile;
    let stacks = selection.stacks(profile);
    let mut numbers: FxHashMap<(u32, u32), usize> = FxHashMap::default();
    let mut sums: Vec<((u32, u32), EdgeSums)> = Vec::new();
    let mut members = Members::default();
    for (stamp, stack) in (1..).zip(stacks) {
        let is_call = walker.go_to(stack.stack);
        let path = &walker.path;
        let mut caller: Option<(u32, usize)> = None;
        for (&node, depth) in path.iter().zip(0..) {
            let Some(callee) = rows[node as usize] else {
                continue;
            };
            if let Some((caller, caller_depth)) = caller {
                let is_direct = caller_depth + 1 == depth;
                // A function that is left out and calls back is no recursion of its caller.
                if is_direct || caller != callee {
                    let number = *numbers.entry((caller, callee)).or_insert_with(|| {
                        sums.push(((caller, callee), EdgeSums::default()));
                        sums.len() - 1
                    });
                    let edge = &mut sums[number].1;
                    edge.is_direct |= is_direct;
                    if edge.sums.stamp != stamp {
                        edge.sums.stamp = stamp;
                        edge.sums.total.add(stack);
                        members.add(number);
                    }
                    if is_direct && is_call && depth + 1 == path.len() {
                        edge.sums.calls = edge.sums.calls.saturating_add(stack.calls);
                    }
                }
            }
            caller = Some((callee, depth));
        }
        members.end_stack();
    }
    let amounts: Vec<Amount> = sums.iter().map(|(_, edge)| edge.sums.total).collect();
    let shares = scatter::estimates(profile, selection, &members, &amounts);
    let mut edges: Vec<CallEdge> = (sums.iter().zip(shares))
        .map(|(&((caller, callee), edge), share)| CallEdge {
            caller: caller as usize,
            callee: callee as usize,
            amount: edge.sums.total,
            share,
            calls: edge.sums.calls,
            is_bridge: !edge.is_direct,
        })
        .collect();
    let all = edges.len();
    let least = (whole as f64 * walker.options.edge_share).ceil() as u64;
    edges.retain(|edge| edge.amount.weight >= least);
    edges.sort_by_key(|edge| {
        let weight = std::cmp::Reverse(edge.amount.weight);
        (weight, edge.caller, edge.callee)
    });
    let count = rows.iter().flatten().count();
    (essential(edges, count), all)
}

impl<'a> Walker<'a> {
    fn new(profile: &'a Profile, options: &'a CallGraphOptions) -> Self {
        Self {
            profile,
            sieve: Sieve::new(profile, options.shown),
            options,
            units: Units::new(profile, options.by),
            places: Vec::new(),
            path: Vec::new(),
        }
    }

    /// Goes to a stack. Returns whether it ends with a call of its last node.
    fn go_to(&mut self, stack: StackId) -> bool {
        self.path.clear();
        self.sieve.path(stack, &mut self.places);
        let mut is_within = false;
        for &(place, location) in &self.places {
            let node = self.units.of(place, location);
            is_within = self.options.by != GraphBy::Function && self.path.last() == Some(&node);
            if !is_within {
                self.path.push(node);
            }
        }
        let Some(&(_, innermost)) = self.places.last() else {
            let is_only_mine = self.options.shown.libraries == Libraries::Hidden;
            self.path.push(self.units.hidden(is_only_mine));
            return false;
        };
        !is_within && innermost == self.profile.stacks.get(stack).location
    }
}
