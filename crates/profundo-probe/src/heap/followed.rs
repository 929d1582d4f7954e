//! The blocks that are followed until they are freed.
//!
//! Every `free` of the program asks whether its block is one of them, and nearly none is: so a small
//! table of counters, by a hash of the address, answers most of them by one load. It is so small that it
//! stays in the cache that is nearest, and leaves most of that to the program; where there are many blocks, a
//! larger one behind it answers the rest. Behind both lie the blocks themselves, chained by the hash of the
//! larger, under a lock.

use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use super::spin::Spin;

/// How many counters the small table has.
const FEW: usize = 1 << 13;

/// One that was ever this high stays so: nobody knows any more how high it would be.
const STUCK: u8 = u8::MAX;

/// How many chains there are.
const CHAINS: usize = 1 << 16;

/// A block that is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Block {
    /// Where it is. Never 0.
    pub address: u64,
    /// What it was recorded as.
    pub number: u64,
    /// How large it is.
    pub size: u64,
}

/// There are more than there is room for, or the room is not to be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full;

/// A block, and the next one of its chain, counted from 1.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Entry {
    block: Block,
    next: u32,
}

/// Up to `ROOM` blocks. All zero is an empty one, and what is not used is never touched.
#[derive(Debug)]
#[repr(C)]
pub struct Followed<const ROOM: usize> {
    /// How many blocks there are by the first bits of the hash.
    few: [AtomicU8; FEW],
    /// How many blocks each chain has. Read without the lock.
    counts: [AtomicU32; CHAINS],
    chains: Spin<Chains<ROOM>>,
}

#[derive(Debug)]
#[repr(C)]
struct Chains<const ROOM: usize> {
    first: [u32; CHAINS],
    entries: [Entry; ROOM],
    /// How many entries were ever used, and the first of those that are free again.
    used: u32,
    free: u32,
}

// What is chained by number is found by number, and zeros are numbers.
const NOBODY: Entry = Entry {
    block: Block {
        address: 0,
        number: 0,
        size: 0,
    },
    next: 0,
};

