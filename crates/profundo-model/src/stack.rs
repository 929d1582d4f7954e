//! Stacks form a prefix tree. A parent is always stored before its children, so a sample needs
//! one integer, and walking to the root cannot loop.

use rustc_hash::FxHashMap;

use crate::{LocationId, StackId};

/// One location below a stack of callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stack {
    /// The caller's stack; `None` at the root.
    pub parent: Option<StackId>,
    /// The location of this level.
    pub location: LocationId,
}

/// Stacks by id.
#[derive(Debug, Clone, Default)]
pub struct StackTable {
    stacks: Vec<Stack>,
    ids: FxHashMap<Stack, StackId>,
}

impl StackTable {
    /// The id of `location` called from `parent`, which is added when it is new.
    pub fn intern(&mut self, parent: Option<StackId>, location: LocationId) -> StackId {
        let stack = Stack { parent, location };
        *self.ids.entry(stack).or_insert_with(|| {
            let id = StackId::from_index(self.stacks.len());
            if let Some(parent) = parent {
                assert!(parent < id, "a parent is stored before its children");
            }
            self.stacks.push(stack);
            id
        })
    }

    /// The id of `location` called from `parent`, where it is known.
    pub fn find(&self, parent: Option<StackId>, location: LocationId) -> Option<StackId> {
        self.ids.get(&Stack { parent, location }).copied()
    }

    /// The row of `id`.
    pub fn get(&self, id: StackId) -> Stack {
        self.stacks[id.index()]
    }

    /// The locations of a stack, leaf first.
    pub fn locations(&self, id: StackId) -> impl Iterator<Item = LocationId> + '_ {
        let mut next = Some(id);
        std::iter::from_fn(move || {
            let stack = self.get(next?);
            next = stack.parent;
            Some(stack.location)
        })
    }

    /// The number of rows: distinct stacks and their prefixes.
    pub fn len(&self) -> usize {
        self.stacks.len()
    }

    /// True if there are no stacks.
    pub fn is_empty(&self) -> bool {
        self.stacks.is_empty()
    }

    /// All rows in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = Stack> + '_ {
        self.stacks.iter().copied()
    }
}
