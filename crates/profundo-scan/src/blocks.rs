//! Blocks by their addresses: the block that a word points into.
//!
//! Most words of a program are no addresses of blocks: they lie outside of all blocks. For the
//! others there is a table of pages that says for each eight bytes whether a block begins there, so
//! how many begin before an address is counted by one instruction or a few, without a search.

use std::ops::Range;

/// A block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Its address, below 2^48.
    pub start: u64,
    /// Its size in bytes, below 2^48.
    pub size: u64,
    /// Its own number, or its stack's.
    pub whose: u32,
}

impl Block {
    /// The end address. A block without bytes has its address to itself.
    pub fn end(&self) -> u64 {
        self.start.saturating_add(self.size.max(1))
    }

    /// True if an address lies in the block.
    pub fn has(&self, address: u64) -> bool {
        (self.start..self.end()).contains(&address)
    }
}

/// A block in two words, since there may be tens of millions: the start and the upper bits of the
/// size; the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Packed(u64, u64);

const SIZE_ABOVE: u32 = 16;
const HALF: u32 = 32;

impl Packed {
    fn new(block: Block) -> Self {
        let size = block.size.min((1 << (SIZE_ABOVE + HALF)) - 1);
        Self(
            block.start << SIZE_ABOVE | size >> HALF,
            size << HALF | u64::from(block.whose),
        )
    }

    #[inline]
    fn block(self) -> Block {
        Block {
            start: self.start(),
            size: (self.0 & ((1 << SIZE_ABOVE) - 1)) << HALF | self.1 >> HALF,
            whose: self.1 as u32,
        }
    }

    #[inline]
    fn start(self) -> u64 {
        self.0 >> SIZE_ABOVE
    }
}

const PAGE: u32 = 12;
const GRAIN: u32 = 3;
const WORDS: usize = 1 << (PAGE - GRAIN - 6);
/// Blocks that are farther apart lie in different stretches.
const APART: u64 = 1 << 20;

/// The blocks that begin in a page.
#[derive(Debug, Clone, Copy)]
struct Page {
    /// The first block that begins in it or behind it.
    first: u32,
    /// True if blocks begin between the grains, so that they cannot be counted.
    is_crowded: bool,
    /// A bit for each grain at which a block begins.
    begins: [u64; WORDS],
    /// The number of blocks that begin in the words before each word.
    before: [u16; WORDS],
}

/// A stretch of memory with blocks.
#[derive(Debug)]
struct Stretch {
    start: u64,
    end: u64,
    /// The pages from the first one of a block to the last one in which a block begins.
    pages: Vec<Page>,
    /// The first block behind it.
    after: u32,
}

/// All blocks, ordered by address.
#[derive(Debug)]
pub struct Blocks {
    blocks: Vec<Packed>,
    stretches: Vec<Stretch>,
    /// The range of all blocks: most words lie far outside of it.
    all: Range<u64>,
}

impl Blocks {
    /// Blocks from any order. Of several at one address, one is kept.
    pub fn new(blocks: impl IntoIterator<Item = Block>) -> Self {
        const MOST: u64 = 1 << (64 - SIZE_ABOVE);
        let blocks = blocks.into_iter().filter(|block| block.start < MOST);
        let mut blocks: Vec<Packed> = blocks.map(Packed::new).collect();
        blocks.sort_unstable();
        blocks.dedup_by_key(|block| block.start());
        blocks.truncate(u32::MAX as usize);
        let mut stretches: Vec<Stretch> = Vec::new();
        for (index, block) in (0..).zip(&blocks) {
            let block = block.block();
            let page = block.start >> PAGE << PAGE;
            match stretches.last_mut() {
                Some(last) if page < last.end_of_pages() + APART => {
                    last.end = last.end.max(block.end());
                }
                _ => stretches.push(Stretch {
                    start: page,
                    end: block.end(),
                    pages: Vec::new(),
                    after: index,
                }),
            }
            if let Some(last) = stretches.last_mut() {
                last.enter(block.start, index);
            }
        }
        Self {
            all: match (stretches.first(), stretches.last()) {
                (Some(first), Some(last)) => first.start..last.end,
                _ => 0..0,
            },
            blocks,
            stretches,
        }
    }

    /// The number of blocks.
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// True if there are no blocks.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// The block of this rank.
    #[inline]
    pub fn get(&self, index: usize) -> Option<Block> {
        Some(self.blocks.get(index)?.block())
    }

