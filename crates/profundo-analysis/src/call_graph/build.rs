//! Adding up: first by node, and once more by edge when it is known which nodes are kept.

use profundo_model::{LocationId, Profile};
use rustc_hash::FxHashMap;

use super::around::near;
use super::choose::{Degrees, chosen, essential};
use super::unit::{Unit, Units};
use super::{Around, CallEdge, CallGraph, CallGraphOptions, CallNode, GraphBy};
use crate::amount::Amount;
use crate::scatter;
use crate::shown::Sieve;
use crate::tally::{self, Keep, Places, Rule, Tallies, Tally, Thing, tally};
use crate::traced::known_totals;
use crate::{Libraries, Place, Selection, StackWeight};

/// A stack as nodes: neighbours in one group are one.
struct NodeRule<'a> {
    places: Places<'a, Units<'a>>,
    by: GraphBy,
    degrees: Degrees,
    /// The pairs of a caller and a callee on the path.
    pairs: Vec<(u32, u32)>,
    calls: Calls<'a>,
    /// The stacks without a shown place.
    hidden: Vec<u32>,
    /// The places of the present location, each with its node.
    present: Vec<Thing>,
}

/// The calls of each thing, where calls were counted.
struct Calls<'a> {
    stacks: &'a [StackWeight],
    /// By slot.
    counts: Vec<u64>,
}

impl Calls<'_> {
    fn add(&mut self, slot: u32, number: u32) {
        let slot = slot as usize;
        if slot >= self.counts.len() {
            self.counts.resize(slot + 1, 0);
        }
        let calls = self.stacks[number as usize].calls;
        self.counts[slot] = self.counts[slot].saturating_add(calls);
    }

    fn of(&self, slot: u32) -> u64 {
        self.counts.get(slot as usize).copied().unwrap_or(0)
    }
}

/// What is known of the nodes up to a level.
#[derive(Debug, Clone, Copy)]
struct Reached {
    places: tally::Reached,
    /// The innermost node.
    node: Option<u32>,
    /// Whether the innermost place is in the node of its caller.
    is_within: bool,
    /// Whether a place of the level itself is shown.
    is_shown: bool,
    /// The number of pairs on the path of the callers.
    pairs: usize,
}

impl Reached {
    /// Whether a stack that ends here ends with a call of its innermost node.
    fn is_call(&self) -> bool {
        !self.is_within && self.is_shown
    }
}

impl NodeRule<'_> {
    /// Below the outermost level.
    fn outside(&self) -> Reached {
        Reached {
            places: self.places.root(),
            node: None,
            is_within: false,
            is_shown: false,
            pairs: 0,
        }
    }

    /// Goes one level up. `visit` gets the nodes that are entered, each with its caller.
    fn level(
        &mut self,
        callers: &Reached,
        location: LocationId,
        mut visit: impl FnMut(Option<u32>, Thing),
    ) -> Reached {
        self.present.clear();
        let places = (self.places).enter(&callers.places, location, &mut self.present);
        let mut reached = Reached {
            places,
            is_shown: !self.present.is_empty(),
            ..*callers
        };
        for &thing in &self.present {
            let node = thing.slot;
            reached.is_within = self.by != GraphBy::Function && reached.node == Some(node);
            if !reached.is_within {
                visit(reached.node, thing);
                reached.node = Some(node);
            }
        }
        reached
    }
}

impl Rule for NodeRule<'_> {
    type State = Reached;

    const FROM_ROOT: bool = true;

    fn root(&self) -> Reached {
        self.outside()
    }

    fn enter(&mut self, state: &Reached, location: LocationId, things: &mut Vec<Thing>) -> Reached {
        let mut pairs = std::mem::take(&mut self.pairs);
        let before = pairs.len();
        let reached = self.level(state, location, |caller, thing| {
            pairs.extend(caller.map(|caller| (caller, thing.slot)));
            things.push(thing);
        });
        self.pairs = pairs;
        Reached {
            pairs: before,
            ..reached
        }
    }

    fn own(&self, state: &Reached) -> Option<u32> {
        state.node
    }

    fn end(&mut self, number: u32, state: &Reached) {
        match state.node {
            Some(node) if state.is_call() => self.calls.add(node, number),
            Some(_) => {}
            None => self.hidden.push(number),
        }
    }

    fn leave(&mut self, state: &Reached, weight: u64) {
        for (caller, callee) in self.pairs.drain(state.pairs..) {
            self.degrees.add(caller, callee, weight);
        }
    }
}

