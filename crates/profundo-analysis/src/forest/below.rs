//! The picture with callers at the root.

use std::cmp::Reverse;

use super::weights::CallWeight;
use super::{BoxOf, Forest, ForestBox, Limits, Weights};

/// A box of what was narrow is at least as wide as this part of it.
pub(crate) const NARROW_PARTS: u64 = 3000;

/// The order of the boxes on one box, from the left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BoxOrder {
    /// By a rank that the caller gives each function, such as that of its name.
    #[default]
    Name,
    /// The widest first.
    Widest,
}

/// The boxes of a call and of what it calls, in the order of a walk. `rank` has the place of each
/// function in the order of names.
pub fn below(
    forest: &Forest,
    weights: &Weights,
    call: u32,
    limits: Limits,
    order: BoxOrder,
    rank: &[u32],
) -> Vec<ForestBox> {
    let limits = match limits.under {
        None => limits,
        // Boxes are as narrow as the whole of what was narrow allows.
        Some(_) => {
            let totals = forest
                .callees(call)
                .iter()
                .map(|&row| weights.total[row as usize]);
            let whole = opened(totals.filter(|total| limits.admits(total.weight)), 0).weight;
            Limits {
                least: limits.least.min(1 + whole.weight / NARROW_PARTS),
                ..limits
            }
        }
    };
    let least = least(forest, weights, call, limits);
    let level = forest.calls[call as usize].level;
    let mut boxes = Vec::new();
    let mut open = vec![(call, forest.path(call))];
    let mut seen: Vec<u32> = Vec::new();
    let is_part = limits.under.is_some();
    while let Some((at, path)) = open.pop() {
        let row = &forest.calls[at as usize];
        let depth = row.level - level;
        let admits = |weight: u64| depth > 0 || limits.admits(weight);
        boxes.push(match is_part && depth == 0 {
            true => {
                let totals = forest
                    .callees(at)
                    .iter()
                    .map(|&row| weights.total[row as usize]);
                opened(totals.filter(|total| admits(total.weight)), path)
            }
            false => ForestBox {
                of: match at {
                    0 => BoxOf::Root,
                    _ => BoxOf::Function(row.function),
                },
                level: depth,
                weight: weights.total[at as usize],
                own: weights.own[at as usize],
                lines: row.lines,
                path,
            },
        });
        let mut narrow = (0, CallWeight::default());
        seen.clear();
        for &callee in forest.callees(at) {
            let weight = weights.total[callee as usize];
            if weight.weight == 0 || !admits(weight.weight) {
                continue;
            }
            if weight.weight >= least {
                seen.push(callee);
            } else {
                narrow.0 += 1;
                narrow.1.add(weight);
            }
        }
        let rank_of = |call: u32| rank[forest.calls[call as usize].function as usize];
        match order {
            BoxOrder::Name => seen.sort_by_key(|&call| rank_of(call)),
            BoxOrder::Widest => seen
                .sort_by_key(|&call| (Reverse(weights.total[call as usize].weight), rank_of(call))),
        }
        // These two have nothing on them, so they can stand before the callees, and the widths of
        // the callees still add up from the left.
        let system = weights.system[at as usize];
        let extra = |of, weight| ForestBox {
            of,
            level: depth + 1,
            weight,
            own: weight,
            lines: (0, 0),
            path,
        };
        if system >= least.max(1) && !(is_part && depth == 0) {
            let weight = CallWeight {
                weight: system,
                count: 0,
            };
            boxes.push(extra(BoxOf::System, weight));
        }
        if narrow.0 > 0 {
            boxes.push(extra(BoxOf::Narrow(narrow.0), narrow.1));
        }
        for &callee in seen.iter().rev() {
            let function = forest.calls[callee as usize].function;
            open.push((callee, forest.path_with(path, function)));
        }
    }
    boxes
}

/// The first box of what was narrow: it says how many calls there are.
pub(super) fn opened(totals: impl Iterator<Item = CallWeight>, path: u64) -> ForestBox {
    let (mut number, mut weight) = (0, CallWeight::default());
    for total in totals.filter(|total| total.weight > 0) {
        number += 1;
        weight.add(total);
    }
    ForestBox {
        of: BoxOf::Narrow(number),
        level: 0,
        weight,
        own: CallWeight::default(),
        lines: (0, 0),
        path,
    }
}

/// The least weight of a box, so that there are not too many.
fn least(forest: &Forest, weights: &Weights, call: u32, limits: Limits) -> u64 {
    let mut wide = Vec::new();
    let mut open = vec![call];
    let least = limits.least.max(1);
    while let Some(at) = open.pop() {
        for &callee in forest.callees(at) {
            let weight = weights.total[callee as usize].weight;
            if weight >= least && (at != call || limits.admits(weight)) {
                wide.push(weight);
                open.push(callee);
            }
        }
    }
    if wide.len() <= limits.most {
        return least;
    }
    let last = wide.len() - limits.most - 1;
    let (_, bound, _) = wide.select_nth_unstable(last);
    // Of equal weights all or none are seen.
    *bound + 1
}
