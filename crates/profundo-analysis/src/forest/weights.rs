//! The weights that a selection puts on a tree.

use profundo_model::Profile;

use super::Forest;
use crate::Selection;

/// A weight with the number of its samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CallWeight {
    /// In nanoseconds, bytes or blocks: the unit of the selection.
    pub weight: u64,
    /// The count of its samples.
    pub count: u64,
}

impl CallWeight {
    pub(super) fn add(&mut self, other: Self) {
        self.weight = self.weight.saturating_add(other.weight);
        self.count = self.count.saturating_add(other.count);
    }
}

/// The weights of a selection, by call.
#[derive(Debug, Clone)]
pub struct Weights {
    /// Of the samples that end in the call.
    pub(super) own: Vec<CallWeight>,
    /// The part of it that was in system calls.
    pub(super) system: Vec<u64>,
    /// Of the call and all its callees.
    pub(super) total: Vec<CallWeight>,
}

impl Weights {
    /// The weights of a selection.
    pub fn new(profile: &Profile, forest: &Forest, selection: &Selection) -> Self {
        let none = CallWeight::default();
        let mut own = vec![none; forest.calls.len()];
        let mut system = vec![0_u64; forest.calls.len()];
        for stack in selection.stacks(profile) {
            let call = forest.ends[stack.stack.index()] as usize;
            own[call].add(CallWeight {
                weight: stack.weight,
                count: stack.count,
            });
            system[call] = system[call].saturating_add(stack.split.system);
        }
        let mut total = own.clone();
        for call in (1..total.len()).rev() {
            let parent = forest.calls[call].parent as usize;
            let below = total[call];
            total[parent].add(below);
        }
        Self { own, system, total }
    }

    /// All of the selection.
    pub fn all(&self) -> CallWeight {
        self.total[0]
    }

    /// A call with its callees.
    pub fn of(&self, call: u32) -> CallWeight {
        self.total[call as usize]
    }
}
