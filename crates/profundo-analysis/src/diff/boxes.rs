//! The tree of both sides as boxes of a picture: those that can be seen, each with its two weights.
//!
//! Of code that is new or gone one weight is nothing. So that it can be seen all the same, a box is
//! as wide as the larger of its own weights and all the boxes on it. One side's weights alone can
//! be the widths, too.

use std::cmp::Reverse;

use super::{StackNode, StackTree};
use crate::Limits;

/// The weights that are the widths of boxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Widths {
    /// The larger one of both, from the leaves down.
    #[default]
    Both,
    /// The widths before.
    Before,
    /// The widths after.
    After,
}

impl std::str::FromStr for Widths {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "both" => Ok(Self::Both),
            "before" => Ok(Self::Before),
            "after" => Ok(Self::After),
            other => Err(format!("there is no “{other}”")),
        }
    }
}

/// What a box stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffBoxOf {
    /// All that was selected.
    Root,
    /// A row of [`StackTree::nodes`].
    Node(u32),
    /// This many boxes that are too narrow to be seen.
    Narrow(u32),
}

/// A box. It stands before those on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DiffBox {
    /// What it stands for.
    pub of: DiffBoxOf,
    /// The level; 0 is the root of the picture.
    pub level: u32,
    /// The width.
    pub width: u64,
    /// The weight before, with what is on it.
    pub before: f64,
    /// The weight after.
    pub after: f64,
    /// A number for the path of functions from the root.
    pub path: u64,
}

/// The tree with its widths.
#[derive(Debug)]
pub struct DiffPicture<'a> {
    tree: &'a StackTree,
    /// By node, what it calls: the widest first.
    callees: Vec<Vec<u32>>,
    roots: Vec<u32>,
    widths: Vec<u64>,
    paths: Vec<u64>,
}

impl<'a> DiffPicture<'a> {
    /// The tree with widths. `key` has a number for the function of each node.
    pub fn new(tree: &'a StackTree, widths: Widths, key: impl Fn(&StackNode) -> u64) -> Self {
        let nodes = &tree.nodes;
        let mut callees = vec![Vec::new(); nodes.len()];
        let mut roots = Vec::new();
        let mut paths = Vec::with_capacity(nodes.len());
        for (number, node) in (0..).zip(nodes) {
            let above = match node.parent {
                Some(parent) => {
                    callees[parent as usize].push(number);
                    paths[parent as usize]
                }
                None => {
                    roots.push(number);
                    crate::forest::ROOT_PATH
                }
            };
            paths.push(crate::forest::path_with(above, key(node)));
        }
        let mut made = Self {
            tree,
            callees,
            roots,
            widths: of_nodes(nodes, widths),
            paths,
        };
        let widths = &made.widths;
        let widest = |row: &mut Vec<u32>| {
            row.sort_by_key(|&at| (Reverse(widths[at as usize]), at));
        };
        widest(&mut made.roots);
        made.callees.iter_mut().for_each(widest);
        made
    }

    /// The node at the end of a path.
    pub fn find(&self, path: u64) -> Option<u32> {
        let place = self.paths.iter().position(|&known| known == path)?;
        u32::try_from(place).ok()
    }

    /// The nodes from the root to a node's caller.
    pub fn callers(&self, node: u32) -> Vec<u32> {
        let parent = |at: &u32| self.tree.nodes[*at as usize].parent;
        let mut above: Vec<u32> = std::iter::successors(parent(&node), parent).collect();
        above.reverse();
        above
    }

    /// A node as a box of this level.
    pub fn node(&self, node: u32, level: u32) -> DiffBox {
        let row = &self.tree.nodes[node as usize];
        DiffBox {
            of: DiffBoxOf::Node(node),
            level,
            width: self.widths[node as usize],
            before: row.total.before,
            after: row.total.after,
            path: self.paths[node as usize],
        }
    }

    /// The width of the whole.
    pub fn width(&self) -> u64 {
        let widths = self.roots.iter().map(|&root| self.widths[root as usize]);
        widths.fold(0, u64::saturating_add)
    }

    /// The width of a node.
    pub fn width_of(&self, node: u32) -> u64 {
        self.widths[node as usize]
    }

