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

/// The numbers of a selection's stacks, in the order of a walk.
pub(crate) fn in_walk(profile: &Profile, selection: &Selection) -> Vec<u32> {
    let order = selection.stack_order(profile);
    let stacks = (0_u32..).zip(selection.stacks(profile));
    let mut keys: Vec<(u32, u32)> = stacks
        .map(|(number, row)| (order.positions[row.stack.index()], number))
        .collect();
    keys.sort_unstable();
    keys.into_iter().map(|(_, number)| number).collect()
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

/// Walks over the stacks of a selection.
pub(crate) fn walk(profile: &Profile, selection: &Selection, visitor: &mut impl Visitor) {
    let order = selection.stack_order(profile);
    let stacks = selection.stacks(profile);
    let mut open: Vec<StackId> = Vec::new();
    let mut path: Vec<StackId> = Vec::new();
    for &number in selection.in_walk(profile) {
        let stack = stacks[number as usize].stack;
        let position = order.positions[stack.index()];
        while open
            .last()
            .is_some_and(|caller| order.ends[caller.index()] <= position)
        {
            open.pop();
            visitor.leave();
        }
        let last = open.last().copied();
        let mut next = Some(stack);
        while let Some(level) = next.filter(|_| next != last) {
            path.push(level);
            next = profile.stacks.get(level).parent;
        }
        for level in path.drain(..).rev() {
            visitor.enter(profile.stacks.get(level).location);
            open.push(level);
        }
        visitor.stack(number);
    }
    for _ in open {
        visitor.leave();
    }
}
