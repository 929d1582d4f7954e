//! Reading a copy: its blocks, and all words.

use profundo_probe::heap::seen::each_seen;
use profundo_scan::{Block, Blocks, Chunk, Freed, Range, Unread, chunks};

use super::Copied;
use crate::error::Error;
use crate::heap::following::{Whose, whose};

impl Copied {
    /// The blocks, by the numbers of their sites (0: unknown), and freed memory.
    pub fn blocks(&mut self) -> Result<(Blocks, Vec<Freed>), Error> {
        let shadow = &raw const *self.following.shadow as u64;
        let (mut blocks, mut freed) = (Vec::new(), Vec::new());
        let is_whole = each_seen(shadow, &mut self.memory, &mut |seen| {
            let hole = |is_doubtful| Freed {
                start: seen.address,
                end: seen.address.saturating_add(seen.size),
                is_doubtful,
            };
            match seen.site.map(whose) {
                Some(Whose::Program(whose)) => blocks.push(Block {
                    start: seen.address,
                    size: seen.size,
                    whose,
                }),
                // Its contents are no pointers of the program.
                Some(Whose::Ours) => freed.push(hole(false)),
                None => freed.push(hole(true)),
            }
        });
        if !is_whole {
            return Err(why(self.memory.why_not()));
        }
        self.each_heap(&mut |_, chunks| {
            let chunks = chunks.iter().filter(|chunk| chunk.is_free);
            freed.extend(chunks.map(|chunk| Freed {
                start: chunk.range.0,
                end: chunk.range.1,
                is_doubtful: false,
            }));
        })?;
        freed.sort_unstable();
        Ok((Blocks::new(blocks), freed))
    }

    /// Runs `f` with each part of the memory that glibc's own bookkeeping covers, and with its
    /// chunks.
    pub fn each_heap(&mut self, f: &mut dyn FnMut(Range, &[Chunk])) -> Result<(), Error> {
        for area in &self.areas {
            if let Some(chunks) = chunks(&mut self.memory, area).map_err(why)? {
                f(area.range, &chunks);
            }
        }
        Ok(())
    }

    /// Runs `f` with all resident memory of a range, piece by piece.
    pub fn each_piece(
        &mut self,
        range: Range,
        is_shared: bool,
        f: impl FnMut(u64, &[u64]),
    ) -> Result<(), Unread> {
        match is_shared {
            true => self.shared.each_piece(range, f),
            false => self.memory.each_piece(range, f),
        }
    }

    /// Fills `bytes` from an address on; returns `false` if the memory is not resident.
    pub fn bytes(&self, address: u64, bytes: &mut [u8]) -> bool {
        profundo_scan::read_memory(self.child.pid(), address, bytes) == bytes.len()
    }
}

/// Converts the reason to our error.
pub fn why(unread: Unread) -> Error {
    match unread {
        Unread::Long => Error::SnapshotLong,
        // There is no such limit here.
        Unread::Much | Unread::Gone => Error::SnapshotGone,
    }
}
