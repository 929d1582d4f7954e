//! The calls of a profile as one tree that is built once. A selection puts its weights on it.
//!
//! A page asks for pictures of one recording again and again, each with another filter. The shape
//! of the tree does not depend on the filter: only the weights do. So the shape is kept, and a
//! filter costs two passes over arrays: the weight of each stack is added where it ends, and from
//! the last call to the first each total is added to its caller's.
//!
//! ```text
//! profile ─▶ Forest ─┐
//! selection ─────────┴▶ Weights ─┬▶ below()  callers at the root: flame, icicle
//!                                └▶ sets()   inverted; the callers and the callees of one
//! selection ─────────┬▶ in_time()  a lane for each thread, in the order of time
//!                    └▶ box_shares()  the shares of one box, with their uncertainty
//! ```
//!
//! Both pictures contain the boxes that are wide enough to be seen. The narrow ones below a caller
//! are one box that says how many there are, so widths always add up.

mod below;
mod build;
mod in_time;
mod runs;
mod sets;
mod shares;
mod weights;

#[cfg(test)]
mod shares_tests;
#[cfg(test)]
mod tests;

use profundo_model::{LocationId, Profile};

use crate::Place;

pub(crate) use below::NARROW_PARTS;
pub use below::{BoxOrder, below};
pub use in_time::{Lane, LaneBox, LaneOptions, in_time};
pub use runs::{Run, Runs};
pub use sets::{Start, sets, sets_at};
pub use shares::{BoxShares, box_shares};
pub use weights::{CallWeight, Weights};

use crate::Shown;

/// The shape of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ForestOptions {
    /// The shown part of stacks.
    pub shown: Shown,
    /// Whether each line of a function is a call of its own.
    pub by_line: bool,
}

/// A function of the tree, or a line of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForestFunction {
    /// The function, by the first of its places.
    pub place: Place,
    /// The first location that it was seen at.
    pub location: LocationId,
    /// A number for its name and its file. It is the same in each recording and in each tree.
    pub key: u64,
}

/// A function, called along one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForestCall {
    /// The caller. The root is its own.
    pub parent: u32,
    /// The row in [`Forest::functions`].
    pub function: u32,
    /// The distance from the root.
    pub level: u32,
    /// The first and the last line at which it was seen; 0 where unknown.
    pub lines: (u32, u32),
}

/// The tree, see the module. Call 0 is the root, which stands for no function.
#[derive(Debug, Clone)]
pub struct Forest {
    calls: Vec<ForestCall>,
    functions: Vec<ForestFunction>,
    /// By stack, the call in which it ends.
    ends: Vec<u32>,
    /// By call, where its callees begin in `callees`; one more at the end.
    starts: Vec<u32>,
    callees: Vec<u32>,
}

/// The function of the root.
pub const NO_FUNCTION: u32 = u32::MAX;

/// What a box of a picture stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BoxOf {
    /// All that was selected, or the function that the picture is about.
    Root,
    /// A process, a thread or another part of the selection, by its place in a list.
    Part(u32),
    /// A function: a row of [`Forest::functions`].
    Function(u32),
    /// System calls of the function below.
    System,
    /// This many boxes that are too narrow to be seen.
    Narrow(u32),
}

/// A box of a picture. A box stands before those on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ForestBox {
    /// What it stands for.
    pub of: BoxOf,
    /// The level; 0 is the root of the picture.
    pub level: u32,
    /// Its weight, and that of what ends in it.
    pub weight: CallWeight,
    /// The part of the weight that ends here.
    pub own: CallWeight,
    /// The first and the last line; 0 where unknown.
    pub lines: (u32, u32),
    /// A number for the path of functions from the root, the same in each tree.
    pub path: u64,
}

/// The limits of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The least weight of a box.
    pub least: u64,
    /// The largest number of boxes.
    pub most: usize,
    /// Of the boxes on the first one, only those that weigh less; `None` for all. What was narrow
    /// in a picture opens as one of its own, whose first box says how many there are.
    pub under: Option<u64>,
}

impl Limits {
    /// Limits of a whole picture.
    pub const fn new(least: u64, most: usize) -> Self {
        Self {
            least,
            most,
            under: None,
        }
    }

    /// Whether a box of this weight on the first one is in the picture.
    pub(crate) fn admits(&self, weight: u64) -> bool {
        self.under.is_none_or(|under| weight < under)
    }
}

