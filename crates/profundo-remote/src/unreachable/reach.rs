//! Which blocks can be come to: from words outside of blocks, and from there through blocks.

use super::blocks::Blocks;

/// A stretch of memory in which no word is one of the program's data: a block, whose words count only once it is
/// reached, or what is left of one that was freed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hole {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) is_freed: bool,
}

impl Hole {
    /// Whether a block that was freed still lies in an allocator's hands: glibc has a block's size before it. What
    /// was given back to the kernel may be anybody's by now.
    fn still_is(&self, before: u64) -> bool {
        let (head, size) = (before & !7, self.end - self.start);
        !self.is_freed || head >= size.saturating_add(8) && head <= size.saturating_add(40).max(32)
    }
}

/// Whether a piece of memory was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    Yes,
    No,
}

/// Points to blocks from all words of a piece, wherever it lies. What points into itself does not count.
pub(super) fn point_from_outside(blocks: &mut Blocks, at: u64, words: &[u64]) {
    for (&word, place) in words.iter().zip((at..).step_by(8)) {
        if let Some(index) = blocks.point_from_outside(word)
            && !blocks.get(index).is_some_and(|block| block.has(place))
        {
            blocks.reach(index);
        }
    }
}

/// How far the holes have been gone through.
#[derive(Debug, Default)]
pub(super) struct Gone {
    /// The one to be looked at next.
    next: usize,
    /// The last word of the piece before, and where it was.
    last: (u64, u64),
}

/// The same, from the words that are in no hole. Pieces come in the order of their addresses.
pub(super) fn reach_from(
    blocks: &mut Blocks,
    holes: &[Hole],
    gone: &mut Gone,
    at: u64,
    words: &[u64],
) {
    let Gone { next, last } = gone;
    let before_piece = *last;
    if let Some(&word) = words.last() {
        *last = (at + 8 * (words.len() as u64 - 1), word);
    }
    let end = at + 8 * words.len() as u64;
    let index_of = |address: u64| ((address.clamp(at, end) - at) / 8) as usize;
    let mut index = 0;
    while index < words.len() {
        let place = at + 8 * index as u64;
        // The next one that begins here or before, or lies before us.
        let upto = loop {
            match holes.get(*next) {
                None => break end,
                Some(hole) if hole.start > place => break hole.start.min(end),
                Some(hole) => {
                    let before = hole.start.saturating_sub(8);
                    let is_one = match before {
                        inside if inside >= at => words
                            .get(index_of(inside))
                            .is_some_and(|it| hole.still_is(*it)),
                        outside if before_piece.0 == outside => hole.still_is(before_piece.1),
                        // It has begun in a piece before, and was one there.
                        _ => !hole.is_freed || hole.start < at,
                    };
                    if hole.end > place && is_one {
                        break place;
                    }
                    *next += 1;
                }
            }
        };
        if upto > place {
            let to = index_of(upto.next_multiple_of(8)).max(index + 1);
            for &word in words.get(index..to).unwrap_or_default() {
                if let Some(found) = blocks.point_from_outside(word) {
                    blocks.reach(found);
                }
            }
            index = to;
            continue;
        }
        if let Some(hole) = holes.get(*next) {
            if hole.end >= end {
                return;
            }
            index = index_of(hole.end.next_multiple_of(8)).max(index + 1);
            *next += 1;
        }
    }
}

