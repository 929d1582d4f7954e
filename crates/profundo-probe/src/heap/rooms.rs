//! Room to walk a stack into, for those few threads that do so at the same instant.
//!
//! A stack may be deep, and whoever allocates may have little left of his own: thirty kilobytes are not
//! taken from there.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::{MAX_DEPTH, sys};

/// How many there can be: the bits of a word.
pub const ROOMS: usize = 64;

/// Room for one stack, in zeroed memory.
#[derive(Debug)]
#[repr(C, align(4096))]
pub struct Room(UnsafeCell<[u64; MAX_DEPTH]>);

// SAFETY: a room is used by the thread that it is lent to, alone.
unsafe impl Sync for Room {}

/// All rooms, and which are lent.
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
                // Whoever has them was taken off the CPU.
                sys::let_others_run();
                continue;
            };
            let room = self.rooms.get(number as usize)?;
            // Acquire pairs with the release below: the former user is done with it.
            if self.lent.fetch_or(bit, Ordering::Acquire) & bit == 0 {
                // SAFETY: the bit was clear, so the room is nobody else's until it is clear again.
                let result = work(unsafe { &mut *room.0.get() });
                self.lent.fetch_and(!bit, Ordering::Release);
                return Some(result);
            }
        }
        None
    }

    /// In the child of a fork, where the threads do not exist that have borrowed.
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
