//! Masks of signals, about which an agent that comes into a program or leaves it asks the command:
//! a mask can be read and changed with certainty only by its own thread, or by the command while it
//! holds the thread. What `/proc` shows of a thread in a call such as `sigwait` or `ppoll` is the
//! mask of that call, and not the one that the thread has afterwards.

use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

use crate::hidden::{Known, MASKS_KNOWN};

/// The most threads that are named at one time.
pub const MASKS: usize = 256;

/// The masks of some threads. All zero at first.
#[derive(Debug)]
#[repr(C)]
pub struct ThreadMasks {
    /// The number of threads. More than [`MASKS`]: there was no room for the others.
    pub count: AtomicU32,
    tids: [AtomicU32; MASKS],
    masks: [AtomicU64; MASKS],
}

/// The answer of an agent that comes or leaves. All zero at first.
#[derive(Debug)]
#[repr(C)]
pub struct Answer {
    /// 0, or an error number of the system as a negative number.
    pub result: AtomicI32,
    /// Set by the command when it has seen the result: the agent's function returns then, or soon
    /// after.
    pub is_seen: AtomicU32,
    /// The signals that may come to a thread without our handlers: their handlers stay.
    pub staying: AtomicU32,
    /// The threads whose masks the command is to look at; their masks are unknown, and zero.
    pub masks: ThreadMasks,
    /// The masks that the program has set, where the kernel's have fewer signals.
    pub known: [AtomicU64; MASKS_KNOWN],
}

impl Answer {
    /// The masks that the program has set.
    pub fn known(&self) -> Known {
        Known(core::array::from_fn(|index| {
            let word = self.known.get(index);
            word.map_or(0, |word| word.load(Ordering::Relaxed))
        }))
    }

    /// Writes down the masks that the program has set.
    pub fn set_known(&self, known: &Known) {
        for (place, word) in self.known.iter().zip(known.0) {
            place.store(word, Ordering::Relaxed);
        }
    }
}

impl ThreadMasks {
    /// Adds a thread, if there is room.
    pub fn add(&self, tid: u32, mask: u64) {
        let at = self.count.fetch_add(1, Ordering::Relaxed) as usize;
        if let (Some(place), Some(word)) = (self.tids.get(at), self.masks.get(at)) {
            place.store(tid, Ordering::Relaxed);
            word.store(mask, Ordering::Relaxed);
        }
    }

    /// The threads, and their masks.
    pub fn all(&self) -> impl Iterator<Item = (u32, u64)> {
        let count = self.count.load(Ordering::Relaxed) as usize;
        let rows = self.tids.iter().zip(&self.masks).take(count);
        rows.map(|(tid, mask)| (tid.load(Ordering::Relaxed), mask.load(Ordering::Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use std::boxed::Box;
    use std::vec::Vec;

    use super::*;

    #[test]
    fn threads_beyond_the_room_are_counted() {
        // SAFETY: all zero is valid.
        let masks: Box<ThreadMasks> = unsafe { Box::new_zeroed().assume_init() };
        (0..300).for_each(|tid| masks.add(tid, 2 * u64::from(tid)));
        assert_eq!(masks.count.load(Ordering::Relaxed), 300);
        let all: Vec<(u32, u64)> = masks.all().collect();
        assert_eq!((all.len(), all[7], all[255]), (MASKS, (7, 14), (255, 510)));
    }
}