    /// All blocks, ordered by address.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Block> + '_ {
        self.blocks.iter().map(|packed| packed.block())
    }

    /// The block that an address lies in.
    #[inline]
    pub fn find(&self, address: u64) -> Option<usize> {
        match self.all.contains(&address) {
            true => self.find_near(address),
            false => None,
        }
    }

    /// Finds the block of each word, and adds the word's index and the block's. Many words at once
    /// are faster than one after another, since the memory is prefetched.
    pub fn find_all(&self, words: &[u64], found: &mut Vec<(u32, u32)>) {
        const SOME: usize = 64;
        let mut near = [(0_u32, 0_u64, 0_u32); SOME];
        let mut count = 0;
        let mut flush = |near: &mut [(u32, u64, u32)]| {
            for (_, address, _) in near.iter() {
                self.fetch_page(*address);
            }
            for (_, address, before) in near.iter_mut() {
                *before = self.begun_before(*address).unwrap_or(0) as u32;
                fetch(self.blocks.get((*before as usize).wrapping_sub(1)));
            }
            for &(number, address, before) in near.iter() {
                if let Some(index) = before.checked_sub(1)
                    && self
                        .get(index as usize)
                        .is_some_and(|block| block.has(address))
                {
                    found.push((number, index));
                }
            }
        };
        for (number, &word) in (0..).zip(words) {
            if !self.all.contains(&word) {
                continue;
            }
            if let Some(place) = near.get_mut(count) {
                *place = (number, word, 0);
                count += 1;
            }
            if count == SOME {
                flush(&mut near);
                count = 0;
            }
        }
        flush(near.get_mut(..count).unwrap_or_default());
    }

    fn fetch_page(&self, address: u64) {
        fetch(
            self.stretch_of(address)
                .and_then(|stretch| stretch.page_of(address)),
        );
    }

    #[inline]
    fn find_near(&self, address: u64) -> Option<usize> {
        let index = self.begun_before(address)?.checked_sub(1)?;
        self.get(index)?.has(address).then_some(index)
    }

    /// The stretch in which an address may lie.
    #[inline]
    fn stretch_of(&self, address: u64) -> Option<&Stretch> {
        let at = match &self.stretches[..] {
            [only] if only.start <= address => 0,
            // A few: heaps of threads, and blocks that are mappings of their own.
            all => all.partition_point(|stretch| stretch.end <= address),
        };
        self.stretches
            .get(at)
            .filter(|stretch| stretch.start <= address)
    }

    /// The number of blocks that begin at an address or before it.
    #[inline]
    fn begun_before(&self, address: u64) -> Option<usize> {
        let stretch = self.stretch_of(address)?;
        let index = match stretch.page_of(address) {
            Some(page) if page.is_crowded => {
                let first = page.first as usize;
                let rest = self.blocks.get(first..stretch.after as usize)?;
                first + rest.partition_point(|block| block.start() <= address)
            }
            Some(page) => page.first as usize + page.begun_at(address),
            // Behind the last page in which a block begins.
            None => stretch.after as usize,
        };
        Some(index)
    }

    /// As [`find`](Self::find), for memory where an allocator may have its own pointers: glibc
    /// refers to free memory by its head, sixteen bytes before, which may be the last eight bytes
    /// of the block before it.
    #[inline]
    pub fn find_from_outside(&self, address: u64) -> Option<usize> {
        self.find(address)
            .filter(|&index| self.is_meant(index, address))
    }

    /// True if an address in a block refers to it, where an allocator may have its own pointers.
    #[inline]
    pub fn is_meant(&self, index: usize, address: u64) -> bool {
        let is_a_head = |block: Block| {
            address.is_multiple_of(16) && block.end() - address <= 8 && address > block.start
        };
        !self.get(index).is_some_and(is_a_head)
    }

    /// The first block that ends behind an address.
    pub fn first_behind(&self, address: u64) -> usize {
        self.blocks
            .partition_point(|block| block.block().end() <= address)
    }

    /// True if any block overlaps this range.
    pub fn has_any(&self, start: u64, end: u64) -> bool {
        let first = self.get(self.first_behind(start));
        first.is_some_and(|block| block.start < end)
    }

    /// The memory of this table in bytes.
    pub fn bytes(&self) -> usize {
        let pages: usize = self
            .stretches
            .iter()
            .map(|stretch| stretch.pages.len())
            .sum();
        size_of_val(&self.blocks[..]) + pages * size_of::<Page>()
    }
}

impl Stretch {
    fn page_of(&self, address: u64) -> Option<&Page> {
        self.pages.get(((address - self.start) >> PAGE) as usize)
    }

    fn end_of_pages(&self) -> u64 {
        self.start + ((self.pages.len() as u64) << PAGE)
    }

    /// A block begins here, behind all entered ones.
    fn enter(&mut self, start: u64, index: u32) {
        self.after = index + 1;
        let number = ((start - self.start) >> PAGE) as usize;
        let empty = Page {
            first: index,
            is_crowded: false,
            begins: [0; WORDS],
            before: [0; WORDS],
        };
        if self.pages.len() <= number {
            self.pages.resize(number + 1, empty);
        }
        let Some(page) = self.pages.last_mut() else {
            return;
        };
        let grain = (start >> GRAIN) as usize % (64 * WORDS);
        if let Some(word) = page.begins.get_mut(grain / 64) {
            page.is_crowded |= !start.is_multiple_of(1 << GRAIN) || *word & 1 << (grain % 64) != 0;
            *word |= 1 << (grain % 64);
        }
        for before in page.before.iter_mut().skip(grain / 64 + 1) {
            *before += 1;
        }
    }
}

