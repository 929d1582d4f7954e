//! The division of a piece of memory: blocks, free parts, and the rest, with the program's own
//! data.

use crate::blocks::Blocks;

/// Free memory: the remains of a freed block, or free by an allocator's books.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Freed {
    /// Its start.
    pub start: u64,
    /// Its end.
    pub end: u64,
    /// True if the memory may have another owner by now.
    pub is_doubtful: bool,
}

impl Freed {
    /// True if an allocator still holds the memory: glibc has a block's size before it. Memory
    /// returned to the kernel may have any owner by now.
    fn still_is(&self, before: Option<u64>) -> bool {
        let Some(before) = before else {
            return !self.is_doubtful;
        };
        let (head, size) = (before & !7, self.end - self.start);
        !self.is_doubtful
            || head >= size.saturating_add(8) && head <= size.saturating_add(40).max(32)
    }
}

/// The kind of some consecutive words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stretch {
    /// The words of the block with this index.
    Block(usize),
    /// The words of no block.
    Outside,
}

/// The progress through the memory.
#[derive(Debug, Clone, Default)]
pub struct Gone {
    block: usize,
    freed: usize,
    /// True if the next freed part was begun and is still free.
    is_within: bool,
    /// The last word of the piece before, and its address.
    last: (u64, u64),
}

/// Passes on the stretches of a piece, without the free parts. Pieces come ordered by address, and
/// `freed` has that order.
pub fn each_stretch<'a>(
    blocks: &Blocks,
    freed: &[Freed],
    gone: &mut Gone,
    (at, words): (u64, &'a [u64]),
    mut visit: impl FnMut(Stretch, u64, &'a [u64]),
) {
    let end = at + 8 * words.len() as u64;
    let before_piece = gone.last;
    if let Some(&word) = words.last() {
        gone.last = (end - 8, word);
    }
    let index_of = |address: u64| ((address.clamp(at, end) - at) / 8) as usize;
    let word_before = |start: u64| match start.saturating_sub(8) {
        inside if inside >= at => words.get(index_of(inside)).copied(),
        outside if before_piece.0 == outside => Some(before_piece.1),
        _ => None,
    };
    let mut place = at;
    while place < end {
        let block = loop {
            match blocks.get(gone.block) {
                Some(block) if block.end() <= place => gone.block += 1,
                other => break other,
            }
        };
        let next_block = block.map_or(end, |block| block.start).min(end);
        if let Some(block) = block.filter(|block| block.start <= place) {
            // Only whole words: a word across an end of the block is not its own.
            let upto = block.end().min(end);
            let (from, to) = (index_of(place.next_multiple_of(8)), index_of(upto));
            if let Some(inside) = words.get(from..to).filter(|part| !part.is_empty()) {
                visit(Stretch::Block(gone.block), at + 8 * from as u64, inside);
            }
            place = upto;
            continue;
        }
        let hole = loop {
            match freed.get(gone.freed) {
                Some(hole) if hole.end <= place => {
                    gone.freed += 1;
                    gone.is_within = false;
                }
                other => break other,
            }
        };
        let next_hole = hole.map_or(end, |hole| hole.start).min(end);
        if let Some(hole) = hole.filter(|hole| hole.start <= place) {
            gone.is_within |= hole.still_is(word_before(hole.start));
            if gone.is_within {
                place = hole.end.min(next_block);
            } else {
                gone.freed += 1;
            }
            continue;
        }
        let upto = next_block.min(next_hole);
        let (from, to) = (
            index_of(place),
            index_of(upto.next_multiple_of(8)).max(index_of(place) + 1),
        );
        // A word that began in the stretch before was passed on already, or is a block's.
        let from = from + usize::from(!place.is_multiple_of(8));
        if let Some(outside) = words.get(from..to).filter(|part| !part.is_empty()) {
            visit(Stretch::Outside, at + 8 * from as u64, outside);
        }
        place = upto;
    }
}