impl Forest {
    /// The tree of all stacks of a profile.
    pub fn new(profile: &Profile, options: &ForestOptions) -> Self {
        build::build(profile, options)
    }

    /// The functions.
    pub fn functions(&self) -> &[ForestFunction] {
        &self.functions
    }

    /// The number of calls, the root included.
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// True if no stack has a call that is shown.
    pub fn is_empty(&self) -> bool {
        self.calls.len() == 1
    }

    fn callees(&self, call: u32) -> &[u32] {
        let (from, to) = (self.starts[call as usize], self.starts[call as usize + 1]);
        &self.callees[from as usize..to as usize]
    }

    /// The number of a path that goes on with a function.
    fn path_with(&self, path: u64, function: u32) -> u64 {
        path_with(path, self.functions[function as usize].key)
    }

    /// The number of the path to a call.
    pub fn path(&self, call: u32) -> u64 {
        let mut above = Vec::new();
        let mut next = call;
        while next != 0 {
            above.push(self.calls[next as usize].function);
            next = self.calls[next as usize].parent;
        }
        let start = ROOT_PATH;
        above
            .iter()
            .rev()
            .fold(start, |path, &f| self.path_with(path, f))
    }

    /// The call at the end of a path.
    pub fn find(&self, path: u64) -> Option<u32> {
        let mut paths = Vec::with_capacity(self.calls.len());
        for (number, call) in self.calls.iter().enumerate() {
            let own = match number {
                0 => ROOT_PATH,
                _ => self.path_with(paths[call.parent as usize], call.function),
            };
            if own == path {
                return u32::try_from(number).ok();
            }
            paths.push(own);
        }
        None
    }

    /// The functions from the root to a call, the root left out.
    pub fn callers(&self, call: u32) -> Vec<u32> {
        let mut above = Vec::new();
        let mut next = call;
        while next != 0 {
            above.push(next);
            next = self.calls[next as usize].parent;
        }
        above.reverse();
        above
    }

    /// A call.
    pub fn call(&self, call: u32) -> &ForestCall {
        &self.calls[call as usize]
    }
}

/// The path of the root.
pub const ROOT_PATH: u64 = 0;

/// Numbers of paths have so many bits: a page reads them as numbers of JSON.
const PATH_BITS: u32 = 52;

/// The pictures of parts of a selection beside each other, the widest first, on one root. `of_part`
/// makes the boxes of a part.
pub fn beside(
    parts: &[CallWeight],
    mut of_part: impl FnMut(usize) -> Vec<ForestBox>,
) -> Vec<ForestBox> {
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|&part| (std::cmp::Reverse(parts[part].weight), part));
    let mut weight = CallWeight::default();
    parts.iter().for_each(|part| weight.add(*part));
    let mut boxes = vec![ForestBox {
        of: BoxOf::Root,
        level: 0,
        weight,
        own: CallWeight::default(),
        lines: (0, 0),
        path: ROOT_PATH,
    }];
    for part in order {
        boxes.extend(of_part(part).into_iter().map(|a_box| ForestBox {
            of: match a_box.of {
                BoxOf::Root => BoxOf::Part(part as u32),
                other => other,
            },
            level: a_box.level + 1,
            path: path_beside(part, a_box.path),
            ..a_box
        }));
    }
    boxes
}

/// The part and the call of the box with this path, in the pictures of so many parts beside each
/// other.
pub fn find_beside(forest: &Forest, parts: usize, path: u64) -> Option<(usize, u32)> {
    let mut paths = Vec::with_capacity(forest.calls.len());
    for (number, call) in forest.calls.iter().enumerate() {
        let own = match number {
            0 => ROOT_PATH,
            _ => forest.path_with(paths[call.parent as usize], call.function),
        };
        if let Some(part) = (0..parts).find(|&part| path_with(part as u64 + 1, own) == path) {
            return Some((part, u32::try_from(number).ok()?));
        }
        paths.push(own);
    }
    None
}

/// The path of a box within the picture of a part beside others.
pub fn path_beside(part: usize, path: u64) -> u64 {
    path_with(part as u64 + 1, path)
}

/// The number of a path that goes on with a function of this number.
pub(crate) fn path_with(path: u64, key: u64) -> u64 {
    let mixed = (path ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_add(key.rotate_left(17));
    mixed.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> (64 - PATH_BITS)
}