/// Goes on from all that were reached, through the pieces that were kept, which are in the order of their addresses.
pub(super) fn follow(blocks: &mut Blocks, kept: &[(u64, Vec<u64>)]) {
    while let Some(block) = blocks.next() {
        let (start, end) = (
            block.start.next_multiple_of(8),
            (block.start + block.size) & !7,
        );
        let first = kept.partition_point(|(at, words)| at + 8 * words.len() as u64 <= start);
        for (at, words) in kept.get(first..).unwrap_or_default() {
            if *at >= end {
                break;
            }
            let from = (start.max(*at) - at) / 8;
            let to = ((end - at) / 8).min(words.len() as u64);
            for &word in words.get(from as usize..to as usize).unwrap_or_default() {
                blocks.point(word);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::blocks::Block;
    use super::*;

    /// Memory from 0x1000 on, in words, with blocks of so many bytes at these places.
    struct Heap {
        words: Vec<u64>,
        blocks: Vec<Block>,
        holes: Vec<Hole>,
    }

    impl Heap {
        fn new() -> Self {
            Self {
                words: vec![0; 512],
                blocks: Vec::new(),
                holes: Vec::new(),
            }
        }

        fn block(mut self, start: u64, size: u64) -> Self {
            self.blocks.push(Block {
                start,
                size,
                whose: start,
            });
            self.hole(start, size, false)
        }

        fn hole(mut self, start: u64, size: u64, is_freed: bool) -> Self {
            let end = start + size;
            self.holes.push(Hole {
                start,
                end,
                is_freed,
            });
            self
        }

        fn word(mut self, at: u64, word: u64) -> Self {
            self.words[((at - 0x1000) / 8) as usize] = word;
            self
        }

        /// What is lost, whatever pieces it is read in.
        #[track_caller]
        fn lost(mut self, expected: &[u64]) {
            self.holes.sort_by_key(|hole| (hole.start, hole.is_freed));
            for piece in [512, 64, 100] {
                let mut blocks = Blocks::new(self.blocks.clone());
                let (mut kept, mut gone) = (Vec::new(), Gone::default());
                for (index, words) in self.words.chunks(piece).enumerate() {
                    let at = 0x1000 + (index * piece * 8) as u64;
                    reach_from(&mut blocks, &self.holes, &mut gone, at, words);
                    kept.push((at, words.to_vec()));
                }
                follow(&mut blocks, &kept);
                let lost: Vec<_> = blocks.unreached().map(|block| block.start).collect();
                assert_eq!(lost, expected, "in pieces of {piece}");
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
        heap().lost(&[0x1100, 0x1140, 0x1180]);
        heap().word(0x1ff8, 0x1100).lost(&[]);
        heap().word(0x1000, 0x1150).lost(&[0x1100]);
    }

    #[test]
    fn a_ring_that_nobody_holds_is_lost() {
        let heap = || {
            Heap::new()
                .block(0x1100, 16)
                .block(0x1200, 16)
                .word(0x1100, 0x1200)
                .word(0x1200, 0x1100)
        };
        heap().lost(&[0x1100, 0x1200]);
        heap().word(0x1110, 0x1200).lost(&[]);
        // Where blocks are but some of all, each of these has somebody who points to it.
        let heap = heap();
        let mut blocks = Blocks::new(heap.blocks);
        point_from_outside(&mut blocks, 0x1000, &heap.words);
        assert_eq!(blocks.unreached().count(), 0);
    }

    #[test]
    fn who_points_to_himself_is_lost() {
        let heap = Heap::new().block(0x1100, 64).word(0x1110, 0x1100);
        let mut blocks = Blocks::new(heap.blocks.clone());
        point_from_outside(&mut blocks, 0x1000, &heap.words);
        assert_eq!(blocks.unreached().count(), 1);
        heap.lost(&[0x1100]);
    }

    #[test]
    fn what_was_freed_points_to_nobody_while_it_is_the_allocators() {
        let heap = |head| {
            Heap::new()
                .block(0x1100, 64)
                .hole(0x1200, 100, true)
                .word(0x11f8, head)
                .word(0x1220, 0x1100)
        };
        heap(0x71).lost(&[0x1100]);
        // It is somebody else's by now.
        heap(0).lost(&[]);
        heap(0x1100).lost(&[]);
        // What is a block again counts as that.
        heap(0x71).block(0x1210, 40).lost(&[0x1100, 0x1210]);
        heap(0x71).block(0x1210, 40).word(0x1300, 0x1210).lost(&[]);
    }

    #[test]
    fn an_allocators_books_are_no_pointers() {
        // The head of free memory behind it.
        Heap::new()
            .block(0x1110, 0x18)
            .word(0x1000, 0x1120)
            .lost(&[0x1110]);
        Heap::new()
            .block(0x1110, 0x18)
            .word(0x1000, 0x1118)
            .lost(&[]);
    }
}
