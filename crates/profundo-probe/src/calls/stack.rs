//! Where a thread is in the tree of calls.

use core::ptr::NonNull;

use super::tree::Memory;

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
    pub(super) reserved: u32,
}

/// The calls of a thread that have not ended. All zero is an empty one.
#[derive(Debug)]
#[repr(C)]
pub struct Stack {
    calls: Option<NonNull<Open>>,
    length: usize,
    capacity: usize,
    /// How many calls were not put here, for want of memory.
    beyond: usize,
    /// The thread's own node.
    pub root: u32,
}

/// So many at first.
const FIRST: usize = 1 << 8;

impl Stack {
    /// An empty one.
    pub const fn new() -> Self {
        Self {
            calls: None,
            length: 0,
            capacity: 0,
            beyond: 0,
            root: 0,
        }
    }

    /// How many calls have not ended.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether all have.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The node of whoever runs.
    #[inline]
    pub(super) fn node(&self) -> u32 {
        match self.top() {
            Some(top) => top.node,
            None => self.root,
        }
    }

    /// The call that began last.
    #[inline]
    pub(super) fn top(&self) -> Option<&Open> {
        self.all().last()
    }

    /// All of them, the outermost first.
    #[inline]
    pub fn all(&self) -> &[Open] {
        match self.calls {
            // SAFETY: so many were written.
            Some(calls) => unsafe { core::slice::from_raw_parts(calls.as_ptr(), self.length) },
            None => &[],
        }
    }

    /// As above.
    pub(super) fn all_mut(&mut self) -> &mut [Open] {
        match self.calls {
            // SAFETY: as above.
            Some(calls) => unsafe { core::slice::from_raw_parts_mut(calls.as_ptr(), self.length) },
            None => &mut [],
        }
    }

    #[inline]
    pub(super) fn push(&mut self, call: Open, memory: &impl Memory) {
        if self.length == self.capacity && !self.grow(memory) {
            self.beyond += 1;
            return;
        }
        if let Some(calls) = self.calls {
            // SAFETY: there is room for one more.
            unsafe { calls.add(self.length).write(call) };
            self.length += 1;
        }
    }

    #[inline]
    pub(super) fn pop(&mut self) {
        self.length = self.length.saturating_sub(1);
    }

    /// Whether the call that began last had no room.
    #[inline]
    pub(super) fn is_beyond(&self) -> bool {
        self.beyond > 0
    }

    /// Whether a call ends that had no room.
    pub(super) fn pop_beyond(&mut self) -> bool {
        let is_one = self.beyond > 0;
        self.beyond = self.beyond.saturating_sub(1);
        is_one
    }

    #[cold]
    fn grow(&mut self, memory: &impl Memory) -> bool {
        let capacity = (self.capacity * 2).max(FIRST);
        let Some(new) = memory.map(capacity * size_of::<Open>()) else {
            return false;
        };
        let new = new.cast::<Open>();
        if let Some(old) = self.calls {
            // SAFETY: both have room for so many.
            unsafe { new.copy_from_nonoverlapping(old, self.length) };
            memory.unmap(old.cast(), self.capacity * size_of::<Open>());
        }
        self.calls = Some(new);
        self.capacity = capacity;
        true
    }

    /// Gives its memory back.
    pub fn clear(&mut self, memory: &impl Memory) {
        if let Some(old) = self.calls.take() {
            memory.unmap(old.cast(), self.capacity * size_of::<Open>());
        }
        *self = Self::new();
    }
}
