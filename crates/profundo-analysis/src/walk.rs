//! The stacks of a selection as one walk over the tree of all stacks.
//!
//! Stacks share their callers. A question that looks at each level of each stack would look at a
//! shared caller once for each stack above it. The walk enters a caller once, then everything that
//! it called, then leaves it.

use profundo_model::{LocationId, Profile, StackId};

use crate::Selection;

/// All stacks in the order of a walk: a caller comes right before what it called, so a walk reads
/// this table from its beginning to its end.
#[derive(Debug, Default)]
pub(crate) struct StackOrder {
    /// By stack, its position.
    positions: Vec<u32>,
    /// By position.
    levels: Vec<Level>,
}

/// A stack in that order.
#[derive(Debug, Clone, Copy)]
struct Level {
    /// The innermost location.
    location: LocationId,
    /// The position of the caller's stack; [`NONE`]: there is no caller.
    caller: u32,
    /// The position after the last stack that it calls.
    end: u32,
}

/// No position.
const NONE: u32 = u32::MAX;

impl StackOrder {
    pub(crate) fn new(profile: &Profile) -> Self {
        let stacks = profile.stacks.len();
        // A caller is stored before its callees, so one pass from the end sees all callees first.
        let mut sizes = vec![1_u32; stacks];
        for index in (0..stacks).rev() {
            if let Some(caller) = profile.stacks.get(StackId::from_index(index)).parent {
                sizes[caller.index()] += sizes[index];
            }
        }
        let mut positions = vec![0; stacks];
        let mut levels = vec![
            Level {
                location: LocationId::from_index(0),
                caller: NONE,
                end: 0,
            };
            stacks
        ];
        // By stack, the position of its next callee.
        let mut next = vec![0; stacks];
        let mut next_root = 0;
        for (index, stack) in profile.stacks.iter().enumerate() {
            let (free, caller) = match stack.parent {
                Some(parent) => (&mut next[parent.index()], positions[parent.index()]),
                None => (&mut next_root, NONE),
            };
            let position = *free;
            *free += sizes[index];
            positions[index] = position;
            next[index] = position + 1;
            levels[position as usize] = Level {
                location: stack.location,
                caller,
                end: position + sizes[index],
            };
        }
        Self { positions, levels }
    }
}

/// A stack of a selection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stop {
    position: u32,
    /// Its number in the selection.
    pub number: u32,
}

/// The stacks of a selection in the order of a walk.
pub(crate) fn stops(profile: &Profile, selection: &Selection) -> Vec<Stop> {
    let order = selection.stack_order(profile);
    let stacks = (0_u32..).zip(selection.stacks(profile));
    let mut stops: Vec<Stop> = stacks
        .map(|(number, row)| Stop {
            position: order.positions[row.stack.index()],
            number,
        })
        .collect();
    stops.sort_unstable();
    stops
}

/// A visitor of a walk.
pub(crate) trait Visitor {
    /// These stacks come next.
    fn ahead(&mut self, _stops: &[Stop]) {}

    /// Goes from a caller to what it called.
    fn enter(&mut self, location: LocationId);

    /// A stack of the selection, by its number, ends at the present level.
    fn stack(&mut self, number: u32);

    /// Goes back to the caller.
    fn leave(&mut self);
}

/// Two visitors of one walk.
impl<A: Visitor, B: Visitor> Visitor for (A, B) {
    fn ahead(&mut self, stops: &[Stop]) {
        self.0.ahead(stops);
        self.1.ahead(stops);
    }

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

/// The number of stacks that a visitor hears of at the same time.
const BATCH: usize = 64;

/// Walks over the stacks of a selection.
pub(crate) fn walk(profile: &Profile, selection: &Selection, visitor: &mut impl Visitor) {
    let levels = &selection.stack_order(profile).levels;
    let stops = selection.stops(profile);
    // The positions from the root to the present level, each with its end.
    let mut open: Vec<(u32, u32)> = Vec::new();
    let mut path: Vec<(u32, Level)> = Vec::new();
    for (at, &Stop { position, number }) in stops.iter().enumerate() {
        if at % BATCH == 0 {
            visitor.ahead(&stops[at..stops.len().min(at + BATCH)]);
        }
        while open.pop_if(|(_, end)| *end <= position).is_some() {
            visitor.leave();
        }
        let last = open.last().map_or(NONE, |&(caller, _)| caller);
        let mut next = position;
        while next != last {
            let level = levels[next as usize];
            path.push((next, level));
            next = level.caller;
        }
        for (position, level) in path.drain(..).rev() {
            visitor.enter(level.location);
            open.push((position, level.end));
        }
        visitor.stack(number);
    }
    for _ in open {
        visitor.leave();
    }
}
