//! Pictures whose boxes are sets of calls: with callees at the root, each box standing on the
//! function that it calls; and all calls of one function, with its callees or its callers on it.
//!
//! Turned round, a tree of a million stacks would have many more calls than the tree itself. So it
//! is never built: a box is a set of calls with their weights, and only the boxes that can be seen
//! are divided further.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use super::weights::CallWeight;
use super::{BoxOf, Forest, ForestBox, Limits, NO_FUNCTION, ROOT_PATH, Weights};

/// What a picture begins with, and where it goes from there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// The functions in which samples end, each with what ends in it; then their callers.
    Ends,
    /// The calls of one function with all their callees; then their callers.
    CallersOf(u32),
    /// The same calls; then their callees.
    CalleesOf(u32),
}

/// Calls that are the same function so far, each with the weight that came from the root of the
/// picture. The call is the one to be looked at next.
type Set = Vec<(u32, CallWeight)>;

/// A box that waits for its turn.
struct Open {
    function: u32,
    level: u32,
    path: u64,
    set: Set,
}

/// The boxes, in the order of a walk, the widest first. Of calls of a function within a call of it,
/// only the outermost counts.
pub fn sets(forest: &Forest, weights: &Weights, start: Start, limits: Limits) -> Vec<ForestBox> {
    let walk = Walk {
        forest,
        weights,
        start,
    };
    let first = start_set(forest, weights, start);
    let mut boxes = Vec::new();
    // The ends of stacks are several functions, which have a root below them.
    let level = match start {
        Start::Ends => 1,
        Start::CallersOf(_) | Start::CalleesOf(_) => 0,
    };
    if level > 0 {
        boxes.push(root_of(&first));
    }
    let mut open: Vec<Open> = Vec::new();
    let from = (level, ROOT_PATH);
    divide(forest, &mut boxes, &mut open, from, first, limits.least);
    walk.go_on(&mut boxes, open, limits);
    boxes
}

/// The part of the picture from the box with this path on, and the boxes that it stands on. The
/// limits are made for its weight. `None` if no sample is in such a box.
pub fn sets_at(
    forest: &Forest,
    weights: &Weights,
    start: Start,
    path: u64,
    limits: impl FnOnce(u64) -> Limits,
) -> Option<(Vec<ForestBox>, Vec<ForestBox>)> {
    let walk = Walk {
        forest,
        weights,
        start,
    };
    let first = start_set(forest, weights, start);
    let trail = trail_to(forest, &first, start, path)?;
    let (last, above) = trail.split_last()?;
    let mut below = Vec::new();
    let mut set = first;
    let mut at = ROOT_PATH;
    for (level, &function) in (0..).zip(above) {
        at = forest.path_with(at, function);
        set.retain(|(call, _)| forest.calls[*call as usize].function == function);
        let (a_box, next) = walk.step(Open {
            function,
            level,
            path: at,
            set,
        });
        below.push(a_box);
        set = next;
    }
    set.retain(|(call, _)| forest.calls[*call as usize].function == *last);
    let weight = set
        .iter()
        .fold(0_u64, |sum, (_, part)| sum.saturating_add(part.weight));
    let open = vec![Open {
        function: *last,
        level: 0,
        path,
        set,
    }];
    let mut boxes = Vec::new();
    walk.go_on(&mut boxes, open, limits(weight));
    Some((below, boxes))
}

/// The functions of the boxes from the picture's root to the one with this path.
fn trail_to(forest: &Forest, first: &Set, start: Start, path: u64) -> Option<Vec<u32>> {
    let function = |call: u32| forest.calls[call as usize].function;
    if let Start::CalleesOf(_) = start {
        let mut open: Vec<(u32, u64)> = (first.iter())
            .map(|&(call, _)| (call, forest.path_with(ROOT_PATH, function(call))))
            .collect();
        let starts: Vec<u32> = first.iter().map(|&(call, _)| call).collect();
        while let Some((call, at)) = open.pop() {
            if at == path {
                let above = forest.callers(call);
                let from = above.iter().rposition(|call| starts.contains(call))?;
                return Some(above[from..].iter().map(|&call| function(call)).collect());
            }
            let callees = forest.callees(call).iter();
            open.extend(callees.map(|&callee| (callee, forest.path_with(at, function(callee)))));
        }
        return None;
    }
    let mut trail = Vec::new();
    for &(call, _) in first {
        trail.clear();
        let (mut at, mut call) = (ROOT_PATH, call);
        while call != 0 {
            at = forest.path_with(at, function(call));
            trail.push(function(call));
            if at == path {
                return Some(trail);
            }
            call = forest.calls[call as usize].parent;
        }
    }
    None
}

