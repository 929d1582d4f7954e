//! The stacks of a selection as one walk over the tree of all stacks.
//!
//! Stacks share their callers. A question that looks at each level of each stack would look at a
//! shared caller once for each stack above it. The walk enters a caller once, then everything that
//! it called, then leaves it.

use profundo_model::{LocationId, Profile, StackId};

use crate::Selection;

/// The order of all stacks in a walk: a caller comes right before what it called.
#[derive(Debug, Default)]
pub(crate) struct StackOrder {
    /// By stack, its position.
    positions: Vec<u32>,
    /// By stack, the position after the last stack that it calls.
    ends: Vec<u32>,
}

impl StackOrder {
    pub(crate) fn new(profile: &Profile) -> Self {
        let parents: Vec<Option<StackId>> =
            (profile.stacks.iter()).map(|stack| stack.parent).collect();
        // A parent is stored before its children, so one pass from the end sees all children first.
        let mut sizes = vec![1_u32; parents.len()];
        for (index, parent) in parents.iter().enumerate().rev() {
            if let Some(parent) = parent {
                sizes[parent.index()] += sizes[index];
            }
        }
        let mut positions = vec![0; parents.len()];
        let mut ends = sizes;
        // By stack, the position of its next child.
        let mut next = vec![0; parents.len()];
        let mut next_root = 0;
        for (index, parent) in parents.iter().enumerate() {
            let free = match parent {
                Some(parent) => &mut next[parent.index()],
                None => &mut next_root,
            };
            let position = *free;
            *free += ends[index];
            positions[index] = position;
            next[index] = position + 1;
            ends[index] += position;
        }
        Self { positions, ends }
    }
}

/// A stack of a selection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stop {
    position: u32,
    stack: StackId,
    /// Its number in the selection.
    number: u32,
}

/// The stacks of a selection in the order of a walk.
pub(crate) fn stops(profile: &Profile, selection: &Selection) -> Vec<Stop> {
    let order = selection.stack_order(profile);
    let stacks = (0_u32..).zip(selection.stacks(profile));
    let mut stops: Vec<Stop> = stacks
        .map(|(number, row)| Stop {
            position: order.positions[row.stack.index()],
            stack: row.stack,
            number,
        })
        .collect();
    stops.sort_unstable();
    stops
}

/// A visitor of a walk.
pub(crate) trait Visitor {
    /// Goes from a caller to what it called.
    fn enter(&mut self, location: LocationId);

    /// A stack of the selection, by its number, ends at the present level.
    fn stack(&mut self, number: u32);

    /// Goes back to the caller.
    fn leave(&mut self);
}

/// Two visitors of one walk.
impl<A: Visitor, B: Visitor> Visitor for (A, B) {
    fn enter(&mut self, location: LocationId) {
        self.0.enter(location);
        self.1.enter(location);
    }

    fn stack(&mut self, number: u32) {
        self.0.stack(number);
        self.1.stack(number);
    }

    fn leave(&mut self) {
        self.0.leave();
        self.1.leave();
    }
}

/// Walks over the stacks of a selection.
pub(crate) fn walk(profile: &Profile, selection: &Selection, visitor: &mut impl Visitor) {
    let order = selection.stack_order(profile);
    // The stacks from the root to the present level, each with its end.
    let mut open: Vec<(StackId, u32)> = Vec::new();
    let mut path: Vec<(StackId, LocationId)> = Vec::new();
    for &Stop {
        position,
        stack,
        number,
    } in selection.stops(profile)
    {
        while open.pop_if(|(_, end)| *end <= position).is_some() {
            visitor.leave();
        }
        let last = open.last().map(|&(caller, _)| caller);
        let mut next = Some(stack);
        while let Some(level) = next.filter(|_| next != last) {
            let row = profile.stacks.get(level);
            path.push((level, row.location));
            next = row.parent;
        }
        for (level, location) in path.drain(..).rev() {
            visitor.enter(location);
            open.push((level, order.ends[level.index()]));
        }
        visitor.stack(number);
    }
    for _ in open {
        visitor.leave();
    }
}
