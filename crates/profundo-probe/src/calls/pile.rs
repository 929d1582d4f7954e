//! A growing stack of items.

use core::ptr::NonNull;

use super::tree::Memory;

/// A growing stack of items. All zero is an empty one.
#[derive(Debug)]
#[repr(C)]
pub struct Pile<T> {
    items: Option<NonNull<T>>,
    length: usize,
    capacity: usize,
    /// The number of items left out for want of memory. They are the topmost ones.
    beyond: usize,
}

/// The number of places at first.
const FIRST: usize = 1 << 8;

impl<T: Copy> Pile<T> {
    /// An empty pile.
    pub const fn new() -> Self {
        Self {
            items: None,
            length: 0,
            capacity: 0,
            beyond: 0,
        }
    }

    /// The number of items.
    pub fn len(&self) -> usize {
        self.length
    }

    /// True if there are no items.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The topmost item, unless there was no room for it.
    #[inline]
    pub fn top(&self) -> Option<&T> {
        match self.beyond {
            0 => self.all().last(),
            _ => None,
        }
    }

    /// The topmost item, to be changed.
    #[inline]
    pub fn top_mut(&mut self) -> Option<&mut T> {
        match self.beyond {
            0 => self.all_mut().last_mut(),
            _ => None,
        }
    }

    /// All items, the lowest first.
    #[inline]
    pub fn all(&self) -> &[T] {
        match self.items {
            // SAFETY: so many were written.
            Some(items) => unsafe { core::slice::from_raw_parts(items.as_ptr(), self.length) },
            None => &[],
        }
    }

    /// All items, to be changed.
    #[inline]
    pub fn all_mut(&mut self) -> &mut [T] {
        match self.items {
            // SAFETY: so many were written, and have no other user.
            Some(items) => unsafe { core::slice::from_raw_parts_mut(items.as_ptr(), self.length) },
            None => &mut [],
        }
    }

    /// Puts an item on top.
    #[inline]
    pub fn push(&mut self, item: T, memory: &impl Memory) {
        // An item without room is never below one with room.
        if self.beyond > 0 || self.length == self.capacity && !self.grow(memory) {
            self.beyond += 1;
            return;
        }
        if let Some(items) = self.items {
            // SAFETY: there is room for one more.
            unsafe { items.add(self.length).write(item) };
            self.length += 1;
        }
    }

    /// Removes the topmost item.
    #[inline]
    pub fn pop(&mut self) {
        match self.beyond {
            0 => self.length = self.length.saturating_sub(1),
            _ => self.beyond -= 1,
        }
    }

    /// True if the topmost item had no room.
    #[inline]
    pub fn is_beyond(&self) -> bool {
        self.beyond > 0
    }

    #[cold]
    fn grow(&mut self, memory: &impl Memory) -> bool {
        let capacity = (self.capacity * 2).max(FIRST);
        let Some(new) = memory.map(capacity * size_of::<T>()) else {
            return false;
        };
        let new = new.cast::<T>();
        if let Some(old) = self.items {
            // The old memory stays: at the end of the process it may be read without the lock. All
            // old memory together is no larger than the new one. SAFETY: both have room for so
            // many.
            unsafe { new.copy_from_nonoverlapping(old, self.length) };
        }
        self.items = Some(new);
        self.capacity = capacity;
        true
    }

    /// Removes all items.
    pub fn empty(&mut self) {
        (self.length, self.beyond) = (0, 0);
    }
}

impl<T: Copy> Default for Pile<T> {
    fn default() -> Self {
        Self::new()
    }
}
