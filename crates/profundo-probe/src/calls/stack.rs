//! The place of a thread in the tree of calls.

use super::pile::Pile;

/// A call that has not ended.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Open {
    /// The function's key.
    pub key: u64,
    /// When it began, or resumed.
    pub began: u64,
    /// Its node.
    pub node: u32,
    /// Its place on the machine's stack in units of sixteen bytes, where that is needed.
    pub place: u32,
}

/// The open calls of a thread. All zero is an empty one.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Stack {
    /// The calls, the outermost first.
    pub open: Pile<Open>,
    /// The thread's own node.
    pub root: u32,
    /// The row with its name, plus one; 0: it has none.
    pub name: u32,
}

impl Stack {
    /// The node of the running call.
    #[inline]
    pub(super) fn node(&self) -> u32 {
        match self.open.all().last() {
            Some(top) => top.node,
            None => self.root,
        }
    }

    /// Drops all calls.
    pub fn empty(&mut self) {
        self.open.empty();
        (self.root, self.name) = (0, 0);
    }
}