fn root_of(first: &Set) -> ForestBox {
    let mut weight = CallWeight::default();
    first.iter().for_each(|(_, part)| weight.add(*part));
    ForestBox {
        of: BoxOf::Root,
        level: 0,
        weight,
        own: CallWeight::default(),
        lines: (0, 0),
        path: ROOT_PATH,
    }
}

/// A walk over a picture.
struct Walk<'a> {
    forest: &'a Forest,
    weights: &'a Weights,
    start: Start,
}

impl Walk<'_> {
    /// The box of a set, and the calls that stand on it.
    fn step(&self, open: Open) -> (ForestBox, Set) {
        let Open {
            function,
            level,
            path,
            set,
        } = open;
        let (forest, weights) = (self.forest, self.weights);
        let mut lines = (0, 0);
        let (mut weight, mut own) = (CallWeight::default(), CallWeight::default());
        let mut next = Set::with_capacity(set.len());
        for (call, part) in set {
            let row = &forest.calls[call as usize];
            weight.add(part);
            lines = join(lines, row.lines);
            if let Start::CalleesOf(_) = self.start {
                own.add(weights.own[call as usize]);
                let callees = forest.callees(call).iter();
                let callees = callees.map(|&callee| (callee, weights.total[callee as usize]));
                next.extend(callees.filter(|(_, weight)| weight.weight > 0));
            } else if row.parent == 0 {
                own.add(part);
            } else {
                next.push((row.parent, part));
            }
        }
        let a_box = ForestBox {
            of: BoxOf::Function(function),
            level,
            weight,
            own,
            lines,
            path,
        };
        (a_box, next)
    }

    /// Adds what waits, and all that stands on it.
    fn go_on(&self, boxes: &mut Vec<ForestBox>, mut open: Vec<Open>, limits: Limits) {
        while let Some(one) = open.pop() {
            let (a_box, next) = self.step(one);
            boxes.push(a_box);
            // A picture is cut where it has too many boxes: the rest of the walk is not divided.
            if boxes.len() < limits.most {
                let from = (a_box.level + 1, a_box.path);
                divide(self.forest, boxes, &mut open, from, next, limits.least);
            }
        }
    }
}

fn start_set(forest: &Forest, weights: &Weights, start: Start) -> Set {
    let calls = 1..forest.calls.len() as u32;
    match start {
        Start::Ends => calls
            .map(|call| (call, weights.own[call as usize]))
            .filter(|(_, weight)| weight.weight > 0)
            .collect(),
        Start::CallersOf(function) | Start::CalleesOf(function) => {
            // By call, whether it is within a call of the function.
            let mut within = vec![false; forest.calls.len()];
            let mut set = Set::new();
            for call in calls {
                let row = &forest.calls[call as usize];
                let is_within = within[row.parent as usize];
                let is_it = row.function == function;
                within[call as usize] = is_within || is_it;
                let weight = weights.total[call as usize];
                if is_it && !is_within && weight.weight > 0 {
                    set.push((call, weight));
                }
            }
            set
        }
    }
}

/// Divides a set by function, and leaves the parts that can be seen for later.
fn divide(
    forest: &Forest,
    boxes: &mut Vec<ForestBox>,
    open: &mut Vec<Open>,
    (level, path): (u32, u64),
    set: Set,
    least: u64,
) {
    let mut sums: FxHashMap<u32, (CallWeight, Set)> = FxHashMap::default();
    for (call, weight) in set {
        let function = forest.calls[call as usize].function;
        debug_assert_ne!(function, NO_FUNCTION);
        let (sum, part) = sums.entry(function).or_default();
        sum.add(weight);
        part.push((call, weight));
    }
    let mut parts: Vec<(u32, CallWeight, Set)> = Vec::with_capacity(sums.len());
    let mut narrow = (0, CallWeight::default());
    for (function, (sum, part)) in sums {
        if sum.weight >= least.max(1) {
            parts.push((function, sum, part));
        } else {
            narrow.0 += 1;
            narrow.1.add(sum);
        }
    }
    if narrow.0 > 0 {
        boxes.push(ForestBox {
            of: BoxOf::Narrow(narrow.0),
            level,
            weight: narrow.1,
            own: narrow.1,
            lines: (0, 0),
            path,
        });
    }
    parts.sort_by_key(|&(function, sum, _)| (Reverse(sum.weight), function));
    for (function, _, set) in parts.into_iter().rev() {
        open.push(Open {
            function,
            level,
            path: forest.path_with(path, function),
            set,
        });
    }
}

fn join((a, b): (u32, u32), (c, d): (u32, u32)) -> (u32, u32) {
    match (a, c) {
        (0, _) => (c, d),
        (_, 0) => (a, b),
        _ => (a.min(c), b.max(d)),
    }
}
