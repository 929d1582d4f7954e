//! Reachable blocks: from words outside of blocks, and from there through blocks.

use crate::blocks::fetch;

/// Possible references, grouped by the block that refers, four bytes for each.
#[derive(Debug, Default)]
pub struct Edges {
    /// For each block, the index of its first reference.
    firsts: Vec<u32>,
    to: Vec<u32>,
}

impl Edges {
    /// No references.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a reference of a block. Blocks come in their order. `false`: there are too many.
    #[inline]
    pub fn push(&mut self, from: usize, to: usize) -> bool {
        let Ok(next) = u32::try_from(self.to.len()) else {
            return false;
        };
        if self.firsts.len() <= from {
            self.firsts.resize(from + 1, next);
        }
        self.to.push(to as u32);
        true
    }

    /// The number of references.
    pub fn len(&self) -> usize {
        self.to.len()
    }

    /// True if there are no references.
    pub fn is_empty(&self) -> bool {
        self.to.is_empty()
    }

    /// The blocks that a block may refer to.
    fn of(&self, from: usize) -> &[u32] {
        let Some(&first) = self.firsts.get(from) else {
            return &[];
        };
        let end = self.firsts.get(from + 1);
        let end = end.map_or(self.to.len(), |&end| end as usize);
        self.to.get(first as usize..end).unwrap_or_default()
    }

    /// The memory of this table in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.firsts[..]) + size_of_val(&self.to[..])
    }
}

/// The reached blocks.
#[derive(Debug)]
pub struct Reached {
    reached: Bits,
    /// Reached blocks whose references were not followed yet.
    fresh: Vec<u32>,
}

impl Reached {
    /// No reached blocks, of `count`.
    pub fn new(count: usize) -> Self {
        Self {
            reached: Bits::new(count),
            fresh: Vec::new(),
        }
    }

    /// Marks a block that is referred to.
    #[inline]
    pub fn reach(&mut self, index: usize) {
        if self.reached.set(index) {
            self.fresh.push(index as u32);
        }
    }

    /// Follows the references of all reached blocks.
    pub fn follow(&mut self, edges: &Edges) {
        // Some at once: memory is prefetched.
        const SOME: usize = 64;
        let mut some = Vec::with_capacity(SOME);
        while !self.fresh.is_empty() {
            let rest = self.fresh.len().saturating_sub(SOME);
            some.clear();
            some.extend(self.fresh.drain(rest..));
            for &from in &some {
                fetch(edges.firsts.get(from as usize));
            }
            for &from in &some {
                fetch(edges.of(from as usize).first());
            }
            for &from in &some {
                for &to in edges.of(from as usize) {
                    fetch(self.reached.words.get(to as usize / 64));
                }
            }
            for &from in &some {
                for &to in edges.of(from as usize) {
                    self.reach(to as usize);
                }
            }
        }
    }

    /// The unreached blocks, ordered by address.
    pub fn unreached(&self) -> impl Iterator<Item = usize> {
        (0..self.reached.count).filter(|&index| !self.reached.has(index))
    }

    /// A minimal set of unreached blocks from which all other unreached blocks can be reached: the
    /// roots, and one block of each cycle. All of them are reached afterwards.
    pub fn heads(&mut self, edges: &Edges) -> Vec<usize> {
        // The last block in postorder reaches every earlier block that leads to it.
        let mut heads = Vec::new();
        for index in self.postorder(edges).into_iter().rev() {
            if !self.reached.has(index as usize) {
                heads.push(index as usize);
                self.reach(index as usize);
                self.follow(edges);
            }
        }
        heads.sort_unstable();
        heads
    }