impl Page {
    /// The number of blocks of the page that begin at an address or before it.
    #[inline]
    fn begun_at(&self, address: u64) -> usize {
        let grain = (address >> GRAIN) as usize % (64 * WORDS);
        let (word, bit) = (grain / 64, grain % 64);
        let (Some(begins), Some(before)) = (self.begins.get(word), self.before.get(word)) else {
            return 0;
        };
        usize::from(*before) + (begins & u64::MAX >> (63 - bit)).count_ones() as usize
    }
}

/// Prefetches memory that is needed soon.
#[inline]
pub(crate) fn fetch<T>(place: Option<&T>) {
    #[cfg(target_arch = "x86_64")]
    if let Some(place) = place {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint, on a place that is there.
        unsafe { _mm_prefetch::<_MM_HINT_T0>((&raw const *place).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn block(start: u64, size: u64) -> Block {
        Block {
            start,
            size,
            whose: (start ^ size) as u32,
        }
    }

    #[test]
    fn each_address_finds_its_block_and_no_other() {
        let mut all = vec![
            block(0x10010, 16),
            block(0x10020, 0),
            block(0x10ff0, 0x4000),
            block(0x15000, 8),
            // Between the grains.
            block(0x16001, 1),
            block(0x16002, 3),
            block(0x16005, 0x2000),
            block(0x20_0000_0000, 1),
            block(0x20_0000_3008, 100_000_000_000),
            block(0x20_0000_3008 + 100_000_000_000, 8),
            block(0x40_0000_0000, 24),
        ];
        all.reverse();
        let blocks = Blocks::new(all.clone());
        assert_eq!(blocks.stretches.len(), 4);
        assert!(blocks.bytes() < 1 << 14, "{}", blocks.bytes());
        for block in &all {
            let (first, end) = (block.start, block.start + block.size.max(1));
            for inside in [first, (first + end - 1) / 2, end - 1] {
                let found = blocks.find(inside).and_then(|at| blocks.get(at));
                assert_eq!(found.as_ref(), Some(block), "{inside:x}");
            }
        }
        let outside = [
            0,
            0x1000f,
            0x10021,
            0x14ff0,
            0x15008,
            0x16000,
            0x18005,
            0x20_0000_0001,
            0x3f_0000_0000,
            u64::MAX,
        ];
        for outside in outside {
            assert_eq!(blocks.find(outside), None, "{outside:x}");
        }
        assert!(blocks.has_any(0x12000, 0x13000) && blocks.has_any(0, 0x10011));
        assert!(!blocks.has_any(0x19000, 0x10_0000_0000) && !blocks.has_any(0, 0x10010));
        assert!(Blocks::new(Vec::new()).find(16).is_none());
    }

    #[test]
    fn a_block_keeps_what_it_is() {
        for size in [0, 1, u64::from(u32::MAX), 1 << 32, (1 << 47) - 1] {
            let block = Block {
                start: (1 << 47) - 8,
                size,
                whose: u32::MAX,
            };
            assert_eq!(Blocks::new([block]).get(0), Some(block));
        }
    }

    proptest! {
        #[test]
        fn it_finds_what_a_search_finds(
            gaps in proptest::collection::vec((0..200_u64, 0..600_u64, 1..9_u64), 1..400),
            base in 0x1000..0x1_0000_u64,
        ) {
            let mut at = base;
            let mut all = Vec::new();
            for (gap, size, align) in gaps {
                let start = (at + gap).next_multiple_of(align);
                all.push(block(start, size));
                at = start + size.max(1);
            }
            let blocks = Blocks::new(all.iter().copied());
            let around = all.iter().enumerate().flat_map(|(index, block)| {
                let middle = (block.start + block.end()) / 2;
                [block.start - 1, block.start, middle, block.end() - 1, block.end()]
                    .map(|address| (index, address))
            });
            for (near, address) in around {
                // The block is this one, or one of its neighbours.
                let some = (near.saturating_sub(1)..=near + 1)
                    .find(|&at| all.get(at).is_some_and(|block| block.has(address)));
                prop_assert_eq!(blocks.find(address), some);
            }
            let words: Vec<u64> = (base - 20..at + 20).step_by(3).collect();
            let one_by_one = (0..).zip(&words);
            let one_by_one = one_by_one
                .filter_map(|(number, &word)| Some((number, blocks.find(word)? as u32)));
            let mut found = Vec::new();
            blocks.find_all(&words, &mut found);
            prop_assert_eq!(found, one_by_one.collect::<Vec<_>>());
        }
    }
}
