//! The blocks that are followed until they are freed.
//!
//! Every `free` of the program looks for its block among them, mostly in vain: so a few bits
//! ([`Few`]), by a hash of the address, answer most of them by one load. They are so few that they
//! stay in the first-level cache, and leave most of it to the program; where there are many blocks,
//! a larger table of counters behind them answers the rest. Behind both lie the blocks themselves,
//! chained by the hash of the larger, under a lock.

use core::sync::atomic::{AtomicU32, Ordering};

use super::spin::Spin;

/// The bits of the hash that choose one of the few.
const FEW_BITS: u32 = 14;

/// The bits of the hash that choose a chain: those of the few, and some more.
const CHAIN_BITS: u32 = 16;
const CHAINS: usize = 1 << CHAIN_BITS;
const CHAINS_EACH: usize = 1 << (CHAIN_BITS - FEW_BITS);

/// Blocks lie at multiples of eight or sixteen, in runs: the product spreads them over all chains.
pub const HASH: u64 = 0x9E37_79B9_7F4A_7C15;

/// The shift of the product for one of the few bits: 32 of them are a word.
pub const FEW_SHIFT: u32 = u64::BITS - FEW_BITS;

/// A filter of followed blocks, by the first bits of the hash of their addresses. All zero rejects
/// every address. It fills a page.
#[derive(Debug)]
#[repr(C, align(4096))]
pub struct Few([AtomicU32; 1 << (FEW_BITS - 5)]);

impl Few {
    /// A filter that rejects every address.
    #[expect(clippy::new_without_default, reason = "it belongs into a static")]
    pub const fn new() -> Self {
        Self([const { AtomicU32::new(0) }; 1 << (FEW_BITS - 5)])
    }

    /// Whether the block at an address may be followed.
    #[inline]
    pub fn may_have(&self, address: u64) -> bool {
        let bit = chain_of(address) / CHAINS_EACH;
        // Relaxed: the freeing thread has the block from the allocating one, which entered it
        // before.
        let word = self
            .0
            .get(bit / 32)
            .map(|word| word.load(Ordering::Relaxed));
        word.is_some_and(|word| word >> (bit % 32) & 1 != 0)
    }

    /// Accepts every address from now on.
    pub fn fill(&self) {
        for word in &self.0 {
            word.store(u32::MAX, Ordering::Relaxed);
        }
    }

    /// Rejects every address.
    pub fn clear(&self) {
        for word in &self.0 {
            word.store(0, Ordering::Relaxed);
        }
    }

    fn set(&self, bit: usize, to: bool) {
        let Some(word) = self.0.get(bit / 32) else {
            return;
        };
        let mask = 1 << (bit % 32);
        if to {
            word.fetch_or(mask, Ordering::Relaxed);
        } else {
            word.fetch_and(!mask, Ordering::Relaxed);
        }
    }
}

/// A followed block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Block {
    /// Its address. Never 0.
    pub address: u64,
    /// The number that it was recorded under.
    pub number: u64,
    /// Its size.
    pub size: u64,
}

/// There is no room for more blocks, or no memory for the room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full;

/// A block, and the next one of its chain, counted from 1.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Entry {
    /// The block. Its address is 0 in an unused entry.
    pub block: Block,
    next: u32,
}

/// Up to `ROOM` blocks. All zero is an empty table, and unused memory is never touched.
#[derive(Debug)]
#[repr(C)]
pub struct Followed<const ROOM: usize> {
    /// The number of blocks of each chain. Read without the lock.
    counts: [AtomicU32; CHAINS],
    chains: Spin<Chains<ROOM>>,
}

#[derive(Debug)]
#[repr(C)]
struct Chains<const ROOM: usize> {
    first: [u32; CHAINS],
    entries: [Entry; ROOM],
    /// The number of entries ever used, and the first free one of those.
    used: u32,
    free: u32,
}

// Entries are chained and found by number, and zeros are numbers.
const NOBODY: Entry = Entry {
    block: Block {
        address: 0,
        number: 0,
        size: 0,
    },
    next: 0,
};