    /// Unreached blocks in depth-first postorder.
    fn postorder(&self, edges: &Edges) -> Vec<u32> {
        let mut entered = self.reached.clone();
        let mut postorder = Vec::new();
        // The path: each block and its next reference.
        let mut path: Vec<(u32, u32)> = Vec::new();
        for start in self.unreached() {
            let mut next = Some(start as u32);
            loop {
                if let Some(next) = next
                    && entered.set(next as usize)
                {
                    path.push((next, 0));
                }
                let Some((index, way)) = path.last_mut() else {
                    break;
                };
                next = edges.of(*index as usize).get(*way as usize).copied();
                *way += 1;
                if next.is_none() {
                    postorder.push(*index);
                    path.pop();
                }
            }
        }
        postorder
    }
}

/// One bit for each block: small enough for the cache.
#[derive(Debug, Clone)]
struct Bits {
    words: Vec<u64>,
    count: usize,
}

impl Bits {
    fn new(count: usize) -> Self {
        Self {
            words: vec![0; count.div_ceil(64)],
            count,
        }
    }

    #[inline]
    fn has(&self, index: usize) -> bool {
        let word = self.words.get(index / 64);
        word.is_some_and(|word| word >> (index % 64) & 1 != 0)
    }

    /// Sets a bit; returns whether it was clear.
    #[inline]
    fn set(&mut self, index: usize) -> bool {
        let bit = 1 << (index % 64);
        match self.words.get_mut(index / 64) {
            Some(word) if *word & bit == 0 => {
                *word |= bit;
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Block, Blocks, Freed, Gone, Stretch, each_stretch};

    /// Memory from 0x1000 on, in words, with blocks of some bytes at these addresses.
    struct Heap {
        words: Vec<u64>,
        blocks: Vec<Block>,
        freed: Vec<Freed>,
    }

    impl Heap {
        fn new() -> Self {
            Self {
                words: vec![0; 512],
                blocks: Vec::new(),
                freed: Vec::new(),
            }
        }

        fn block(mut self, start: u64, size: u64) -> Self {
            let whose = self.blocks.len() as u32;
            self.blocks.push(Block { start, size, whose });
            self
        }

        fn freed(mut self, start: u64, size: u64) -> Self {
            let end = start + size;
            self.freed.push(Freed {
                start,
                end,
                is_doubtful: true,
            });
            self
        }

        fn word(mut self, at: u64, word: u64) -> Self {
            self.words[((at - 0x1000) / 8) as usize] = word;
            self
        }

        /// Checks the lost blocks and their heads, whatever pieces the memory is read in.
        #[track_caller]
        fn lost(mut self, expected: &[u64], expected_heads: &[u64]) {
            self.freed.sort();
            let blocks = Blocks::new(self.blocks);
            for piece in [512, 64, 100, 1] {
                let (mut edges, mut gone) = (Edges::new(), Gone::default());
                let mut reached = Reached::new(blocks.len());
                for (index, words) in self.words.chunks(piece).enumerate() {
                    let at = 0x1000 + (index * piece * 8) as u64;
                    let words = (at, words);
                    each_stretch(&blocks, &self.freed, &mut gone, words, |what, _, words| {
                        for &word in words {
                            match what {
                                Stretch::Outside => {
                                    let found = blocks.find_from_outside(word);
                                    found.into_iter().for_each(|block| reached.reach(block));
                                }
                                Stretch::Block(from) => {
                                    if let Some(to) = blocks.find(word) {
                                        assert!(edges.push(from, to));
                                    }
                                }
                            }
                        }
                    });
                }
                reached.follow(&edges);
                let start = |index: usize| blocks.get(index).unwrap().start;
                let lost: Vec<_> = reached.unreached().map(start).collect();
                assert_eq!(lost, expected, "in pieces of {piece}");
                let heads: Vec<_> = reached.heads(&edges).into_iter().map(start).collect();
                assert_eq!(heads, expected_heads, "in pieces of {piece}");
                assert_eq!(reached.unreached().count(), 0);
            }
        }
    }

    #[test]
    fn a_chain_is_reached_from_its_head() {
        let heap = || {
            Heap::new()
                .block(0x1100, 32)
                .block(0x1140, 32)
                .block(0x1180, 500)
                .word(0x1108, 0x1140)
                .word(0x1158, 0x1200)
        };
        heap().lost(&[0x1100, 0x1140, 0x1180], &[0x1100]);
        heap().word(0x1ff8, 0x1100).lost(&[], &[]);
        heap().word(0x1000, 0x1150).lost(&[0x1100], &[0x1100]);
    }

    #[test]
    fn a_ring_without_references_from_outside_is_lost() {
        let heap = || {
            Heap::new()
                .block(0x1100, 16)
                .block(0x1200, 16)
                .word(0x1100, 0x1200)
                .word(0x1200, 0x1100)
        };
        heap().lost(&[0x1100, 0x1200], &[0x1100]);
        heap().word(0x1110, 0x1200).lost(&[], &[]);
        // A block that hangs on it lies before it, and is no head.
        heap()
            .block(0x1080, 8)
            .word(0x1208, 0x1080)
            .lost(&[0x1080, 0x1100, 0x1200], &[0x1100]);
        // A block that refers to it comes first.
        heap()
            .block(0x1300, 8)
            .word(0x1300, 0x1200)
            .lost(&[0x1100, 0x1200, 0x1300], &[0x1300]);
    }

    #[test]
    fn a_block_that_points_to_itself_is_lost() {
        let heap = Heap::new().block(0x1100, 64).word(0x1110, 0x1100);
        heap.lost(&[0x1100], &[0x1100]);
    }

    #[test]
    fn freed_memory_refers_to_nothing_while_the_allocator_holds_it() {
        let heap = |head| {
            Heap::new()
                .block(0x1100, 64)
                .freed(0x1200, 100)
                .word(0x11f8, head)
                .word(0x1220, 0x1100)
        };
        heap(0x71).lost(&[0x1100], &[0x1100]);
        // It has another owner by now.
        heap(0).lost(&[], &[]);
        heap(0x1100).lost(&[], &[]);
        // A reused block counts as one.
        heap(0x71)
            .block(0x1210, 40)
            .lost(&[0x1100, 0x1210], &[0x1210]);
        heap(0x71)
            .block(0x1210, 40)
            .word(0x1300, 0x1210)
            .lost(&[], &[]);
        // Free memory behind it is free, too.
        heap(0x71)
            .block(0x1210, 16)
            .word(0x1220, 0)
            .word(0x1228, 0x1100)
            .lost(&[0x1100, 0x1210], &[0x1100, 0x1210]);
    }

    #[test]
    fn free_memory_by_an_allocators_books_needs_no_head() {
        let heap = |is_doubtful| {
            let mut heap = Heap::new().block(0x1100, 64).word(0x1220, 0x1100);
            heap.freed = vec![
                Freed {
                    start: 0x1200,
                    end: 0x1300,
                    is_doubtful,
                },
                Freed {
                    start: 0x1218,
                    end: 0x1238,
                    is_doubtful: true,
                },
            ];
            heap
        };
        heap(false).lost(&[0x1100], &[0x1100]);
        heap(true).lost(&[], &[]);
    }

    #[test]
    fn an_allocators_books_are_no_pointers() {
        // The head of free memory behind it.
        Heap::new()
            .block(0x1110, 0x18)
            .word(0x1000, 0x1120)
            .lost(&[0x1110], &[0x1110]);
        Heap::new()
            .block(0x1110, 0x18)
            .word(0x1000, 0x1118)
            .lost(&[], &[]);
    }

    #[test]
    fn words_across_the_ends_of_blocks_are_not_theirs() {
        // A block that begins and ends within words: those words are its neighbours'.
        Heap::new()
            .block(0x1101, 14)
            .block(0x1200, 8)
            .word(0x1100, 0x1200)
            .lost(&[0x1101], &[0x1101]);
        Heap::new()
            .block(0x1104, 24)
            .block(0x1200, 8)
            .word(0x1108, 0x1200)
            .lost(&[0x1104, 0x1200], &[0x1104]);
    }
}
