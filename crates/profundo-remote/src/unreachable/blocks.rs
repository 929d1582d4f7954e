//! Blocks by their addresses: whose is a word?

/// A block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) start: u64,
    pub(super) size: u64,
    /// The number that it is known by, or its stack is.
    pub(super) whose: u64,
}

impl Block {
    fn end(&self) -> u64 {
        self.start.saturating_add(self.size.max(1))
    }

    /// Whether an address lies in it.
    pub(super) fn has(&self, address: u64) -> bool {
        (self.start..self.end()).contains(&address)
    }
}

const PAGE: u32 = 12;
/// Blocks that are farther apart lie in different stretches.
const APART: u64 = 1 << 20;

/// A stretch of memory with blocks.
#[derive(Debug)]
struct Stretch {
    start: u64,
    end: u64,
    /// The first block that begins in each page or behind it; and one more, behind the last page.
    pages: Vec<u32>,
}

/// All blocks, in the order of their addresses.
#[derive(Debug)]
pub(super) struct Blocks {
    blocks: Vec<Block>,
    stretches: Vec<Stretch>,
    /// Where all of them lie: most words are no addresses, and lie nowhere near.
    all: std::ops::Range<u64>,
    reached: Vec<bool>,
    /// Those that were reached, and from which it was not gone on yet.
    fresh: Vec<u32>,
}

impl Blocks {
    pub(super) fn new(mut blocks: Vec<Block>) -> Self {
        blocks.sort_unstable_by_key(|block| block.start);
        blocks.dedup_by_key(|block| block.start);
        let mut stretches: Vec<Stretch> = Vec::new();
        for (index, block) in (0..).zip(&blocks) {
            let page = block.start >> PAGE << PAGE;
            match stretches.last_mut() {
                Some(last) if page < last.end.saturating_add(APART) => {
                    last.end = last.end.max(block.end());
                }
                _ => stretches.push(Stretch {
                    start: page,
                    end: block.end(),
                    pages: Vec::new(),
                }),
            }
            if let Some(last) = stretches.last_mut() {
                let pages = ((block.start - last.start) >> PAGE) as usize + 1;
                if last.pages.len() < pages {
                    last.pages.resize(pages, index);
                }
            }
        }
        let mut ends: Vec<u32> = (stretches.iter().skip(1))
            .filter_map(|next| next.pages.first().copied())
            .collect();
        ends.push(blocks.len() as u32);
        for (stretch, end) in stretches.iter_mut().zip(ends) {
            stretch.pages.push(end);
        }
        Self {
            all: match (stretches.first(), stretches.last()) {
                (Some(first), Some(last)) => first.start..last.end,
                _ => 0..0,
            },
            reached: vec![false; blocks.len()],
            blocks,
            stretches,
            fresh: Vec::new(),
        }
    }

    /// The block that an address lies in.
    #[inline]
    pub(super) fn find(&self, address: u64) -> Option<usize> {
        match self.all.contains(&address) {
            true => self.find_near(address),
            false => None,
        }
    }

    fn find_near(&self, address: u64) -> Option<usize> {
        let at = self.stretches.partition_point(|it| it.end <= address);
        let stretch = self.stretches.get(at).filter(|it| it.start <= address)?;
        let page = ((address - stretch.start) >> PAGE) as usize;
        let last = stretch.pages.len() - 1;
        let from = *stretch.pages.get(page.min(last))? as usize;
        let to = *stretch.pages.get((page + 1).min(last))? as usize;
        let before = self.blocks.get(from..to)?;
        let index = from + before.partition_point(|block| block.start <= address);
        let index = index.checked_sub(1)?;
        self.blocks.get(index)?.has(address).then_some(index)
    }

    pub(super) fn get(&self, index: usize) -> Option<&Block> {
        self.blocks.get(index)
    }

    /// Somebody points there.
    #[inline]
    pub(super) fn point(&mut self, address: u64) {
        if let Some(index) = self.find(address) {
            self.reach(index);
        }
    }

    /// The same, from where an allocator may keep its own books: glibc names free memory by its head, sixteen bytes
    /// before, which may be the last eight of the block before it.
    #[inline]
    pub(super) fn point_from_outside(&mut self, address: u64) -> Option<usize> {
        let index = self.find(address)?;
        let block = self.blocks.get(index)?;
        let is_a_head =
            address.is_multiple_of(16) && block.end() - address <= 8 && address > block.start;
        (!is_a_head).then_some(index)
    }

    #[inline]
    pub(super) fn reach(&mut self, index: usize) {
        if let Some(reached) = self.reached.get_mut(index)
            && !std::mem::replace(reached, true)
        {
            self.fresh.push(index as u32);
        }
    }

    /// One that was reached and from which it is to be gone on.
    pub(super) fn next(&mut self) -> Option<Block> {
        let index = self.fresh.pop()?;
        self.blocks.get(index as usize).copied()
    }

    /// Whether any block has a part of this.
    pub(super) fn has_any(&self, start: u64, end: u64) -> bool {
        let first = self.blocks.partition_point(|block| block.end() <= start);
        self.blocks
            .get(first)
            .is_some_and(|block| block.start < end)
    }

    /// Those that nobody has come to.
    pub(super) fn unreached(&self) -> impl Iterator<Item = &Block> {
        let blocks = self.blocks.iter().zip(&self.reached);
        blocks
            .filter(|(_, reached)| !**reached)
            .map(|(block, _)| block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(start: u64, size: u64) -> Block {
        Block {
            start,
            size,
            whose: start,
        }
    }

    #[test]
    fn each_address_finds_its_block_and_no_other() {
        let mut all = vec![
            block(0x10010, 16),
            block(0x10020, 0),
            block(0x10ff0, 0x4000),
            block(0x15000, 8),
            block(0x20_0000_0000, 1),
            block(0x20_0000_3008, 100_000_000),
            block(0x40_0000_0000, 24),
        ];
        all.reverse();
        let blocks = Blocks::new(all.clone());
        assert_eq!(blocks.stretches.len(), 3);
        for block in &all {
            let (first, end) = (block.start, block.start + block.size.max(1));
            for inside in [first, (first + end - 1) / 2, end - 1] {
                let found = blocks.find(inside).and_then(|at| blocks.get(at));
                assert_eq!(found, Some(block), "{inside:x}");
            }
        }
        let outside = [
            0,
            0x1000f,
            0x10021,
            0x14ff0,
            0x15008,
            0x20_0000_0001,
            0x30_0000_0000,
            u64::MAX,
        ];
        for outside in outside {
            assert_eq!(blocks.find(outside), None, "{outside:x}");
        }
        assert!(blocks.has_any(0x12000, 0x13000) && blocks.has_any(0, 0x10011));
        assert!(!blocks.has_any(0x16000, 0x10_0000_0000) && !blocks.has_any(0, 0x10010));
        assert!(Blocks::new(Vec::new()).find(16).is_none());
    }
}