pub(super) fn build(
    profile: &Profile,
    selection: &Selection,
    options: &CallGraphOptions,
    around: Option<&Around>,
) -> CallGraph {
    let stacks = selection.stacks(profile);
    let calls = || Calls {
        stacks,
        counts: Vec::new(),
    };
    let sieve = Sieve::new(profile, options.shown);
    let mut rule = NodeRule {
        places: Places::new(profile, &sieve, Units::new(profile, options.by)),
        by: options.by,
        degrees: Degrees::default(),
        pairs: Vec::new(),
        calls: calls(),
        hidden: Vec::new(),
        present: Vec::new(),
    };
    let mut nodes = tally(profile, selection, &mut rule, Keep::Members);
    add_hidden(profile, selection, options, &mut rule, &mut nodes);
    if options.by == GraphBy::Function
        && let Some(table) = known_totals(profile, selection)
    {
        let whole = selection.weight(profile);
        for node in &mut nodes.list {
            table.correct(profile, node.place, whole, &mut node.total);
        }
    }
    let of = |part: fn(&Tally) -> Amount| nodes.list.iter().map(part).collect::<Vec<_>>();
    let owns = scatter::estimates(profile, selection, &nodes.own, &of(|node| node.own));
    let totals = scatter::estimates(profile, selection, &nodes.total, &of(|node| node.total));

    // From here on, a node is its row: its place in the order of first appearance.
    let mut row_of = vec![0; rule.places.slots.list.len()];
    for (row, node) in (0..).zip(&nodes.list) {
        row_of[node.slot as usize] = row;
    }
    let degrees = rule.degrees.renumbered(&row_of);
    let mut list: Vec<Unit> = (nodes.list.iter())
        .map(|node| rule.places.slots.first_met(node.slot, node.place))
        .collect();
    let weights: Vec<(u64, u64)> = (nodes.list.iter())
        .map(|node| (node.own.weight, node.total.weight))
        .collect();
    let whole = selection.weight(profile);
    let near = around.map(|around| near(&list, &degrees, around));
    let is_near = |node: usize| near.as_ref().is_none_or(|near| near.is_near[node]);
    let mut kept = chosen(&weights, &degrees, whole, options, is_near);
    let centre = near.and_then(|near| near.centre);
    if let Some(centre) = centre
        && !kept.contains(&centre)
    {
        kept.push(centre);
    }
    // The number of each kept unit.
    let mut rows: Vec<Option<u32>> = vec![None; row_of.len()];
    for (row, &node) in (0..).zip(&kept) {
        rows[nodes.list[node].slot as usize] = Some(row);
    }
    let counts = std::mem::replace(&mut rule.calls, calls());
    let (edges, all_edges) = edges(rule, profile, selection, options, &rows);
    CallGraph {
        kept: (kept.iter()).fold(0, |sum, &node| weights[node].0.saturating_add(sum)),
        nodes: (kept.iter())
            .map(|&node| {
                let unit = &mut list[node];
                CallNode {
                    name: std::mem::take(&mut unit.name),
                    file: std::mem::take(&mut unit.file),
                    path: std::mem::take(&mut unit.path),
                    line: unit.line,
                    hue: unit.hue,
                    own: nodes.list[node].own,
                    total: nodes.list[node].total,
                    own_share: owns[node],
                    total_share: totals[node],
                    calls: counts.of(nodes.list[node].slot),
                }
            })
            .collect(),
        edges,
        all_nodes: nodes.list.len(),
        all_edges,
        centre: centre.and_then(|centre| kept.iter().position(|&node| node == centre)),
        whole,
        split: selection.split(profile),
        is_counted: selection.calls(profile) > 0,
    }
}

/// Adds the node for stacks without a shown place.
fn add_hidden(
    profile: &Profile,
    selection: &Selection,
    options: &CallGraphOptions,
    rule: &mut NodeRule<'_>,
    nodes: &mut Tallies,
) {
    if rule.hidden.is_empty() {
        return;
    }
    let slot = (rule.places.slots).hidden(options.shown.libraries == Libraries::Hidden);
    let mut amount = Amount::default();
    let row = nodes.list.len() as u32;
    for &number in &rule.hidden {
        amount.add(&selection.stacks(profile)[number as usize]);
        nodes.own.set(number, &[row]);
        nodes.total.set(number, &[row]);
    }
    nodes.list.push(Tally {
        slot,
        place: Place::Unknown,
        location: LocationId::from_index(0),
        total: amount,
        own: amount,
    });
}

