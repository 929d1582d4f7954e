//! The call trees of both sides as one tree, whose nodes are matched by their functions.

use rustc_hash::FxHashMap;

use super::draft::{Draft, mean_factor};
use super::factor::Factor;
use super::measure::Scaled;
use super::table::{Change, Subject};
use super::test::{self, Cell, Runs, difference};
use super::{Difference, Prepared, Scale, Unit};
use crate::amount::Amount;
use crate::scatter::{self, Members};
use crate::{Place, each_shown_stack};

/// What has become of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trend {
    /// Growth: it takes more than before.
    Grew,
    /// Shrinkage: it takes less.
    Shrank,
    /// A new node: it was not there before.
    New,
    /// A node that is not there any more.
    Gone,
    /// The difference may be chance.
    Unclear,
}

/// A function below its callers.
#[derive(Debug, Clone, PartialEq)]
pub struct StackNode {
    /// The number of the caller's node, which comes earlier.
    pub parent: Option<u32>,
    /// The subject of the node.
    pub of: Subject,
    /// Its own amount.
    pub own: Difference,
    /// Its amount with callees.
    pub total: Difference,
    /// The trend of its total.
    pub trend: Trend,
}

/// The tree.
#[derive(Debug, Clone, PartialEq)]
pub struct StackTree {
    /// The scale of the amounts.
    pub scale: Scale,
    /// Their unit.
    pub unit: Unit,
    /// The nodes, callers before callees.
    pub nodes: Vec<StackNode>,
}

/// A node in the making: its caller, its function after or before, and where it was seen.
struct Growing {
    parent: Option<u32>,
    of: Subject,
    own: [Vec<Cell>; 2],
    total: [Vec<Cell>; 2],
}

fn grow(prepared: &mut Prepared<'_>) -> Vec<Growing> {
    /// A function after, or one that is only before.
    type Function = (bool, u32);
    const ROOT: u32 = u32::MAX;
    let runs = [0, 1].map(|side| prepared.profiles[side].len());
    let mut nodes: Vec<Growing> = Vec::new();
    let mut children: FxHashMap<(u32, Function), u32> = FxHashMap::default();
    for side in [1, 0] {
        for run in 0..runs[side] {
            let profile = prepared.profiles[side][run];
            let weights = prepared.selections[side][run].stacks(profile).to_vec();
            let (mut own, mut total) = (Members::default(), Members::default());
            let mut amounts = vec![[Amount::default(); 2]; nodes.len()];
            let mut at_stack = weights.iter();
            let mut known: FxHashMap<Place, Function> = FxHashMap::default();
            let shown = prepared.options.shown;
            let stacks = weights.iter().map(|weight| weight.stack);
            each_shown_stack(profile, stacks, shown, |_, path| {
                let Some(weight) = at_stack.next() else {
                    return;
                };
                let mut node = ROOT;
                for &(place, _) in path {
                    let function = *known.entry(place).or_insert_with(|| {
                        let function = prepared.codes[side].of(run, place);
                        match side {
                            1 => (true, function),
                            _ => match prepared.after_of(function) {
                                (Some(other), _) => (true, other),
                                (None, _) => (false, function),
                            },
                        }
                    });
                    let parent = node;
                    node = *children.entry((parent, function)).or_insert_with(|| {
                        nodes.push(Growing {
                            parent: (parent != ROOT).then_some(parent),
                            of: Subject {
                                name: None,
                                before: None,
                                after: None,
                            },
                            own: runs.map(|count| vec![Cell::default(); count]),
                            total: runs.map(|count| vec![Cell::default(); count]),
                        });
                        amounts.push([Amount::default(); 2]);
                        u32::try_from(nodes.len() - 1).expect("fewer than 2^32 nodes")
                    });
                    let of = &mut nodes[node as usize].of;
                    let seen = if side == 0 {
                        &mut of.before
                    } else {
                        &mut of.after
                    };
                    *seen = seen.or(Some((run, place)));
                    amounts[node as usize][1].add(weight);
                    total.add(node as usize);
                }
                if node != ROOT {
                    amounts[node as usize][0].add(weight);
                    own.add(node as usize);
                }
                own.end_stack();
                total.end_stack();
            });
            let scaled = Scaled::new(prepared, side, run);
            let selection = &prepared.selections[side][run];
            for (which, members) in [own, total].into_iter().enumerate() {
                let sums: Vec<Amount> = amounts.iter().map(|sums| sums[which]).collect();
                let shares = scatter::estimates(profile, selection, &members, &sums);
                for ((node, sum), share) in nodes.iter_mut().zip(&sums).zip(&shares) {
                    let cells = if which == 0 {
                        &mut node.own
                    } else {
                        &mut node.total
                    };
                    cells[side][run] = scaled.cell(sum, share);
                }
            }
        }
    }
    // A node that came later was not in the earlier runs: the uncertainty of nothing is that of
    // one sample.
    for side in [0, 1] {
        for run in 0..runs[side] {
            let none = scaled_nothing(prepared, side, run);
            for node in &mut nodes {
                for cells in [&mut node.own, &mut node.total] {
                    if cells[side][run] == Cell::default() {
                        cells[side][run] = none;
                    }
                }
            }
        }
    }
    nodes
}

