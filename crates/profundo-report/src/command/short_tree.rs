//! A call tree that fits on a screen: of functions, with recursion and the runs of library frames
//! folded, cut to the hottest branches, and with chains of calls that split nowhere on one line.
//!
//! Self is the self of the table of functions. Calls that are folded into a function are in its
//! total alone, and marked by ` › …` behind its name.

use std::collections::BinaryHeap;

use profundo_analysis::{NodeId, Place, Recur, Selection, Shown, Tree, TreeOptions, tree};
use profundo_model::Profile;

/// The limits of a tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// The largest number of lines.
    pub lines: usize,
    /// The largest number of levels of lines.
    pub levels: usize,
    /// The share below which nothing is shown.
    pub min_share: f64,
}

/// The tree.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct ShortTree {
    /// The branches, in the order of their lines.
    pub branches: Vec<Branch>,
    /// True if calls are left out.
    pub is_cut: bool,
}

/// A line: a chain of calls.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Branch {
    /// The functions, the caller first.
    pub chain: Vec<Place>,
    /// The number of functions left out of the chain's middle.
    pub skipped: usize,
    /// The share of the chain's last function, with what it calls.
    pub total: f64,
    /// Its own share.
    pub own: f64,
    /// True if the last function calls functions that are folded into it.
    pub folds: bool,
    /// The guides before the name: for each level, true if more of it follows below.
    pub guides: Vec<bool>,
}

/// The number of functions of a chain that are named.
const CHAIN: usize = 4;

/// The tree of a selection. `is_folded_own` is true if what is folded into a function is its own.
pub(super) fn short_tree(
    profile: &Profile,
    selection: &Selection,
    shown: Shown,
    is_folded_own: bool,
    limits: Limits,
) -> ShortTree {
    let options = TreeOptions {
        shown,
        by_function: true,
        combine: true,
        recur: Recur::Off,
        fold_recursion: true,
    };
    let mut tree = tree(profile, selection, &options);
    tree.sort_children(|a, b| b.weight.cmp(&a.weight).then(a.place.cmp(&b.place)));
    let all = selection.weight(profile).max(1);
    let pruned = Pruned {
        tree: &tree,
        all,
        floor: (limits.min_share * all as f64).ceil() as u64,
        is_folded_own,
    };
    pruned.short(limits)
}

struct Pruned<'a> {
    tree: &'a Tree,
    all: u64,
    floor: u64,
    /// True if what is folded into a function is its own.
    is_folded_own: bool,
}

/// A chain of nodes that make one line.
struct Chain {
    nodes: Vec<NodeId>,
    level: usize,
    /// The chains below that are shown.
    below: Vec<usize>,
}

impl Pruned<'_> {
    fn short(&self, limits: Limits) -> ShortTree {
        // The hottest chain that is not shown yet comes next, whatever branch it is on.
        let mut chains: Vec<Chain> = Vec::new();
        let mut waiting: BinaryHeap<(u64, std::cmp::Reverse<NodeId>, Option<usize>, usize)> =
            BinaryHeap::new();
        let mut is_cut = false;
        let mut push = |waiting: &mut BinaryHeap<_>, of: NodeId, above: Option<usize>, level| {
            for &child in self.tree.children(of) {
                let weight = self.tree.node(child).weight;
                match weight >= self.floor.max(1) && level < limits.levels {
                    true => waiting.push((weight, std::cmp::Reverse(child), above, level)),
                    false => is_cut |= weight > 0,
                }
            }
        };
        push(&mut waiting, self.tree.root(), None, 0);
        let mut roots = Vec::new();
        while let Some((_, std::cmp::Reverse(node), above, level)) = waiting.pop() {
            if chains.len() == limits.lines {
                break;
            }
            let number = chains.len();
            let nodes = self.chain(node);
            match above {
                Some(above) => chains[above].below.push(number),
                None => roots.push(number),
            }
            let last = nodes[nodes.len() - 1];
            push(&mut waiting, last, Some(number), level + 1);
            chains.push(Chain {
                nodes,
                level,
                below: Vec::new(),
            });
        }
        let is_cut = is_cut || chains.len() == limits.lines && !waiting.is_empty();
        let mut branches = Vec::new();
        let mut guides = Vec::new();
        let mut pending: Vec<(usize, bool)> = Vec::new();
        pending.extend(with_last(&roots));
        while let Some((number, is_last)) = pending.pop() {
            let chain = &chains[number];
            guides.truncate(chain.level);
            guides.push(!is_last);
            branches.push(self.branch(chain, &guides));
            pending.extend(with_last(&chain.below));
        }
        ShortTree { branches, is_cut }
    }

    /// The chain that starts at a node: as long as nearly all of its time goes on to one callee.
    fn chain(&self, start: NodeId) -> Vec<NodeId> {
        let mut nodes = vec![start];
        let mut node = start;
        while let [first, rest @ ..] = self.tree.children(node) {
            let (here, next) = (self.tree.node(node), self.tree.node(*first));
            let is_alone = rest
                .first()
                .is_none_or(|&second| self.tree.node(second).weight < self.floor.max(1));
            let goes_on = next.weight as f64 >= 0.95 * here.weight as f64;
            if !(is_alone && goes_on && next.weight >= self.floor.max(1)) {
                break;
            }
            node = *first;
            nodes.push(node);
        }
        nodes
    }

    fn branch(&self, chain: &Chain, guides: &[bool]) -> Branch {
        let last = self.tree.node(chain.nodes[chain.nodes.len() - 1]);
        let folded = match self.is_folded_own {
            true => 0,
            false => last.folded_weight,
        };
        let share = |weight: u64| weight as f64 / self.all as f64;
        let places = chain.nodes.iter().map(|&node| self.tree.node(node).place);
        let mut places: Vec<Place> = places.collect();
        let skipped = places.len().saturating_sub(CHAIN);
        if skipped > 0 {
            // The first shows where the chain starts, the last ones where it leads to.
            places.drain(1..=skipped);
        }
        Branch {
            chain: places,
            skipped,
            total: share(last.weight),
            own: share(last.own_weight - folded),
            folds: folded >= self.floor.max(1),
            guides: guides.to_vec(),
        }
    }
}

/// The numbers from the last, with whether they are it.
fn with_last(numbers: &[usize]) -> impl Iterator<Item = (usize, bool)> + '_ {
    let last = numbers.len().wrapping_sub(1);
    (numbers.iter().enumerate().rev()).map(move |(at, &number)| (number, at == last))
}
