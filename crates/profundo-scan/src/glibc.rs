//! glibc's own bookkeeping of its memory: chunks that lie one behind another, each with its size
//! before it.
//!
//! Whether a chunk is in use stands in the head of the next one. Chunks in a thread's cache or in a
//! fast bin look used: the list of blocks knows better. A walk that does not end where the memory
//! ends is discarded.

use crate::memory::{Memory, Unread};
use crate::ranges::{Area, Kind, Range};

/// The alignment of the memory of a thread's arena.
const HEAP: u64 = 64 << 20;
const HEAD: u64 = 16;
const SMALLEST: u64 = 32;
const FENCE: u64 = 48;
/// Flags in a size: the chunk before is in use; the chunk is not of the main arena.
const BEFORE_IN_USE: u64 = 1;
const FLAGS: u64 = 7;
/// The offset of the pointer to the last chunk in an arena, and the size of the arena's structure.
const TOP: u64 = 96;
const ARENA: u64 = 2200;

/// A chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// Its bytes without its head. The last eight of them may be the next chunk's head.
    pub range: Range,
    /// True if the chunk looks free.
    pub is_free: bool,
}

/// The chunks of an area, ordered by address, if the area is glibc's.
pub fn chunks(memory: &mut Memory, area: &Area) -> Result<Option<Vec<Chunk>>, Unread> {
    let (start, end) = area.range;
    let first = match area.kind {
        Kind::Heap => start,
        Kind::Other if start.is_multiple_of(HEAP) && end - start >= 4096 => {
            match first_of_arena(memory, area.range)? {
                Some(first) => first,
                None => return Ok(None),
            }
        }
        _ => return Ok(None),
    };
    let mut walk = Walk {
        at: first,
        end,
        before: None,
        chunks: Vec::new(),
        is_over: false,
    };
    memory.each_piece(area.range, |at, words| walk.piece(at, words))?;
    // The end of a reserved area has two heads without bytes.
    let is_whole = end - walk.at <= FENCE && !walk.chunks.is_empty();
    Ok(is_whole.then_some(walk.chunks))
}

/// The first chunk of a thread's arena.
fn first_of_arena(memory: &mut Memory, (start, end): Range) -> Result<Option<u64>, Unread> {
    let words = memory.words(start, 3)?;
    let [arena, before, size] = words[..] else {
        return Ok(None);
    };
    let has_arena = arena / HEAP * HEAP;
    let head = arena - has_arena;
    let is_plausible = (32..=128).contains(&head) && size <= end - start + HEAP && size >= 4096;
    if !is_plausible {
        return Ok(None);
    }
    if has_arena != start {
        // Memory added later: the arena's structure is in the first one.
        return Ok((before != 0).then_some(start + head));
    }
    let top = memory.words(arena + TOP, 1)?;
    let is_arena = top
        .first()
        .is_some_and(|&top| top != 0 && top.is_multiple_of(16));
    Ok(is_arena.then(|| (arena + ARENA).next_multiple_of(16)))
}

struct Walk {
    /// The head of the next chunk.
    at: u64,
    end: u64,
    /// The chunk before, not yet known to be in use.
    before: Option<Range>,
    chunks: Vec<Chunk>,
    is_over: bool,
}

impl Walk {
    fn piece(&mut self, at: u64, words: &[u64]) {
        let end = at + 8 * words.len() as u64;
        while !self.is_over && self.at + 8 < end {
            let place = self.at + 8;
            let word = place.checked_sub(at).map(|offset| offset / 8);
            let Some(&size) = word.and_then(|word| words.get(word as usize)) else {
                // The page is not in memory.
                self.is_over = true;
                return;
            };
            self.chunk(size);
        }
    }

    fn chunk(&mut self, word: u64) {
        let size = word & !FLAGS;
        if let Some(range) = self.before.take() {
            let is_free = word & BEFORE_IN_USE == 0;
            self.chunks.push(Chunk { range, is_free });
        }
        let next = self.at.saturating_add(size);
        let is_one = size >= SMALLEST && size.is_multiple_of(16) && next <= self.end;
        if !is_one {
            self.is_over = true;
            return;
        }
        let range = (self.at + HEAD, next);
        if next == self.end {
            // The top chunk was never handed out.
            let is_free = true;
            self.chunks.push(Chunk { range, is_free });
            self.is_over = true;
        } else {
            self.before = Some(range);
        }
        self.at = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    /// Chunks with these sizes and flags, in our own memory.
    fn walked(words: &[u64], kind: Kind) -> Option<Vec<(u64, u64, bool)>> {
        let until = Instant::now() + Duration::from_secs(60);
        let mut memory = Memory::open(std::process::id(), until, 1 << 30);
        let start = words.as_ptr() as u64;
        let area = Area {
            range: (start, start + 8 * words.len() as u64),
            kind,
            is_shared: false,
        };
        let chunks = chunks(&mut memory, &area).unwrap()?;
        let chunks = chunks.into_iter();
        Some(
            chunks
                .map(|chunk| (chunk.range.0 - start, chunk.range.1 - start, chunk.is_free))
                .collect(),
        )
    }

    #[test]
    fn chunks_are_reported_as_they_lie() {
        let mut words = vec![0_u64; 1024];
        words[1] = 0x20 | 1;
        words[4 + 1] = 0x40 | 1;
        // The chunk before is free.
        words[12 + 1] = 0x100;
        words[44 + 1] = ((1024 - 44) * 8) | 1;
        let expected = vec![
            (16, 0x20, false),
            (0x30, 0x60, true),
            (0x70, 0x160, false),
            (0x170, 8192, true),
        ];
        assert_eq!(walked(&words, Kind::Heap), Some(expected));
        // The walk would end elsewhere.
        words[44 + 1] -= 64;
        assert_eq!(walked(&words, Kind::Heap), None);
        assert_eq!(walked(&vec![0; 1024], Kind::Heap), None);
        assert_eq!(walked(&words, Kind::Other), None);
    }

    #[test]
    fn our_own_heap_is_glibcs_where_it_is() {
        let until = Instant::now() + Duration::from_secs(60);
        let maps = std::fs::read("/proc/self/maps").unwrap();
        let own = vec![7_u64; 100];
        let at = own.as_ptr() as u64;
        let areas = crate::areas(&maps, &[], &[], &[]);
        let mut memory = Memory::open(std::process::id(), until, 1 << 40);
        let found = areas.iter().find_map(|area| {
            // Other threads allocate meanwhile, so a walk may fail.
            let chunks = chunks(&mut memory, area).ok()??;
            chunks.into_iter().find(|chunk| chunk.range.0 == at)
        });
        if let Some(found) = found {
            assert!(!found.is_free && found.range.1 - found.range.0 >= 792);
        }
    }
}