/// The cell of a row without samples.
pub(super) fn scaled_nothing(prepared: &Prepared<'_>, side: usize, run: usize) -> Cell {
    let profile = prepared.profiles[side][run];
    let mass = prepared.selections[side][run].mass(profile);
    let scale = prepared
        .scale
        .of_run(profile, &prepared.selections[side][run]);
    let each = match mass.weight > 0.0 && !crate::weights::is_exact(profile) {
        true => mass.squares / mass.weight,
        false => 0.0,
    };
    Cell {
        value: 0.0,
        variance: (each * scale).powi(2),
    }
}

/// The table of call paths.
pub(super) fn draft(prepared: &mut Prepared<'_>) -> Draft {
    let nodes = grow(prepared);
    let mut names: Vec<String> = Vec::with_capacity(nodes.len());
    for node in &nodes {
        let (side, (run, place)) = match (node.of.after, node.of.before) {
            (Some(after), _) => (1, after),
            (None, Some(before)) => (0, before),
            (None, None) => continue,
        };
        // The name in other reports, where a C function of Python's has that of both.
        let name = match place {
            Place::Frame(frame) => prepared.profiles[side][run].function_name(frame),
            Place::Reason(reason) => reason.name(),
            Place::Unknown => "",
        };
        let name = if name.is_empty() {
            "[unknown function]"
        } else {
            name
        };
        names.push(match node.parent {
            Some(parent) => format!("{};{name}", names[parent as usize]),
            None => name.to_owned(),
        });
    }
    let rows: Vec<_> = (nodes.into_iter().zip(names))
        .map(|(node, name)| {
            let of = Subject {
                name: Some(name),
                ..node.of
            };
            (of, Change::None, node.own, node.total)
        })
        .collect();
    Draft::of_stacks(prepared, rows)
}

/// The tree with the tests of its nodes.
pub(super) fn tree(prepared: &mut Prepared<'_>) -> StackTree {
    let functions = Draft::new(prepared, super::By::Function);
    let factors = functions.factors(prepared);
    let runs = [0, 1].map(|side| prepared.profiles[side].len());
    let is_single = runs == [1, 1];
    let factor = super::between(&factors, runs[0]);
    let spread = functions.spread(prepared, is_single);
    let nodes = grow(prepared);
    let mut nodes: Vec<StackNode> = nodes
        .into_iter()
        .map(|mut node| {
            even(&mut node, &factors, runs[0]);
            let of = |cells: &[Vec<Cell>; 2]| {
                let [before, after] = cells;
                difference(Runs { before, after }, factor, spread)
            };
            StackNode {
                parent: node.parent,
                own: of(&node.own),
                total: of(&node.total),
                of: node.of,
                trend: Trend::Unclear,
            }
        })
        .collect();
    test::mark(nodes.iter_mut().map(|node| &mut node.total));
    for node in &mut nodes {
        node.trend = match (node.total.is_significant, node.total) {
            (false, _) => Trend::Unclear,
            (true, total) if total.before == 0.0 => Trend::New,
            (true, total) if total.after == 0.0 => Trend::Gone,
            (true, total) if total.change > 0.0 => Trend::Grew,
            _ => Trend::Shrank,
        };
    }
    StackTree {
        scale: prepared.scale.clone(),
        unit: prepared.unit,
        nodes,
    }
}

/// Takes the factors of runs out, as in the tables.
fn even(node: &mut Growing, factors: &[Factor], before: usize) {
    if factors.len() < 2 {
        return;
    }
    let (first, second) = factors.split_at(before);
    for (side, factors) in [first, second].into_iter().enumerate() {
        let middle = mean_factor(factors);
        for cells in [&mut node.own[side], &mut node.total[side]] {
            for (cell, factor) in cells.iter_mut().zip(factors) {
                cell.take_out(*factor, middle);
            }
        }
    }
}
