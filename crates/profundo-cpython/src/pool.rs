//! The pools that the interpreter makes small objects in: each has blocks of one size.
//!
//! ```text
//! pool   ┌ blocks in use ┬ first free block ┬ neighbours ┬ arena ┬ size class ┬ begun up to ┬ last block ┐ 48 bytes
//!        └ block ┬ block ┬ …, those that are free are linked by their first words
//! ```
//!
//! There is no list of pools. But an object of less than half a kilobyte lies in one, which begins
//! where the address is a multiple of the pools' size; and its head can hardly be mistaken.

/// The head of a pool.
const HEAD: u64 = 48;
/// Sizes are multiples of this, up to 512 bytes.
const STEP: u64 = 16;
const LARGEST: u64 = 512;

/// The size of a version's pools.
pub fn pool_bytes(minor: u8) -> u64 {
    match minor {
        ..10 => 4 << 10,
        _ => 16 << 10,
    }
}

/// A pool, copied.
#[derive(Debug, Clone, Copy)]
pub struct Pool<'a> {
    address: u64,
    words: &'a [u64],
    size: u64,
    begun: u64,
    used: u64,
}

impl<'a> Pool<'a> {
    /// The pool at this address, with these words. `None`: there is none.
    pub fn at(address: u64, words: &'a [u64]) -> Option<Self> {
        let bytes = words.len() as u64 * 8;
        let [used, _, _, _, class, bounds, ..] = *words else {
            return None;
        };
        let class = class >> 32;
        let size = (class + 1) * STEP;
        let (begun, last) = (bounds & 0xFFFF_FFFF, bounds >> 32);
        let used = used & 0xFFFF_FFFF;
        let pool = Self {
            address,
            words,
            size,
            begun,
            used,
        };
        let is_one = size <= LARGEST
            && last == bytes - size
            && begun >= HEAD + size
            && begun <= bytes
            && (begun - HEAD).is_multiple_of(size)
            && used <= (begun - HEAD) / size;
        // The free list has as many blocks as are not in use.
        let is_whole = || pool.free().count() as u64 == (begun - HEAD) / size - used;
        (is_one && is_whole()).then_some(pool)
    }

    /// Its address.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The size of its blocks.
    pub fn block_bytes(&self) -> u64 {
        self.size
    }

    /// The number of blocks in use.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// The addresses of its blocks, including those that were never used.
    pub fn blocks(&self) -> impl Iterator<Item = u64> + use<> {
        let (address, size) = (self.address, self.size);
        let bytes = self.words.len() as u64 * 8;
        (0..(bytes - HEAD) / size).map(move |index| address + HEAD + index * size)
    }

    /// The blocks that were used once and are free.
    pub fn free(&self) -> impl Iterator<Item = u64> + use<'a> {
        let Self {
            address,
            words,
            size,
            begun,
            ..
        } = *self;
        let most = (begun - HEAD) / size;
        let place = move |block: u64| {
            let offset = block.checked_sub(address)?;
            let is_block = offset >= HEAD && offset < begun && (offset - HEAD).is_multiple_of(size);
            is_block.then_some(offset as usize / 8)
        };
        let first = words.get(1).copied().filter(|&block| block != 0);
        let next = move |&block: &u64| {
            let next = words.get(place(block)?).copied()?;
            (next != 0).then_some(next)
        };
        core::iter::successors(first, next)
            .take_while(move |&block| place(block).is_some())
            .take(most as usize + 1)
    }

    /// The end of the blocks that were ever used.
    pub fn begun(&self) -> u64 {
        self.address + self.begun
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;
    use std::vec::Vec;

    const AT: u64 = 0x7f00_0000_4000;

    /// A pool of 4 KiB with blocks of 64 bytes: of five that were used two are free.
    fn pool() -> Vec<u64> {
        let mut words = vec![0; 512];
        let block = |index: u64| AT + HEAD + index * 64;
        words[0] = 0xdead_beef_0000_0003;
        words[1] = block(3);
        words[4] = 3 << 32 | 7;
        words[5] = (4096 - 64) << 32 | (HEAD + 5 * 64);
        words[((block(3) - AT) / 8) as usize] = block(1);
        words
    }

    #[test]
    fn a_pool_lists_its_free_blocks() {
        let words = pool();
        let pool = Pool::at(AT, &words).unwrap();
        assert_eq!((pool.block_bytes(), pool.used()), (64, 3));
        let free: Vec<u64> = pool.free().map(|block| (block - AT - HEAD) / 64).collect();
        assert_eq!(free, [3, 1]);
        assert_eq!(pool.blocks().count(), (4096 - 48) / 64);
        assert_eq!(pool.begun(), AT + HEAD + 5 * 64);
    }

    #[test]
    fn what_is_no_pool_is_none() {
        assert!(Pool::at(AT, &[]).is_none());
        assert!(Pool::at(AT, &vec![0; 512]).is_none());
        for damage in [
            (0, 4),
            (1, 0),
            (1, AT + 8),
            (4, 40 << 32),
            (5, (4096 - 64) << 32 | 5000),
            (5, (4096 - 48) << 32 | (HEAD + 5 * 64)),
        ] {
            let mut words = pool();
            words[damage.0] = damage.1;
            assert!(Pool::at(AT, &words).is_none(), "{damage:?}");
        }
        // A list with a cycle.
        let mut words = pool();
        let third = (HEAD / 8 + 3 * 8) as usize;
        words[third] = AT + HEAD + 3 * 64;
        assert!(Pool::at(AT, &words).is_none());
    }
}