impl<const ROOM: usize> Followed<ROOM> {
    /// An empty one.
    #[expect(
        clippy::new_without_default,
        reason = "it is megabytes of zeros, which belong into a static"
    )]
    pub const fn new() -> Self {
        Self {
            few: [const { AtomicU8::new(0) }; FEW],
            counts: [const { AtomicU32::new(0) }; CHAINS],
            chains: Spin::new(Chains {
                first: [0; CHAINS],
                entries: [NOBODY; ROOM],
                used: 0,
                free: 0,
            }),
        }
    }

    /// Whether a block may be followed that lies there. Seldom true of one that is not.
    #[inline]
    pub fn may_have(&self, address: u64) -> bool {
        // Relaxed: whoever frees a block has it from the one who allocated it, who entered it before.
        let count = self.few.get(chain_of(address) / (CHAINS / FEW));
        count.is_some_and(|count| count.load(Ordering::Relaxed) != 0) && self.may_chain(address)
    }

    fn may_chain(&self, address: u64) -> bool {
        let count = self.counts.get(chain_of(address));
        count.is_some_and(|count| count.load(Ordering::Relaxed) != 0)
    }

    /// Counts a block that has come or gone. Under the lock.
    fn count(&self, chain: usize, has_come: bool) {
        if let (Some(few), Some(count)) =
            (self.few.get(chain / (CHAINS / FEW)), self.counts.get(chain))
        {
            let now = few.load(Ordering::Relaxed);
            if has_come {
                few.store(now.saturating_add(1), Ordering::Relaxed);
                count.fetch_add(1, Ordering::Relaxed);
            } else {
                if now != STUCK {
                    few.store(now.saturating_sub(1), Ordering::Relaxed);
                }
                count.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    /// Follows a block. If one is known that lay there, its end was missed: it is given back.
    pub fn insert(&self, block: Block) -> Result<Option<Block>, Full> {
        let chain = chain_of(block.address);
        let inserted = self.chains.with(|chains| {
            let former = chains.remove(chain, block.address);
            let inserted = chains.insert(chain, block);
            if let (Ok(()), None) = (inserted, former) {
                self.count(chain, true);
            }
            inserted.map(|()| former)
        });
        inserted.unwrap_or(Err(Full))
    }

    /// Lets go of the block that lies there. `None`: none is followed that does.
    #[cold]
    pub fn remove(&self, address: u64) -> Option<Block> {
        let chain = chain_of(address);
        self.chains.with(|chains| {
            let found = chains.remove(chain, address)?;
            self.count(chain, false);
            Some(found)
        })?
    }
}

impl<const ROOM: usize> Chains<ROOM> {
    fn insert(&mut self, chain: usize, block: Block) -> Result<(), Full> {
        let number = match self.free {
            0 if (self.used as usize) < ROOM => self.used + 1,
            free => free,
        };
        let first = self.first.get_mut(chain).ok_or(Full)?;
        let place = (number as usize).checked_sub(1).ok_or(Full)?;
        let entry = self.entries.get_mut(place).ok_or(Full)?;
        if number == self.free {
            self.free = entry.next;
        } else {
            self.used = number;
        }
        *entry = Entry {
            block,
            next: *first,
        };
        *first = number;
        Ok(())
    }

    fn remove(&mut self, chain: usize, address: u64) -> Option<Block> {
        let mut before = 0;
        let mut number = *self.first.get(chain)?;
        for _ in 0..ROOM {
            let place = (number as usize).checked_sub(1)?;
            let Entry { block, next } = *self.entries.get(place)?;
            if block.address == address {
                let link = match (before as usize).checked_sub(1) {
                    None => self.first.get_mut(chain)?,
                    Some(before) => &mut self.entries.get_mut(before)?.next,
                };
                *link = next;
                let entry = self.entries.get_mut(place)?;
                entry.next = self.free;
                self.free = number;
                return Some(block);
            }
            before = number;
            number = next;
        }
        None
    }
}

/// Blocks lie at multiples of eight or sixteen, in runs: the product spreads them over all chains.
#[inline]
fn chain_of(address: u64) -> usize {
    (address.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heap::Gaps;
    use std::collections::HashMap;
    use std::{thread, vec::Vec};

    fn block(address: u64, number: u64) -> Block {
        Block {
            address,
            number,
            size: address ^ number,
        }
    }

    #[test]
    fn it_does_what_a_map_does() {
        static FOLLOWED: Followed<1000> = Followed::new();
        let mut map = HashMap::new();
        let mut draws = Gaps::new(7);
        for number in 1..100_000 {
            // Few addresses, many of them in the same chain as others.
            let address = (1 + draws.draw() % 3000) << 36;
            if draws.draw().is_multiple_of(2) {
                let new = block(address, number);
                match FOLLOWED.insert(new) {
                    Ok(former) => assert_eq!(former, map.insert(address, new)),
                    Err(Full) => assert_eq!(map.len(), 1000),
                }
            } else {
                assert_eq!(FOLLOWED.remove(address), map.remove(&address));
            }
        }
        for (address, block) in map {
            assert!(FOLLOWED.may_have(address));
            assert_eq!(FOLLOWED.remove(address), Some(block));
        }
        let left = FOLLOWED.counts.iter().map(|it| it.load(Ordering::Relaxed));
        assert_eq!(left.sum::<u32>(), 0);
    }

    #[test]
    fn a_full_one_takes_no_more_and_forgets_none() {
        static FOLLOWED: Followed<4> = Followed::new();
        for number in 1..5 {
            assert_eq!(FOLLOWED.insert(block(16 * number, number)), Ok(None));
        }
        assert_eq!(FOLLOWED.insert(block(160, 5)), Err(Full));
        assert_eq!(FOLLOWED.insert(block(16, 6)), Ok(Some(block(16, 1))));
        assert_eq!(FOLLOWED.remove(32), Some(block(32, 2)));
        assert_eq!(FOLLOWED.insert(block(160, 7)), Ok(None));
        assert_eq!(FOLLOWED.remove(16), Some(block(16, 6)));
    }

    #[test]
    fn threads_do_not_lose_each_others_blocks() {
        static FOLLOWED: Followed<8192> = Followed::new();
        let threads = (0..4_u64).map(|thread| {
            thread::spawn(move || {
                for round in 0..200 {
                    let blocks: Vec<_> = (1..100)
                        .map(|at| block((thread << 40) + 16 * at, round * 100 + at))
                        .collect();
                    for block in &blocks {
                        assert_eq!(FOLLOWED.insert(*block), Ok(None));
                    }
                    for block in &blocks {
                        assert_eq!(FOLLOWED.remove(block.address), Some(*block));
                    }
                }
            })
        });
        let threads: Vec<_> = threads.collect();
        for thread in threads {
            thread.join().unwrap();
        }
    }
}
