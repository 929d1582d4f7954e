//! Buffers for walking stacks, for the few threads that do so at the same instant.
//!
//! A walk needs thirty kilobytes, and an allocating thread may have little of its own stack left.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::{MAX_DEPTH, sys};

/// The largest number of rooms: the bits of a word.
pub const ROOMS: usize = 64;

/// Room for one stack, in zeroed memory.
#[derive(Debug)]
#[repr(C, align(4096))]
pub struct Room(UnsafeCell<[u64; MAX_DEPTH]>);

// SAFETY: a room is used by the thread that it is lent to, alone.
unsafe impl Sync for Room {}

/// All rooms, and a bit for each that is lent.
#[derive(Debug)]
pub struct Rooms {
    rooms: &'static [Room],
    lent: AtomicU64,
}

impl Rooms {
    /// Rooms over zeroed memory, of which [`ROOMS`] at most are used.
    pub const fn new(rooms: &'static [Room]) -> Self {
        Self {
            rooms,
            lent: AtomicU64::new(0),
        }
    }

    /// Runs `work` in a room of its own. `None`: all of them have been lent for a long time.
    pub fn with<T>(&self, work: impl FnOnce(&mut [u64]) -> T) -> Option<T> {
        const LOOKS: usize = 1000;
        for _ in 0..LOOKS {
            let number = self.lent.load(Ordering::Relaxed).trailing_ones();
            let Some(bit) = 1_u64.checked_shl(number) else {
                // The holder was taken off the CPU.
                sys::let_others_run();
                continue;
            };
            let room = self.rooms.get(number as usize)?;
            // Acquire pairs with the release below: the former holder is done with it.
            if self.lent.fetch_or(bit, Ordering::Acquire) & bit == 0 {
                // SAFETY: the bit was clear, so the room has no other holder until it is clear
                // again.
                let result = work(unsafe { &mut *room.0.get() });
                self.lent.fetch_and(!bit, Ordering::Release);
                return Some(result);
            }
        }
        None
    }

    /// In the child of a fork, where the holders do not exist.
    pub fn reset_after_fork(&self) {
        self.lent.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::boxed::Box;
    use std::vec::Vec;

    #[test]
    fn each_borrower_has_a_room_of_its_own() {
        let rooms: Vec<Room> = (0..ROOMS)
            .map(|_| Room(UnsafeCell::new([0; MAX_DEPTH])))
            .collect();
        let rooms = Rooms::new(Box::leak(rooms.into_boxed_slice()));
        std::thread::scope(|scope| {
            for me in 1..=8 {
                let rooms = &rooms;
                scope.spawn(move || {
                    for _ in 0..200 {
                        let alone = rooms.with(|room| {
                            room[..100].fill(me);
                            std::thread::yield_now();
                            room[..100].iter().all(|&word| word == me)
                        });
                        assert_eq!(alone, Some(true));
                    }
                });
            }
        });
        assert_eq!(rooms.lent.load(Ordering::Relaxed), 0);
    }
}