    /// The boxes of a node and what is on it, or of the whole, in the order of a walk.
    pub fn boxes(&self, root: Option<u32>, limits: Limits) -> Vec<DiffBox> {
        let mut boxes = Vec::new();
        let mut open: Vec<(u32, u32)> = Vec::new();
        let least = self.least(root, limits);
        if limits.under.is_some() {
            let (row, path) = match root {
                Some(root) => (&self.callees[root as usize], self.node(root, 0).path),
                None => (&self.roots, crate::forest::ROOT_PATH),
            };
            return self.narrow(row, path, limits);
        }
        match root {
            Some(root) => open.push((root, 0)),
            None => {
                let sum = |of: fn(&StackNode) -> f64| -> f64 {
                    let roots = self.roots.iter();
                    roots.map(|&at| of(&self.tree.nodes[at as usize])).sum()
                };
                boxes.push(DiffBox {
                    of: DiffBoxOf::Root,
                    level: 0,
                    width: self.width(),
                    before: sum(|node| node.total.before),
                    after: sum(|node| node.total.after),
                    path: crate::forest::ROOT_PATH,
                });
                self.push_row(&self.roots, 1, least, boxes[0].path, &mut boxes, &mut open);
            }
        }
        self.go_on(&mut boxes, open, least);
        boxes
    }

    /// Adds what waits, and all that stands on it.
    fn go_on(&self, boxes: &mut Vec<DiffBox>, mut open: Vec<(u32, u32)>, least: u64) {
        while let Some((at, level)) = open.pop() {
            let own = self.node(at, level);
            boxes.push(own);
            let row = &self.callees[at as usize];
            self.push_row(row, level + 1, least, own.path, boxes, &mut open);
        }
    }

    /// The picture of those of a row that were narrow.
    fn narrow(&self, row: &[u32], path: u64, limits: Limits) -> Vec<DiffBox> {
        let width = |at: u32| self.widths[at as usize];
        let is_narrow = |&at: &u32| width(at) > 0 && limits.admits(width(at));
        let row: Vec<u32> = row.iter().copied().filter(is_narrow).collect();
        let total = |at: u32| &self.tree.nodes[at as usize].total;
        let whole = row
            .iter()
            .fold(0_u64, |sum, &at| sum.saturating_add(width(at)));
        let mut boxes = vec![DiffBox {
            of: DiffBoxOf::Narrow(row.len() as u32),
            level: 0,
            width: whole,
            before: row.iter().map(|&at| total(at).before).sum(),
            after: row.iter().map(|&at| total(at).after).sum(),
            path,
        }];
        let least = limits.least.min(1 + whole / crate::forest::NARROW_PARTS);
        let mut open = Vec::new();
        self.push_row(&row, 1, least, path, &mut boxes, &mut open);
        self.go_on(&mut boxes, open, least);
        boxes
    }

    /// The boxes on one: the wide ones are opened later, and the narrow ones are one box.
    fn push_row(
        &self,
        row: &[u32],
        level: u32,
        least: u64,
        path: u64,
        boxes: &mut Vec<DiffBox>,
        open: &mut Vec<(u32, u32)>,
    ) {
        let mut narrow = DiffBox {
            of: DiffBoxOf::Narrow(0),
            level,
            width: 0,
            before: 0.0,
            after: 0.0,
            path,
        };
        let mut number = 0;
        let first = open.len();
        for &at in row.iter().filter(|&&at| self.widths[at as usize] > 0) {
            let width = self.widths[at as usize];
            if width >= least {
                open.push((at, level));
                continue;
            }
            let total = &self.tree.nodes[at as usize].total;
            number += 1;
            narrow.width = narrow.width.saturating_add(width);
            narrow.before += total.before;
            narrow.after += total.after;
        }
        open[first..].reverse();
        if number > 0 {
            narrow.of = DiffBoxOf::Narrow(number);
            boxes.push(narrow);
        }
    }

    /// The least width of a box, so that there are not too many.
    fn least(&self, root: Option<u32>, limits: Limits) -> u64 {
        let mut wide = Vec::new();
        let mut open = root.map_or_else(|| self.roots.clone(), |root| vec![root]);
        let least = limits.least.max(1);
        while let Some(at) = open.pop() {
            if self.widths[at as usize] >= least {
                wide.push(self.widths[at as usize]);
                open.extend(&self.callees[at as usize]);
            }
        }
        if wide.len() <= limits.most {
            return least;
        }
        let last = wide.len() - limits.most - 1;
        let (_, bound, _) = wide.select_nth_unstable(last);
        // Of equal widths all or none are seen.
        *bound + 1
    }
}

fn of_nodes(nodes: &[StackNode], widths: Widths) -> Vec<u64> {
    let whole = |number: f64| number.max(0.0).round() as u64;
    let mut made: Vec<u64> = (nodes.iter())
        .map(|node| match widths {
            Widths::Both => whole(node.own.before.max(node.own.after)),
            Widths::Before => whole(node.own.before),
            Widths::After => whole(node.own.after),
        })
        .collect();
    // A caller stands before its callees.
    for at in (0..nodes.len()).rev() {
        if let Some(parent) = nodes[at].parent {
            made[parent as usize] = made[parent as usize].saturating_add(made[at]);
        }
    }
    made
}

