//! Call trees as text: a row is indented below its caller, and has the weight with all that it
//! calls. The own weight of a row is what its callees leave of it.

use profundo_model::StackId;

/// The rows that callees may still come below.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    open: Vec<Open>,
}

#[derive(Debug)]
struct Open {
    indent: usize,
    stack: Option<StackId>,
    total: u64,
    callees: u64,
}

impl Tree {
    /// Ends the rows that are not above one of this indentation: their own weights are given to
    /// `add`.
    pub(crate) fn close(&mut self, indent: usize, mut add: impl FnMut(StackId, u64)) {
        while let Some(row) = self.open.pop_if(|row| row.indent >= indent) {
            if let Some(stack) = row.stack {
                add(stack, row.total.saturating_sub(row.callees));
            }
        }
    }

    /// The stack of the caller of the next row.
    pub(crate) fn caller(&self) -> Option<StackId> {
        self.open.last().and_then(|row| row.stack)
    }

    /// Adds a row. One without a stack is the place of others, such as a thread.
    pub(crate) fn open(&mut self, indent: usize, stack: Option<StackId>, total: u64) {
        if let Some(caller) = self.open.last_mut() {
            caller.callees = caller.callees.saturating_add(total);
        }
        self.open.push(Open {
            indent,
            stack,
            total,
            callees: 0,
        });
    }
}
