//! Masks of signals that the command sets for an agent which comes into a program or leaves it:
//! only a thread itself can change its mask, or the command while it holds the thread.

use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

/// A mask of a thread that is to be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaskChange {
    /// The kernel's number of the thread.
    pub tid: u32,
    /// The mask that it has. Another one is left alone.
    pub before: u64,
    /// The mask that it is to have.
    pub after: u64,
}

/// The most threads whose masks are changed at one time.
pub const MASKS: usize = 256;

/// The changes that an agent asks for. All zero at first.
#[derive(Debug)]
#[repr(C)]
pub struct MaskChanges {
    /// The number of changes. More than [`MASKS`]: there was no room for the others.
    pub count: AtomicU32,
    tids: [AtomicU32; MASKS],
    masks: [[AtomicU64; 2]; MASKS],
}

/// The answer of an agent that comes or leaves. All zero at first.
#[derive(Debug)]
#[repr(C)]
pub struct Answer {
    /// 0, or an error number of the system as a negative number.
    pub result: AtomicI32,
    /// The masks that the command is to set.
    pub masks: MaskChanges,
}

impl MaskChanges {
    /// No changes.
    pub const fn none() -> Self {
        Self {
            count: AtomicU32::new(0),
            tids: [const { AtomicU32::new(0) }; MASKS],
            masks: [const { [const { AtomicU64::new(0) }; 2] }; MASKS],
        }
    }

    /// Adds a change, if there is room.
    pub fn add(&self, change: MaskChange) {
        let at = self.count.fetch_add(1, Ordering::Relaxed) as usize;
        if let (Some(tid), Some([before, after])) = (self.tids.get(at), self.masks.get(at)) {
            tid.store(change.tid, Ordering::Relaxed);
            before.store(change.before, Ordering::Relaxed);
            after.store(change.after, Ordering::Relaxed);
        }
    }

    /// The changes.
    pub fn all(&self) -> impl Iterator<Item = MaskChange> {
        let count = self.count.load(Ordering::Relaxed) as usize;
        let rows = self.tids.iter().zip(&self.masks).take(count);
        rows.map(|(tid, [before, after])| MaskChange {
            tid: tid.load(Ordering::Relaxed),
            before: before.load(Ordering::Relaxed),
            after: after.load(Ordering::Relaxed),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::boxed::Box;
    use std::vec::Vec;

    use super::*;

    #[test]
    fn changes_beyond_the_room_are_counted() {
        // SAFETY: all zero is valid.
        let changes: Box<MaskChanges> = unsafe { Box::new_zeroed().assume_init() };
        let change = |tid: u32| MaskChange {
            tid,
            before: 2 * u64::from(tid),
            after: 1,
        };
        (0..300).for_each(|tid| changes.add(change(tid)));
        assert_eq!(changes.count.load(Ordering::Relaxed), 300);
        let all: Vec<MaskChange> = changes.all().collect();
        assert_eq!(
            (all.len(), all[7], all[255]),
            (MASKS, change(7), change(255))
        );
    }
}