impl StackNode {
    /// The strength of a change, from 0 to 3: by the part of the larger weight that was added or
    /// taken away.
    pub fn strength(&self) -> u8 {
        /// The parts from which on a change is stronger.
        const STEPS: [f64; 3] = [0.05, 0.15, 0.4];
        let most = self.total.before.max(self.total.after);
        let part = match most > 0.0 {
            true => (self.total.after - self.total.before).abs() / most,
            false => 0.0,
        };
        STEPS.iter().filter(|&&step| part >= step).count() as u8
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Options, compare_stacks};
    use super::*;
    use profundo_model::Profile;

    fn pictured<T>(widths: Widths, look: impl Fn(&DiffPicture<'_>, &StackTree) -> T) -> T {
        let before = Profile::from_folded("main;work;old 30\nmain;work 10\nmain;same 40").unwrap();
        let after = Profile::from_folded("main;work;new 50\nmain;work 10\nmain;same 40").unwrap();
        let tree = compare_stacks(&[&before], &[&after], &Options::default()).unwrap();
        let picture = DiffPicture::new(&tree, widths, |node| {
            let (profile, at) = match (node.of.after, node.of.before) {
                (Some((_, place)), _) => (&after, place),
                (None, Some((_, place))) => (&before, place),
                (None, None) => unreachable!("a node is on a side"),
            };
            let crate::Place::Frame(frame) = at else {
                return 0;
            };
            let name = profile.function_name(frame).bytes();
            name.fold(7, |key, byte| key * 31 + u64::from(byte))
        });
        look(&picture, &tree)
    }

    /// A sample of these profiles weighs a millisecond.
    const SAMPLE: u64 = 1_000_000;

    const ALL: Limits = Limits::new(1, 1000);

    fn shape(boxes: &[DiffBox]) -> Vec<(u32, u64, f64, f64)> {
        let samples = |weight: f64| (weight / SAMPLE as f64).round();
        let row = |one: &DiffBox| {
            let width = samples(one.width as f64) as u64;
            (one.level, width, samples(one.before), samples(one.after))
        };
        boxes.iter().map(row).collect()
    }

    #[test]
    fn new_and_gone_code_are_both_seen() {
        let boxes = pictured(Widths::Both, |picture, _| picture.boxes(None, ALL));
        assert_eq!(
            shape(&boxes),
            [
                (0, 130, 80.0, 100.0),
                (1, 130, 80.0, 100.0),
                (2, 90, 40.0, 60.0),
                (3, 50, 0.0, 50.0),
                (3, 30, 30.0, 0.0),
                (2, 40, 40.0, 40.0),
            ]
        );
    }

    #[test]
    fn one_side_has_its_own_widths() {
        for (widths, whole, least) in [(Widths::Before, 80, 30), (Widths::After, 100, 40)] {
            let boxes = pictured(widths, |picture, _| picture.boxes(None, ALL));
            assert_eq!(boxes[0].width, whole * SAMPLE);
            let narrowest = boxes.iter().map(|one| one.width).min();
            assert_eq!(narrowest, Some(least * SAMPLE));
        }
    }

    #[test]
    fn a_path_leads_to_its_node_and_back() {
        pictured(Widths::Both, |picture, tree| {
            for (number, node) in (0..).zip(&tree.nodes) {
                let own = picture.node(number, 0);
                assert_eq!(picture.find(own.path), Some(number));
                let boxes = picture.boxes(Some(number), ALL);
                assert_eq!(boxes[0], own);
                assert_eq!(picture.callers(number).last().copied(), node.parent);
            }
            assert_eq!(picture.find(1), None);
        });
    }

    #[test]
    fn narrow_boxes_keep_their_weights() {
        let limits = Limits::new(45 * SAMPLE, 1000);
        let boxes = pictured(Widths::Both, |picture, _| picture.boxes(None, limits));
        let narrow: Vec<&DiffBox> = (boxes.iter())
            .filter(|one| matches!(one.of, DiffBoxOf::Narrow(_)))
            .collect();
        assert_eq!(narrow.len(), 2);
        let sums = |of: fn(&DiffBox) -> f64| {
            let sum: f64 = narrow.iter().map(|one| of(one)).sum();
            (sum / SAMPLE as f64).round()
        };
        assert_eq!(
            (sums(|one| one.before), sums(|one| one.after)),
            (70.0, 40.0)
        );
        let few = Limits::new(1, 2);
        let boxes = pictured(Widths::Both, |picture, _| picture.boxes(None, few));
        let nodes = boxes
            .iter()
            .filter(|one| matches!(one.of, DiffBoxOf::Node(_)));
        assert!(nodes.count() <= 2);
    }
}