/// A stack as edges between kept nodes.
struct EdgeRule<'a, 'b> {
    nodes: NodeRule<'a>,
    /// By node, its number if it is kept.
    rows: &'b [Option<u32>],
    numbers: FxHashMap<(u32, u32), u32>,
    edges: Vec<Edge>,
    calls: Calls<'a>,
    /// The nodes that the present level enters.
    entered: Vec<Thing>,
}

/// An edge between kept nodes.
#[derive(Debug, Clone, Copy)]
struct Edge {
    caller: u32,
    callee: u32,
    /// Whether any sample has the two next to each other.
    is_direct: bool,
}

/// What is known of the edges up to a level.
#[derive(Debug, Clone, Copy)]
struct Crossed {
    reached: Reached,
    /// The innermost kept node, and whether it is the innermost node.
    kept: Option<(u32, bool)>,
    /// The edge to the innermost node from its caller, where both are kept.
    direct: Option<u32>,
}

impl EdgeRule<'_, '_> {
    fn number(&mut self, caller: u32, callee: u32) -> u32 {
        let next = self.edges.len() as u32;
        *self.numbers.entry((caller, callee)).or_insert_with(|| {
            self.edges.push(Edge {
                caller,
                callee,
                is_direct: false,
            });
            next
        })
    }
}

impl Rule for EdgeRule<'_, '_> {
    type State = Crossed;

    fn root(&self) -> Crossed {
        Crossed {
            reached: self.nodes.outside(),
            kept: None,
            direct: None,
        }
    }

    fn enter(&mut self, state: &Crossed, location: LocationId, things: &mut Vec<Thing>) -> Crossed {
        let mut crossed = *state;
        let mut entered = std::mem::take(&mut self.entered);
        crossed.reached = (self.nodes).level(&state.reached, location, |_, thing| {
            entered.push(thing);
        });
        for thing in entered.drain(..) {
            crossed.direct = None;
            let Some(callee) = self.rows[thing.slot as usize] else {
                crossed.kept = crossed.kept.map(|(kept, _)| (kept, false));
                continue;
            };
            if let Some((caller, is_direct)) = crossed.kept {
                // A function that is left out and calls back is no recursion of its caller.
                if is_direct || caller != callee {
                    let slot = self.number(caller, callee);
                    self.edges[slot as usize].is_direct |= is_direct;
                    crossed.direct = is_direct.then_some(slot);
                    things.push(Thing { slot, ..thing });
                }
            }
            crossed.kept = Some((callee, true));
        }
        self.entered = entered;
        crossed
    }

    fn own(&self, _: &Crossed) -> Option<u32> {
        None
    }

    fn end(&mut self, number: u32, state: &Crossed) {
        if let Some(edge) = state.direct.filter(|_| state.reached.is_call()) {
            self.calls.add(edge, number);
        }
    }
}

/// The edges between kept nodes, and their number before pruning.
fn edges<'a>(
    nodes: NodeRule<'a>,
    profile: &Profile,
    selection: &'a Selection,
    options: &CallGraphOptions,
    rows: &[Option<u32>],
) -> (Vec<CallEdge>, usize) {
    let mut rule = EdgeRule {
        calls: Calls {
            stacks: nodes.calls.stacks,
            counts: Vec::new(),
        },
        nodes,
        rows,
        numbers: FxHashMap::default(),
        edges: Vec::new(),
        entered: Vec::new(),
    };
    let tallies = tally(profile, selection, &mut rule, Keep::Members);
    let amounts: Vec<Amount> = tallies.list.iter().map(|edge| edge.total).collect();
    let shares = scatter::estimates(profile, selection, &tallies.total, &amounts);
    let mut edges: Vec<CallEdge> = (tallies.list.iter().zip(shares))
        .map(|(tally, share)| {
            let edge = rule.edges[tally.slot as usize];
            CallEdge {
                caller: edge.caller as usize,
                callee: edge.callee as usize,
                amount: tally.total,
                share,
                calls: rule.calls.of(tally.slot),
                is_bridge: !edge.is_direct,
            }
        })
        .collect();
    let all = edges.len();
    let least = (selection.weight(profile) as f64 * options.edge_share).ceil() as u64;
    edges.retain(|edge| edge.amount.weight >= least);
    edges.sort_by_key(|edge| {
        let weight = std::cmp::Reverse(edge.amount.weight);
        (weight, edge.caller, edge.callee)
    });
    let count = rows.iter().flatten().count();
    (essential(edges, count), all)
}