impl<const ROOM: usize> Followed<ROOM> {
    /// An empty table.
    #[expect(
        clippy::new_without_default,
        reason = "it is megabytes of zeros, which belong into a static"
    )]
    pub const fn new() -> Self {
        Self {
            counts: [const { AtomicU32::new(0) }; CHAINS],
            chains: Spin::new(Chains {
                first: [0; CHAINS],
                entries: [NOBODY; ROOM],
                used: 0,
                free: 0,
            }),
        }
    }

    /// Whether the block at an address may be followed. Seldom true of one that is not.
    #[inline]
    pub fn may_have(&self, few: &Few, address: u64) -> bool {
        few.may_have(address) && self.may_chain(chain_of(address))
    }

    fn may_chain(&self, chain: usize) -> bool {
        let count = self.counts.get(chain);
        count.is_some_and(|count| count.load(Ordering::Relaxed) != 0)
    }

    /// Counts a block that was added or removed. Under the lock.
    fn count(&self, few: &Few, chain: usize, has_come: bool) {
        let Some(count) = self.counts.get(chain) else {
            return;
        };
        let bit = chain / CHAINS_EACH;
        if has_come {
            count.fetch_add(1, Ordering::Relaxed);
            few.set(bit, true);
        } else {
            count.fetch_sub(1, Ordering::Relaxed);
            let first = bit * CHAINS_EACH;
            if !(first..first + CHAINS_EACH).any(|chain| self.may_chain(chain)) {
                few.set(bit, false);
            }
        }
    }

    /// Follows a block. If one is known at its address, its end was missed: it is returned.
    pub fn insert(&self, few: &Few, block: Block) -> Result<Option<Block>, Full> {
        let chain = chain_of(block.address);
        let inserted = self.chains.with(|chains| {
            let former = chains.remove(chain, block.address);
            let inserted = chains.insert(chain, block);
            if let (Ok(()), None) = (inserted, former) {
                self.count(few, chain, true);
            }
            inserted.map(|()| former)
        });
        inserted.unwrap_or(Err(Full))
    }

    /// The address of all entries ever used, and their number.
    pub fn entries(&self) -> Option<(*const Entry, usize)> {
        let entries = |chains: &mut Chains<ROOM>| (chains.entries.as_ptr(), chains.used as usize);
        self.chains.with(entries)
    }

    /// Removes the block at an address. `None`: there is none.
    #[cold]
    pub fn remove(&self, few: &Few, address: u64) -> Option<Block> {
        let chain = chain_of(address);
        self.chains.with(|chains| {
            let found = chains.remove(chain, address)?;
            self.count(few, chain, false);
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
                // For a reader of all entries.
                entry.block.address = 0;
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

#[inline]
fn chain_of(address: u64) -> usize {
    (address.wrapping_mul(HASH) >> (u64::BITS - CHAIN_BITS)) as usize
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
        static FEW: Few = Few::new();
        let mut map = HashMap::new();
        let mut draws = Gaps::new(7);
        for number in 1..100_000 {
            // Few addresses, many of them in one chain.
            let address = (1 + draws.draw() % 3000) << 36;
            if draws.draw().is_multiple_of(2) {
                let new = block(address, number);
                match FOLLOWED.insert(&FEW, new) {
                    Ok(former) => assert_eq!(former, map.insert(address, new)),
                    Err(Full) => assert_eq!(map.len(), 1000),
                }
            } else {
                assert_eq!(FOLLOWED.remove(&FEW, address), map.remove(&address));
            }
        }
        for (address, block) in map {
            assert!(FOLLOWED.may_have(&FEW, address));
            assert_eq!(FOLLOWED.remove(&FEW, address), Some(block));
        }
        let left = FOLLOWED
            .counts
            .iter()
            .map(|count| count.load(Ordering::Relaxed));
        assert_eq!(left.sum::<u32>(), 0);
        let bits = FEW.0.iter().map(|word| word.load(Ordering::Relaxed));
        assert_eq!(bits.sum::<u32>(), 0);
    }

    #[test]
    fn a_full_one_takes_no_more_and_forgets_none() {
        static FOLLOWED: Followed<4> = Followed::new();
        static FEW: Few = Few::new();
        for number in 1..5 {
            assert_eq!(FOLLOWED.insert(&FEW, block(16 * number, number)), Ok(None));
        }
        assert_eq!(FOLLOWED.insert(&FEW, block(160, 5)), Err(Full));
        assert_eq!(FOLLOWED.insert(&FEW, block(16, 6)), Ok(Some(block(16, 1))));
        assert_eq!(FOLLOWED.remove(&FEW, 32), Some(block(32, 2)));
        assert_eq!(FOLLOWED.insert(&FEW, block(160, 7)), Ok(None));
        assert_eq!(FOLLOWED.remove(&FEW, 16), Some(block(16, 6)));
    }

    #[test]
    fn threads_do_not_lose_each_others_blocks() {
        static FOLLOWED: Followed<8192> = Followed::new();
        static FEW: Few = Few::new();
        let threads = (0..4_u64).map(|thread| {
            thread::spawn(move || {
                for round in 0..200 {
                    let blocks: Vec<_> = (1..100)
                        .map(|at| block((thread << 40) + 16 * at, round * 100 + at))
                        .collect();
                    for block in &blocks {
                        assert_eq!(FOLLOWED.insert(&FEW, *block), Ok(None));
                    }
                    for block in &blocks {
                        assert_eq!(FOLLOWED.remove(&FEW, block.address), Some(*block));
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
