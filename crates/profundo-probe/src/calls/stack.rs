//! Where a thread is in the tree of calls.

use super::pile::Pile;

/// A call that has not ended.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Open {
    /// What its function is known by.
    pub key: u64,
    /// When it began, or went on.
    pub began: u64,
    /// Its node.
    pub node: u32,
    /// Where on the machine's stack, where that is of interest: in units of sixteen bytes.
    pub place: u32,
}

/// The calls of a thread that have not ended. All zero is an empty one.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Stack {
    /// The calls, the outermost first.
    pub open: Pile<Open>,
    /// The thread's own node.
    pub root: u32,
    /// One more than the row that has its name; 0: it has none.
    pub name: u32,
}

impl Stack {
    /// The node of whoever runs.
    #[inline]
    pub(super) fn node(&self) -> u32 {
        match self.open.all().last() {
            Some(top) => top.node,
            None => self.root,
        }
    }

    /// Ends all calls without a word.
    pub fn empty(&mut self) {
        self.open.empty();
        (self.root, self.name) = (0, 0);
    }
}
